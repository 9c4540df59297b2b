// The response to a GET or HEAD of a file: conditions, ranges, content codings. Any fiber.
#pragma once

#include <memory>
#include <string_view>

#include "weft/http/files/resource.h"
#include "weft/http/request.h"
#include "weft/http/response.h"

namespace weft::http {

// The response shares the resource, which must be a File. `cache_control` is the value of that
// field; empty: none.
Response file_response(const Request& request, std::shared_ptr<const Resource> resource,
                       std::string_view cache_control);

}  // namespace weft::http
