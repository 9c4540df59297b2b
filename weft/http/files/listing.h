// The listing of a directory as a page of HTML. Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weft/fiber/os/file.h"

namespace weft::http {

// Of a larger directory only so many entries are shown.
inline constexpr std::size_t kListingEntriesMax = 10'000;

// `path` is the decoded path of the request; it ends with a slash. Names may be any bytes of the
// file system: they are escaped, so that none can become markup or a link to elsewhere.
std::string listing_page(std::string_view path, std::vector<DirectoryEntry> entries);

}  // namespace weft::http
