#include "weft/api/async_context/bindings.h"

namespace weft::api {
namespace {

void continuation_get(js::Call& call) {
    call.give(call.context()->GetContinuationPreservedEmbedderData());
}

void continuation_set(js::Call& call) {
    call.context()->SetContinuationPreservedEmbedderData(call[0]);
}

// Sets the functions that V8 calls when a promise is created, before and after a reaction of it,
// and when it is resolved.
void promise_hooks_set(js::Call& call) {
    v8::Local<v8::Function> hooks[4];
    for (int at = 0; at < 4; ++at)
        if (call.has(at)) hooks[at] = call.function(at);
    call.context()->SetPromiseHooks(hooks[0], hooks[1], hooks[2], hooks[3]);
}

constexpr js::Binding kBindings[] = {
    js::bind<continuation_get>("continuationGet", "(): Continuation | undefined"),
    js::bind<continuation_set>("continuationSet", "(continuation: Continuation | undefined): void"),
    js::bind<promise_hooks_set>("promiseHooksSet",
                                "(made?: Function, before?: Function, after?: Function, "
                                "resolved?: Function): void"),
};

}  // namespace

std::span<const js::Binding> async_context_bindings() { return kBindings; }

}  // namespace weft::api
