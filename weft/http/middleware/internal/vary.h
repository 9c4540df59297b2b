// The Vary field of a response, for middleware that looks at a field of the request.
#pragma once

#include <string_view>

#include "weft/http/headers.h"

namespace weft::http {

// RFC 9110 §12.5.5: the response would be another one if the request had another `field`.
inline void add_vary(Headers& headers, std::string_view field) {
    if (headers.has_token("vary", "*") || headers.has_token("vary", field)) return;
    headers.add("Vary", field);
}

}  // namespace weft::http
