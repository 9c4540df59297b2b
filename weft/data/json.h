// Rows as JSON, written without anything in between: for streams of rows to clients.
#pragma once

#include <string>
#include <string_view>

#include "weft/data/rows.h"
#include "weft/data/value.h"

namespace weft::data {

// Integers and real numbers are numbers, with all their digits; bytes are base64; JSON is put in as
// it is, with blanks for its line ends, so that a value takes one line; decimals, dates, times and
// UUIDs are strings. What JSON has no number for is null.
void append_json(std::string& text, const Value& value);
// An object. Of columns with the same name all are written, as readers of JSON take the last.
void append_json(std::string& text, const Row& row);
void append_json_string(std::string& text, std::string_view utf8);

}  // namespace weft::data
