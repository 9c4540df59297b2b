// Between UTF-8 and the UTF-16 that ODBC's calls take: their other form is in whatever encoding the
// process or the driver has been set to.
#pragma once

#include <sql.h>
#include <sqlext.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::data::odbc {

using Wide = std::vector<SQLWCHAR>;

// The text must be UTF-8.
Wide to_wide(std::string_view text);
// Nothing if there is half of a pair.
std::optional<std::string> from_wide(std::span<const SQLWCHAR> text);
// The same with marks in place of what is not text: for names and messages.
std::string shown(std::span<const SQLWCHAR> text);

}  // namespace weft::data::odbc
