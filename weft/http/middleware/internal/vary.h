// The Vary field of a response, for middleware that reads a field of the request. Any thread.
#pragma once

#include <string_view>

#include "weft/http/headers.h"

namespace weft::http {

// RFC 9110 §12.5.5: declares that the response depends on this field of the request.
inline void add_vary(Headers& headers, std::string_view field) {
    if (headers.has_token("vary", "*") || headers.has_token("vary", field)) return;
    headers.add("Vary", field);
}

}  // namespace weft::http
