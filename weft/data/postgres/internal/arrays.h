// Arrays of PostgreSQL, in both of the forms in which they come and in that in which they go.
#pragma once

#include <string>
#include <string_view>

#include "weft/base/result.h"
#include "weft/data/postgres/internal/types.h"
#include "weft/data/value.h"

namespace weft::data::postgres {

// Arrays of several dimensions are arrays of arrays. Where an array begins to count is not kept.
Result<Value> decode_array(Oid element, int format, std::string_view bytes);

// "{1,NULL,\"a b\"}". Misuse for what an array cannot hold.
Result<std::string> array_text(const Value::Items& items);
// The same items as a JSON array, for parameters of the types json and jsonb.
Result<std::string> json_text(const Value& value);

}  // namespace weft::data::postgres
