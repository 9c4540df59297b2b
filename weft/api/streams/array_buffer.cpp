// Transfer of buffers. V8 10.2 has no ArrayBuffer.prototype.transfer.
#include <memory>
#include <utility>

#include "weft/api/streams/bindings.h"
#include "weft/api/streams/compression.h"

namespace weft::api {
namespace {

// https://streams.spec.whatwg.org/#transfer-array-buffer
// Gives a new ArrayBuffer with the same memory and detaches the old one. Memory of WebAssembly
// cannot be transferred.
void array_buffer_transfer(js::Call& call) {
    v8::Local<v8::ArrayBuffer> buffer = call[0].As<v8::ArrayBuffer>();
    if (!buffer->IsDetachable())
        return call.throw_type_error("The ArrayBuffer cannot be transferred");
    std::shared_ptr<v8::BackingStore> memory = buffer->GetBackingStore();
    // Deprecated since V8 11.3 in favour of a call with a key, which V8 10.2 does not have.
    buffer->Detach();
    call.give(v8::ArrayBuffer::New(call.v8(), std::move(memory)));
}

constexpr js::Binding kStreamsBindings[] = {
    js::bind<array_buffer_transfer>("arrayBufferTransfer", "(buffer: ArrayBuffer): ArrayBuffer"),
    js::bind<compression_create>("compressionCreate", "(format: string, mode: string): Codec"),
    js::bind<compression_push>("compressionPush", "(codec: Codec, bytes: Uint8Array): ArrayBuffer"),
    js::bind<compression_check>("compressionCheck", "(codec: Codec): void"),
    js::bind<compression_finish>("compressionFinish", "(codec: Codec): ArrayBuffer"),
};

}  // namespace

std::span<const js::Binding> streams_bindings() { return kStreamsBindings; }

}  // namespace weft::api
