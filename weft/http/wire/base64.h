// Base64 with the standard alphabet and padding (RFC 4648 §4). Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "weft/base/bytes.h"

namespace weft::http::wire {

std::string base64_encode(Bytes bytes);
// Nothing for anything that base64_encode() would not have made: other characters, missing or
// misplaced padding, bits that belong to no byte.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace weft::http::wire
