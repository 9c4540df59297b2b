// The response to a GET or HEAD of a file: conditions, ranges, encodings. Any fiber.
#pragma once

#include <memory>
#include <string_view>

#include "weft/http/files/resource.h"
#include "weft/http/request.h"
#include "weft/http/response.h"

namespace weft::http {

// `cache_control`: empty for none. The response shares the resource.
Response file_response(const Request& request, std::shared_ptr<const Resource> resource,
                       std::string_view cache_control);

}  // namespace weft::http
