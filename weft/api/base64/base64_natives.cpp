// The native functions of base64.js.
#include "weft/api/base64/base64.h"
#include "weft/api/base64/bindings.h"

namespace weft::api {

namespace {

std::string latin1(js::Call& call, int at) {
    auto text = call[at].As<v8::String>();
    std::string bytes(static_cast<std::size_t>(text->Length()), '\0');
    text->WriteOneByte(call.v8(), reinterpret_cast<std::uint8_t*>(bytes.data()), 0, text->Length(),
                       v8::String::NO_NULL_TERMINATION);
    return bytes;
}

// Gives undefined for a text with a character above U+00FF.
void encode(js::Call& call) {
    if (!call[0].As<v8::String>()->ContainsOnlyOneByte()) return;
    call.give_latin1(base64_encode(latin1(call, 0)));
}

void encode_bytes(js::Call& call) { call.give_latin1(base64_encode(as_text(call.bytes(0)))); }

// Gives undefined where the standard returns failure.
void decode(js::Call& call) {
    if (!call[0].As<v8::String>()->ContainsOnlyOneByte()) return;
    auto bytes = base64_decode(latin1(call, 0));
    if (bytes) call.give_latin1(*bytes);
}

void decode_bytes(js::Call& call) {
    if (!call[0].As<v8::String>()->ContainsOnlyOneByte()) return;
    auto bytes = base64_decode(latin1(call, 0));
    if (bytes) call.give_bytes(as_bytes(*bytes));
}

constexpr js::Binding kBase64Bindings[] = {
    js::bind<encode>("base64Encode", "(latin1: string): string | undefined"),
    js::bind<encode_bytes>("base64EncodeBytes", "(bytes: BufferSource): string"),
    js::bind<decode>("base64Decode", "(text: string): string | undefined"),
    js::bind<decode_bytes>("base64DecodeBytes", "(text: string): ArrayBuffer | undefined"),
};

}  // namespace

std::span<const js::Binding> base64_bindings() { return kBase64Bindings; }

}  // namespace weft::api
