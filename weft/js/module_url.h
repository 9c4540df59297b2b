// Paths and file: URLs of modules, and the parts of the URL standard that a resolver needs.
//
// Paths are absolute, with '/' between their parts. Values only; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weft::js {

// "/a/b/../c" as "/a/c"; ".." at the root is dropped. A slash at the end is kept.
std::string normalized_path(std::string_view path);
// The folder of a file, without a slash at the end unless it is the root.
std::string_view folder_of(std::string_view path);
std::string join_path(std::string_view folder, std::string_view relative);

// "file:///a%20b.js" for "/a b.js": what import.meta.url says.
std::string file_url(std::string_view path);
// Replaces each %xx by its byte. Empty if the text contains %2F, %5C or %00: a decoded separator
// would change the structure of the path, and a zero would cut off the name.
std::optional<std::string> percent_decoded(std::string_view text);

// The scheme without its colon ("weft" of "weft:http"), or empty.
std::string_view scheme_of(std::string_view specifier);
// Whether it begins with "/", "./" or "../", or is "." or "..".
bool is_relative_or_absolute(std::string_view specifier);

// Splits "/a.js?v=1#x" into "/a.js" and "?v=1#x".
struct PathAndSuffix {
    std::string_view path;
    std::string_view suffix;
};
PathAndSuffix split_suffix(std::string_view text);

}  // namespace weft::js
