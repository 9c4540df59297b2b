// Between the values of databases and those of JavaScript.
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

// The text in the provider's own placeholders, the values, and for each the number of its type or
// undefined; for an array the array of its items' types. The prelude has checked them; what it has
// let through is Misuse.
Result<data::Statement> to_statement(js::Call& call, v8::Local<v8::Value> text,
                                     v8::Local<v8::Value> values, v8::Local<v8::Value> types);

// [names, values of all rows one after the other]
v8::Local<v8::Value> from_rows(js::Isolate& isolate, const data::Rows& rows);
// The same, then the number of changed rows, and the id of the last that was inserted or undefined.
v8::Local<v8::Value> from_outcome(js::Isolate& isolate, const data::Outcome& outcome);
v8::Local<v8::Value> from_names(js::Isolate& isolate, const std::vector<data::Column>& columns);

// Rejects the promise with what the prelude makes a DatabaseError of.
js::Settled data_failure(const Error& error);

}  // namespace weft::api
