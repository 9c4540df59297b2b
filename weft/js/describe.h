// Texts and errors between C++ and JavaScript.
//
// Owning isolate only.
#pragma once

#include <v8.h>

#include <string>
#include <string_view>

#include "weft/base/error.h"

namespace weft::js {

// For calls whose failure is a termination or an exception, which the turn sees at its end.
template <class Maybe>
void seen_by_turn(const Maybe&) {}

// Internalized: for names that are looked up again and again.
v8::Local<v8::String> to_v8(v8::Isolate* isolate, std::string_view text);
// The value as script would print it; never throws and never leaves an exception behind.
std::string to_text(v8::Isolate* isolate, v8::Local<v8::Value> value);

// An error for people: where it was thrown, the line with a caret below it, and the stack.
//
//     app.js:3:11
//         throw new TypeError("no such user");
//               ^
//     TypeError: no such user
//         at load (app.js:3:11)
std::string describe_error(v8::Isolate* isolate, v8::Local<v8::Context> context,
                           v8::Local<v8::Value> error, v8::Local<v8::Message> message);

// A JavaScript Error for a failure of Weft: `code` is the name of its kind.
v8::Local<v8::Value> to_exception(v8::Isolate* isolate, const Error& error);

}  // namespace weft::js
