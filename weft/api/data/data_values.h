// Converts values of databases to values of JavaScript and back.
//
// Owning isolate only.
#pragma once

#include <v8.h>

#include <string>
#include <vector>

#include "weft/base/result.h"
#include "weft/data/rows.h"
#include "weft/data/statement.h"
#include "weft/js/binding.h"
#include "weft/js/task.h"

namespace weft::api {

// Takes the text with the provider's own placeholders, the values, and for each value the number of
// its type or undefined; for an array, the array of its items' types. The prelude has checked them;
// anything that it should have refused is an error of kind Misuse.
Result<data::Statement> to_statement(js::Call& call, v8::Local<v8::Value> text,
                                     v8::Local<v8::Value> values, v8::Local<v8::Value> types);

// Gives [names, values of all rows in sequence].
v8::Local<v8::Value> from_rows(js::Isolate& isolate, const data::Rows& rows);
// Gives the same, followed by the number of changed rows and the last inserted id or undefined.
v8::Local<v8::Value> from_outcome(js::Isolate& isolate, const data::Outcome& outcome);
v8::Local<v8::Value> from_names(js::Isolate& isolate, const std::vector<data::Column>& columns);

// Rejects the promise with the value from which the prelude makes a DatabaseError.
js::Settled data_failure(const Error& error);

}  // namespace weft::api
