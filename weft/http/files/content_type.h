// The media type of a file, by the extension of its name. Any thread.
#pragma once

#include <string_view>

namespace weft::http {

// For example "text/html; charset=utf-8" for "index.html"; "application/octet-stream" for an
// unknown extension.
std::string_view content_type_of(std::string_view file_name);

}  // namespace weft::http
