// Set-Cookie (RFC 6265bis §5.6): what a server asks its client to remember. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::http::wire {

inline constexpr std::size_t kCookieBytesMax = 4096;           // name and value; more: no cookie
inline constexpr std::size_t kCookieAttributeBytesMax = 1024;  // of a value; a longer is ignored

struct SetCookie {
    std::string name;  // may be empty
    std::string value;
    std::string domain;  // in lower case, without a dot at the beginning; empty: none was given
    std::string path;    // empty: none was given that begins with a slash
    std::optional<std::int64_t> expires;  // in seconds since 1970
    std::optional<std::int64_t> max_age;  // in seconds; counts instead of `expires`
    bool secure = false;
    bool http_only = false;
};

// Nothing for a field that is to be ignored. Unknown and malformed attributes are ignored, as
// browsers do.
std::optional<SetCookie> parse_set_cookie(std::string_view field);

// A date as cookies have them, in almost any form (§5.1.1): "Wed, 09-Jun-2021 10:18:14 GMT".
std::optional<std::int64_t> parse_cookie_date(std::string_view text);

}  // namespace weft::http::wire
