// Writes rows as JSON directly into a string, for streaming rows to clients. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "weft/data/rows.h"
#include "weft/data/value.h"

namespace weft::data {

// Integers and real numbers become JSON numbers with all their digits; bytes become base64; a JSON
// value is inserted as it is, with blanks for its line ends, so that it takes one line; decimals,
// dates, times and UUIDs become strings. NaN and infinities become null.
void append_json(std::string& text, const Value& value);
// An object with one member per column. Columns of the same name are all written; readers of JSON
// take the last.
void append_json(std::string& text, const Row& row);
void append_json_string(std::string& text, std::string_view utf8);

}  // namespace weft::data
