#include "weft/api/headers/bindings.h"

namespace weft::api {

namespace {

// A record given by an application is walked by the steps of Web IDL when somebody can see them,
// which is when it is a proxy; else the short way.
void is_proxy(js::Call& call) { call.give(call[0]->IsProxy()); }

constexpr js::Binding kHeadersBindings[] = {
    js::bind<is_proxy>("isProxy", "(value: unknown): boolean"),
};

}  // namespace

std::span<const js::Binding> headers_bindings() { return kHeadersBindings; }

}  // namespace weft::api
