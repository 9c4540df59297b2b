// The native functions of encoding.js.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "weft/api/encoding/bindings.h"
#include "weft/api/encoding/legacy.h"
#include "weft/api/encoding/utf8.h"
#include "weft/base/assert.h"
#include "weft/js/owned_bytes.h"

namespace weft::api {

namespace {

constexpr int kUtf8Options = v8::String::NO_NULL_TERMINATION | v8::String::REPLACE_INVALID_UTF8;

// Gives the text of UTF-8 bytes, malformed sequences replaced by U+FFFD; throws if it is too long
// for a string.
void give_utf8(js::Call& call, Bytes bytes) {
    const auto* data = reinterpret_cast<const char*>(bytes.data());
    if (bytes.size() > static_cast<std::size_t>(v8::String::kMaxLength))
        return call.throw_range_error("The text is too long for a string");
    if (is_ascii(bytes)) return call.give_latin1(as_text(bytes));
    v8::Local<v8::String> text;
    if (!v8::String::NewFromUtf8(call.v8(), data, v8::NewStringType::kNormal,
                                 static_cast<int>(bytes.size()))
             .ToLocal(&text))
        return call.throw_range_error("The text is too long for a string");
    call.give(v8::Local<v8::Value>(text));
}

constexpr std::byte kMark[] = {std::byte{0xEF}, std::byte{0xBB}, std::byte{0xBF}};

// (bytes, fatal, keepByteOrderMark): gives undefined if a fatal decoder finds an error.
void utf8_decode(js::Call& call) {
    Bytes bytes = call.bytes(0);
    if (call.flag(1) && !is_utf8(bytes)) return;
    if (call.flag(2))
        give_utf8(call, bytes);
    else
        give_text(call, bytes);
}

void utf8_encode(js::Call& call) {
    auto text = call[0].As<v8::String>();
    int length = text->Utf8Length(call.v8());
    js::OwnedBytes bytes(static_cast<std::size_t>(length));
    auto* to = reinterpret_cast<char*>(bytes.space().data());
    if (text->IsOneByte() && length == text->Length())
        text->WriteOneByte(call.v8(), reinterpret_cast<std::uint8_t*>(to), 0, length,
                           v8::String::NO_NULL_TERMINATION);
    else
        text->WriteUtf8(call.v8(), to, length, nullptr, kUtf8Options);
    call.give_bytes(std::move(bytes));
}

// (text, to, counts): encodes as many whole characters as fit into `to`, and stores in `counts` how
// many code units were read and how many bytes were written.
void utf8_encode_into(js::Call& call) {
    auto text = call[0].As<v8::String>();
    ByteSpace space = call.bytes(1);
    int read = 0;
    int written = 0;
    if (!space.empty())
        written = text->WriteUtf8(call.v8(), reinterpret_cast<char*>(space.data()),
                                  static_cast<int>(std::min<std::size_t>(space.size(), INT32_MAX)),
                                  &read, kUtf8Options);
    std::uint32_t counts[] = {static_cast<std::uint32_t>(read),
                              static_cast<std::uint32_t>(written)};
    ByteSpace to = call.bytes(2);
    WEFT_ASSERT(to.size() >= sizeof counts, "the prelude passes two numbers");
    std::memcpy(to.data(), counts, sizeof counts);
}

void latin1_decode(js::Call& call) { call.give_latin1(as_text(call.bytes(0))); }

// Decodes the pending bytes of `state` followed by `bytes`, and leaves an incomplete sequence at
// the end in `state`.
void decode_utf8_chunk(js::Call& call, Bytes bytes, AtEnd end, bool fatal, DecoderState& state) {
    std::vector<std::byte> joined;
    if (state.pending_count > 0) {
        const auto* pending = reinterpret_cast<const std::byte*>(state.pending);
        joined.assign(pending, pending + state.pending_count);
        joined.insert(joined.end(), bytes.begin(), bytes.end());
        bytes = joined;
    }
    std::size_t tail = end == AtEnd::Hold ? incomplete_tail(bytes) : 0;
    state.pending_count = static_cast<std::uint8_t>(tail);
    std::ranges::copy(bytes.last(tail), reinterpret_cast<std::byte*>(state.pending));
    bytes = bytes.first(bytes.size() - tail);
    if (!fatal || is_utf8(bytes)) return give_utf8(call, bytes);
    // A decoder that has failed forgets the pending bytes.
    state.pending_count = 0;
}

// (encoding, bytes, state, fatal, moreFollows): `state` has 8 bytes.
void text_decode(js::Call& call) {
    auto encoding = static_cast<Encoding>(call.integer(0));
    Bytes bytes = call.bytes(1);
    ByteSpace kept = call.bytes(2);
    bool fatal = call.flag(3);
    AtEnd end = call.flag(4) ? AtEnd::Hold : AtEnd::Flush;
    DecoderState state;
    WEFT_ASSERT(kept.size() >= sizeof state, "the prelude passes the room of a state");
    std::memcpy(&state, kept.data(), sizeof state);
    WEFT_ASSERT(encoding <= Encoding::XUserDefined, "the prelude passes the index of an encoding");
    WEFT_ASSERT(state.pending_count <= sizeof state.pending, "only a decoder writes the state");
    if (encoding == Encoding::Utf8) {
        decode_utf8_chunk(call, bytes, end, fatal, state);
    } else {
        DecodedText out(fatal);
        decode_legacy(encoding, bytes, end, state, out);
        v8::Local<v8::String> text;
        if (out.stopped()) {
            // Nothing is given; the script throws.
        } else if (v8::String::NewFromTwoByte(
                       call.v8(), reinterpret_cast<const std::uint16_t*>(out.text().data()),
                       v8::NewStringType::kNormal, static_cast<int>(out.text().size()))
                       .ToLocal(&text)) {
            call.give(v8::Local<v8::Value>(text));
        } else {
            call.throw_range_error("The text is too long for a string");
        }
    }
    if (end == AtEnd::Flush) state = DecoderState{};
    std::memcpy(kept.data(), &state, sizeof state);
}

constexpr js::Binding kEncodingBindings[] = {
    js::bind<utf8_decode>("utf8Decode",
                          "(bytes: BufferSource, fatal: boolean, keepMark: boolean): string | "
                          "undefined"),
    js::bind<utf8_encode>("utf8Encode", "(text: string): ArrayBuffer"),
    js::bind<utf8_encode_into>("utf8EncodeInto",
                               "(text: string, to: Uint8Array, counts: Uint32Array): void"),
    js::bind<latin1_decode>("latin1Decode", "(bytes: BufferSource): string"),
    js::bind<text_decode>("textDecode",
                          "(encoding: number, bytes: BufferSource, state: Uint8Array, fatal: "
                          "boolean, more: boolean): string | undefined"),
};

}  // namespace

std::span<const js::Binding> encoding_bindings() { return kEncodingBindings; }

void give_text(js::Call& call, Bytes utf8) {
    if (utf8.size() >= 3 && std::ranges::equal(utf8.first(3), kMark)) utf8 = utf8.subspan(3);
    give_utf8(call, utf8);
}

}  // namespace weft::api
