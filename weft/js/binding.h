// Binding and Call: how C++ functions are offered to the scripts of the prelude.
//
//     void parse_url(js::Call& call) { call.give(normalized(call.text(0))); }
//
//     constexpr js::Binding kUrlBindings[] = {
//         js::bind<parse_url>("urlParse", "(input: string, base?: string): string | undefined"),
//     };
//
// Every native function is in one table (api/bindings.cpp). The functions of the object `native`
// are made from it, which the prelude's scripts can use and applications never see, and so are the
// external references of the start-up snapshot. The prelude converts and checks the arguments by
// the rules of Web IDL before it calls a native function, which asserts their types.
//
// Owning isolate only. A Call is valid until its native function returns.
#pragma once

#include <v8.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/result.h"

namespace weft::js {

class Isolate;
class OwnedBytes;

// One call of a native function.
class Call {
public:
    using Info = v8::FunctionCallbackInfo<v8::Value>;
    explicit Call(const Info& info) : info_(info) {}
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    v8::Isolate* v8() const { return info_.GetIsolate(); }
    v8::Local<v8::Context> context() const { return v8()->GetCurrentContext(); }
    Isolate& isolate() const;  // Weft's own, js/isolate.h

    // ---- arguments
    int count() const { return info_.Length(); }
    bool has(int at) const { return at < info_.Length() && !info_[at]->IsUndefined(); }
    v8::Local<v8::Value> operator[](int at) const { return info_[at]; }
    // In UTF-8; lone surrogates are replaced by U+FFFD.
    std::string text(int at) const { return text_of(info_[at]); }
    std::string text_of(v8::Local<v8::Value> value) const;
    double number(int at) const;
    std::int64_t integer(int at) const { return static_cast<std::int64_t>(number(at)); }
    bool flag(int at) const { return info_[at]->IsTrue(); }
    // The memory of an ArrayBuffer, a SharedArrayBuffer or a view, borrowed until the call returns
    // or script runs. Empty for a detached one.
    ByteSpace bytes(int at) const { return bytes_of(info_[at]); }
    static ByteSpace bytes_of(v8::Local<v8::Value> value);
    v8::Local<v8::Function> function(int at) const;

    // ---- the result
    void give(v8::Local<v8::Value> value) { info_.GetReturnValue().Set(value); }
    void give(std::string_view utf8);
    void give_latin1(std::string_view latin1);
    void give(double number) { info_.GetReturnValue().Set(number); }
    void give(bool flag) { info_.GetReturnValue().Set(flag); }
    void give_bytes(Bytes bytes);  // a new ArrayBuffer, copied
    void give_bytes(OwnedBytes bytes);
    void give_bytes(std::vector<std::byte>&& bytes);  // the same without a copy
    void throw_type_error(std::string_view message);
    void throw_range_error(std::string_view message);
    void throw_error(std::string_view message);
    // An exception of class DOMException.
    void throw_dom(std::string_view name, std::string_view message);

    // ---- values
    v8::Local<v8::String> string(std::string_view utf8) const;
    // An internalized string: for property names and other texts that are used repeatedly.
    v8::Local<v8::String> name(std::string_view ascii) const;
    v8::Local<v8::Array> array(std::span<v8::Local<v8::Value>> values) const;

private:
    const Info& info_;
};

// An ArrayBuffer that owns the bytes, without a copy.
v8::Local<v8::ArrayBuffer> new_array_buffer(v8::Isolate* isolate, std::vector<std::byte>&& bytes);
v8::Local<v8::ArrayBuffer> new_array_buffer(v8::Isolate* isolate, OwnedBytes bytes);

// Whether a native function returns a promise, and whether its work can be cancelled.
enum class Awaits : std::uint8_t { No, Uncancellable, Cancellable };

struct Binding {
    const char* name;       // in the object `native`
    const char* signature;  // in TypeScript, without the name
    v8::FunctionCallback callback;
    Awaits awaits;
};

// Calls `function` for each call from script. A C++ exception becomes a JavaScript Error.
template <void (*function)(Call& call)>
void call_native(const Call::Info& info);

template <void (*function)(Call& call)>
constexpr Binding bind(const char* name, const char* signature, Awaits awaits = Awaits::No) {
    return Binding{name, signature, &call_native<function>, awaits};
}

void throw_foreign_exception(v8::Isolate* isolate, const char* what);

template <void (*function)(Call& call)>
void call_native(const Call::Info& info) {
    Call call(info);
    try {
        function(call);
    } catch (const std::exception& thrown) {
        throw_foreign_exception(info.GetIsolate(), thrown.what());
    }
}

}  // namespace weft::js
