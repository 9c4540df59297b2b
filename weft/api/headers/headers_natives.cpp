#include "weft/api/headers/bindings.h"

namespace weft::api {

namespace {

// A record from an application is read by the exact steps of Web IDL if these can be observed,
// which is when it is a proxy; otherwise by a faster way.
void is_proxy(js::Call& call) { call.give(call[0]->IsProxy()); }

constexpr js::Binding kHeadersBindings[] = {
    js::bind<is_proxy>("isProxy", "(value: unknown): boolean"),
};

}  // namespace

std::span<const js::Binding> headers_bindings() { return kHeadersBindings; }

}  // namespace weft::api
