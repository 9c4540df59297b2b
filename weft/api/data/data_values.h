// Converts values of databases to values of JavaScript and back.
//
// Owning isolate only.
#pragma once

#include <v8.h>

#include <string>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/result.h"
#include "weft/data/rows.h"
#include "weft/data/statement.h"
#include "weft/js/binding.h"
#include "weft/js/task.h"

namespace weft::api {

// Takes the text with the provider's own placeholders, the values, and for each value the number of
// its type or undefined; for an array, the array of its items' types. The types are undefined if
// every value's is. The prelude has checked them; anything that it should have refused is an error
// of kind Misuse.
Result<data::Statement> to_statement(js::Call& call, v8::Local<v8::Value> text,
                                     v8::Local<v8::Value> values, v8::Local<v8::Value> types);

// Several statements, as packed() of database.js passes them.
struct PackedStatements {
    v8::Local<v8::Value> texts;
    ByteSpace heads;            // two uint32 for each statement: its text, its number of values
    ByteSpace marks;            // a byte for each value; what it says is in data_values.cpp
    ByteSpace numbers;          // a double for each value
    v8::Local<v8::Value> text;  // the values that are texts, one after the other
    // The values that are passed by themselves, each followed by its type as in to_statement().
    v8::Local<v8::Value> others;
};
Result<std::vector<data::Statement>> to_statements(js::Call& call, const PackedStatements& packed);

// Gives the names of the columns: as one text in which each is followed by a NUL, or as an array if
// one of them contains a NUL.
v8::Local<v8::Value> from_columns(js::Isolate& isolate, const std::vector<data::Column>& columns);
// Gives the values of all rows in sequence.
v8::Local<v8::Value> from_cells(js::Isolate& isolate, const data::Rows& rows);
// Gives [columns, values, number of changed rows, last inserted id or undefined]. The values are
// undefined if there are none.
v8::Local<v8::Value> from_outcome(js::Isolate& isolate, const data::Outcome& outcome);
// Gives [columns, values, facts, ids]: the different columns; the values of all rows of all
// outcomes in sequence; an ArrayBuffer of three doubles for each outcome: the index of its columns,
// its number of rows, the number of changed rows; the last inserted ids, undefined if there are
// none.
v8::Local<v8::Value> from_outcomes(js::Isolate& isolate,
                                   const std::vector<data::Outcome>& outcomes);

// Rejects the promise with the value from which the prelude makes a DatabaseError.
js::Settled data_failure(const Error& error);

}  // namespace weft::api
