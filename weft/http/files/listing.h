// A directory as a page of HTML. Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weft/fiber/os/file.h"

namespace weft::http {

// A larger directory is shown in part.
inline constexpr std::size_t kListingEntriesMax = 10'000;

// `path` is the decoded path that the client asked for; it ends with a slash. Names are whatever
// bytes the file system has: nothing in them can become markup, or a link to elsewhere.
std::string listing_page(std::string_view path, std::vector<DirectoryEntry> entries);

}  // namespace weft::http
