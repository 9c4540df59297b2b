#include <string_view>
#include <vector>

#include "weft/api/headers/bindings.h"
#include "weft/api/headers/known_names.h"

namespace weft::api {

namespace {

// A record from an application is read by the exact steps of Web IDL if these can be observed,
// which is when it is a proxy; otherwise by a faster way.
void is_proxy(js::Call& call) { call.give(call[0]->IsProxy()); }

void known_headers(js::Call& call) {
    std::vector<v8::Local<v8::Value>> names;
    for (std::string_view name : known_names()) names.push_back(call.name(name));
    call.give(call.array(names));
}

constexpr js::Binding kHeadersBindings[] = {
    js::bind<known_headers>("knownHeaders", "(): string[]"),
    js::bind<is_proxy>("isProxy", "(value: unknown): boolean"),
};

}  // namespace

std::span<const js::Binding> headers_bindings() { return kHeadersBindings; }

}  // namespace weft::api
