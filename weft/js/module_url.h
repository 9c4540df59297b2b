// Paths and file: URLs of modules, and the few steps of the URL standard that a resolver needs.
//
// Paths are absolute, with '/' between their parts. Values only; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weft::js {

// "/a/b/../c" as "/a/c"; never above the root. A slash at the end stays.
std::string normalized_path(std::string_view path);
// The folder of a file, without a slash at the end unless it is the root.
std::string_view folder_of(std::string_view path);
std::string join_path(std::string_view folder, std::string_view relative);

// "file:///a%20b.js" for "/a b.js": what import.meta.url says.
std::string file_url(std::string_view path);
// The bytes that %xx stands for. Nothing when the text has %2F, %5C or %00 in it, which would be a
// separator that is none, or the end of a name that is not over.
std::optional<std::string> percent_decoded(std::string_view text);

// The scheme without its colon ("weft" of "weft:http"), or empty.
std::string_view scheme_of(std::string_view specifier);
// Whether it begins with "/", "./" or "../", or is "." or "..".
bool is_relative_or_absolute(std::string_view specifier);

// "/a.js?v=1#x" in two: the path, and the rest with its mark.
struct PathAndSuffix {
    std::string_view path;
    std::string_view suffix;
};
PathAndSuffix split_suffix(std::string_view text);

}  // namespace weft::js
