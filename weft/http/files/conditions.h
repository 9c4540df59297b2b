// Conditional requests: whether a client needs the content at all (RFC 9110 §13). Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "weft/http/request.h"

namespace weft::http {

// What identifies the representation that would be sent.
struct Validators {
    std::string_view etag;                 // with its quotation marks; strong
    std::optional<std::int64_t> modified;  // in seconds since 1970; nothing: not reliably known
};

enum class Condition : std::uint8_t {
    Send,         // perform the method
    NotModified,  // answer 304
    Failed,       // answer 412
};

// Evaluates If-Match, If-Unmodified-Since, If-None-Match and If-Modified-Since, in the order of
// §13.2.2.
Condition check_conditions(const Request& request, const Validators& validators,
                           std::int64_t now_seconds);

// The Range field if it is to be honoured: the method is GET, there is one such field, and If-Range
// (§13.1.5) allows it.
std::optional<std::string_view> range_field(const Request& request, const Validators& validators,
                                            std::int64_t now_seconds);

}  // namespace weft::http
