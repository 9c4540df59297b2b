// Whether a client needs the content at all (RFC 9110 §13). Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "weft/http/request.h"

namespace weft::http {

// Of the representation that would be sent.
struct Validators {
    std::string_view etag;                 // with its quotation marks; strong
    std::optional<std::int64_t> modified;  // in seconds since 1970; nothing: not known for sure
};

enum class Condition : std::uint8_t {
    Send,         // whatever the method does
    NotModified,  // 304
    Failed,       // 412
};

// If-Match, If-Unmodified-Since, If-None-Match and If-Modified-Since, in the order of §13.2.2.
Condition check_conditions(const Request& request, const Validators& validators,
                           std::int64_t now_seconds);

// The Range field, if it is to be honoured: of a GET, once, and If-Range (§13.1.5) allows it.
std::optional<std::string_view> range_field(const Request& request, const Validators& validators,
                                            std::int64_t now_seconds);

}  // namespace weft::http
