// Arrays of PostgreSQL: decodes both formats and encodes text. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "weft/base/result.h"
#include "weft/data/postgres/internal/types.h"
#include "weft/data/value.h"

namespace weft::data::postgres {

// Arrays of several dimensions become arrays of arrays. The lower bound of an array is dropped.
Result<Value> decode_array(Oid element, int format, std::string_view bytes);

// "{1,NULL,\"a b\"}". Misuse for a value that cannot be an element.
Result<std::string> array_text(const Value::Items& items);
// The same items as a JSON array, for parameters of the types json and jsonb.
Result<std::string> json_text(const Value& value);

}  // namespace weft::data::postgres
