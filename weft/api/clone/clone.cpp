#include "weft/api/clone/bindings.h"

namespace weft::api {
namespace {

// Gives a new buffer object over the same memory.
void buffer_share(js::Call& call) {
    if (call[0]->IsSharedArrayBuffer()) {
        call.give(v8::SharedArrayBuffer::New(
            call.v8(), call[0].As<v8::SharedArrayBuffer>()->GetBackingStore()));
        return;
    }
    call.give(v8::ArrayBuffer::New(call.v8(), call[0].As<v8::ArrayBuffer>()->GetBackingStore()));
}

void buffer_detach(js::Call& call) { call[0].As<v8::ArrayBuffer>()->Detach(); }

void buffer_is_detachable(js::Call& call) {
    call.give(call[0].As<v8::ArrayBuffer>()->IsDetachable());
}

constexpr js::Binding kBindings[] = {
    js::bind<buffer_share>("bufferShare", "<T>(buffer: T): T"),
    js::bind<buffer_detach>("bufferDetach", "(buffer: ArrayBuffer): void"),
    js::bind<buffer_is_detachable>("bufferIsDetachable", "(buffer: ArrayBuffer): boolean"),
};

}  // namespace

std::span<const js::Binding> clone_bindings() { return kBindings; }

}  // namespace weft::api
