// What kind of content a file has, by the end of its name. Any thread.
#pragma once

#include <string_view>

namespace weft::http {

// "text/html; charset=utf-8" of "index.html"; "application/octet-stream" of what is not known.
std::string_view content_type_of(std::string_view file_name);

}  // namespace weft::http
