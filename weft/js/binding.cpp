#include "weft/js/binding.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "weft/base/assert.h"
#include "weft/js/owned_bytes.h"

namespace weft::js {
namespace {

bool is_ascii(std::string_view text) {
    std::uint64_t bits = 0;
    std::size_t at = 0;
    for (; at + sizeof(bits) <= text.size(); at += sizeof(bits)) {
        std::uint64_t word = 0;
        std::memcpy(&word, text.data() + at, sizeof(word));
        bits |= word;
    }
    for (; at < text.size(); ++at) bits |= static_cast<std::uint8_t>(text[at]);
    constexpr std::uint64_t kHighBits = 0x8080'8080'8080'8080;
    return (bits & kHighBits) == 0;
}

// False when the string has characters beyond ASCII. Strings of two bytes a character are often
// ASCII all the same: JSON.stringify() of V8 10.2 makes them of whatever JSON.parse() has read.
bool narrow_ascii(v8::Isolate* isolate, v8::Local<v8::String> string, std::string& text) {
    constexpr std::size_t kBlockUnits = 1024;
    std::uint16_t units[kBlockUnits];
    auto length = static_cast<std::size_t>(string->Length());
    text.resize(length);
    for (std::size_t at = 0; at < length; at += kBlockUnits) {
        std::size_t count = std::min(kBlockUnits, length - at);
        string->Write(isolate, units, static_cast<int>(at), static_cast<int>(count),
                      v8::String::NO_NULL_TERMINATION);
        std::uint16_t bits = 0;
        for (std::size_t i = 0; i < count; ++i) {
            bits |= units[i];
            text[at + i] = static_cast<char>(units[i]);
        }
        if (bits > 0x7f) return false;
    }
    return true;
}

}  // namespace

std::string Call::text_of(v8::Local<v8::Value> value) const {
    WEFT_ASSERT(value->IsString(), "the prelude passes a string");
    v8::Local<v8::String> string = value.As<v8::String>();
    std::string text;
    if (!string->IsOneByte() && narrow_ascii(v8(), string, text)) return text;
    // A one-byte string is already UTF-8 if it is ASCII, as most are.
    if (string->IsOneByte()) {
        auto length = static_cast<std::size_t>(string->Length());
        // NB: resize_and_overwrite() of GCC 12 passes its function the capacity, not the size.
        text.resize(length);
        string->WriteOneByte(v8(), reinterpret_cast<std::uint8_t*>(text.data()), 0,
                             static_cast<int>(length), v8::String::NO_NULL_TERMINATION);
        if (is_ascii(text)) return text;
    }
    text.resize(static_cast<std::size_t>(string->Utf8Length(v8())));
    int written =
        string->WriteUtf8(v8(), text.data(), static_cast<int>(text.size()), nullptr,
                          v8::String::NO_NULL_TERMINATION | v8::String::REPLACE_INVALID_UTF8);
    WEFT_ASSERT(written >= 0 && static_cast<std::size_t>(written) <= text.size(),
                "V8 writes at most as many bytes as it has counted");
    text.resize(static_cast<std::size_t>(written));
    return text;
}

double Call::number(int at) const {
    WEFT_ASSERT(info_[at]->IsNumber(), "the prelude passes a number");
    return info_[at].As<v8::Number>()->Value();
}

ByteSpace Call::bytes_of(v8::Local<v8::Value> value) {
    if (value->IsArrayBufferView()) {
        auto view = value.As<v8::ArrayBufferView>();
        auto* data = static_cast<std::byte*>(view->Buffer()->GetBackingStore()->Data());
        if (data == nullptr) return {};
        return {data + view->ByteOffset(), view->ByteLength()};
    }
    if (value->IsArrayBuffer()) {
        auto store = value.As<v8::ArrayBuffer>()->GetBackingStore();
        return {static_cast<std::byte*>(store->Data()), store->ByteLength()};
    }
    WEFT_ASSERT(value->IsSharedArrayBuffer(), "the prelude passes a buffer or a view");
    auto store = value.As<v8::SharedArrayBuffer>()->GetBackingStore();
    return {static_cast<std::byte*>(store->Data()), store->ByteLength()};
}

v8::Local<v8::Function> Call::function(int at) const {
    WEFT_ASSERT(info_[at]->IsFunction(), "the prelude passes a function");
    return info_[at].As<v8::Function>();
}

void Call::give(std::string_view utf8) { info_.GetReturnValue().Set(string(utf8)); }

void Call::give_latin1(std::string_view latin1) {
    v8::Local<v8::String> made;
    if (v8::String::NewFromOneByte(v8(), reinterpret_cast<const std::uint8_t*>(latin1.data()),
                                   v8::NewStringType::kNormal, static_cast<int>(latin1.size()))
            .ToLocal(&made))
        info_.GetReturnValue().Set(made);
    else
        throw_range_error("Invalid string length");
}

void Call::give_bytes(Bytes bytes) {
    OwnedBytes copy(bytes.size());
    std::ranges::copy(bytes, copy.space().begin());
    give_bytes(std::move(copy));
}

void Call::give_bytes(OwnedBytes bytes) { give(new_array_buffer(v8(), std::move(bytes))); }

void Call::give_bytes(std::vector<std::byte>&& bytes) {
    give(new_array_buffer(v8(), std::move(bytes)));
}

void Call::throw_type_error(std::string_view message) {
    v8()->ThrowException(v8::Exception::TypeError(string(message)));
}

void Call::throw_range_error(std::string_view message) {
    v8()->ThrowException(v8::Exception::RangeError(string(message)));
}

void Call::throw_error(std::string_view message) {
    v8()->ThrowException(v8::Exception::Error(string(message)));
}

v8::Local<v8::String> Call::string(std::string_view utf8) const {
    v8::Local<v8::String> made;
    if (v8::String::NewFromUtf8(v8(), utf8.data(), v8::NewStringType::kNormal,
                                static_cast<int>(utf8.size()))
            .ToLocal(&made))
        return made;
    return v8::String::Empty(v8());
}

v8::Local<v8::String> Call::name(std::string_view ascii) const {
    WEFT_DASSERT(is_ascii(ascii), "a name is made of its bytes as Latin-1");
    return v8::String::NewFromOneByte(v8(), reinterpret_cast<const std::uint8_t*>(ascii.data()),
                                      v8::NewStringType::kInternalized,
                                      static_cast<int>(ascii.size()))
        .ToLocalChecked();
}

v8::Local<v8::ArrayBuffer> new_array_buffer(v8::Isolate* isolate, std::vector<std::byte>&& bytes) {
    if (bytes.empty()) return v8::ArrayBuffer::New(isolate, 0);
    auto owned = std::make_unique<std::vector<std::byte>>(std::move(bytes));
    void* data = owned->data();
    std::size_t size = owned->size();
    auto store = v8::ArrayBuffer::NewBackingStore(
        data, size,
        [](void*, std::size_t, void* owner) {
            delete static_cast<std::vector<std::byte>*>(owner);  // tidy: allow delete: V8 owned it
        },
        owned.release());
    return v8::ArrayBuffer::New(isolate, std::move(store));
}

v8::Local<v8::ArrayBuffer> new_array_buffer(v8::Isolate* isolate, OwnedBytes bytes) {
    std::size_t size = bytes.size();
    if (size == 0) return v8::ArrayBuffer::New(isolate, 0);
    auto store = v8::ArrayBuffer::NewBackingStore(
        bytes.release(), size, [](void* memory, std::size_t, void*) { std::free(memory); },
        nullptr);
    return v8::ArrayBuffer::New(isolate, std::move(store));
}

v8::Local<v8::Array> Call::array(std::span<v8::Local<v8::Value>> values) const {
    return v8::Array::New(v8(), values.data(), values.size());
}

void throw_foreign_exception(v8::Isolate* isolate, const char* what) {
    v8::Local<v8::String> message;
    if (!v8::String::NewFromUtf8(isolate, what).ToLocal(&message))
        message = v8::String::Empty(isolate);
    isolate->ThrowException(v8::Exception::Error(message));
}

}  // namespace weft::js
