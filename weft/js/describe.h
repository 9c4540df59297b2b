// Conversion of texts and errors between C++ and JavaScript.
//
// Owning isolate only.
#pragma once

#include <v8.h>

#include <string>
#include <string_view>

#include "weft/base/error.h"

namespace weft::js {

// Discards the result of a V8 call whose failure needs no handling here: it is a termination or a
// pending exception, which the turn handles at its end.
template <class Maybe>
void seen_by_turn(const Maybe&) {}

// An internalized string: for names that are looked up repeatedly. Empty if it cannot be made.
v8::Local<v8::String> to_v8(v8::Isolate* isolate, std::string_view text);
// The value as script would print it; never throws and never leaves an exception behind.
std::string to_text(v8::Isolate* isolate, v8::Local<v8::Value> value);

// An error as text for people: where it was thrown, the line with a caret below it, and the stack.
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
