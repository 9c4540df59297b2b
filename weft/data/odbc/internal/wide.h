// Converts between UTF-8 and the UTF-16 of ODBC's wide calls. The narrow calls are not used: their
// encoding depends on the settings of the process or the driver. Any thread.
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
// Empty if the text has an unpaired surrogate.
std::optional<std::string> from_wide(std::span<const SQLWCHAR> text);
// The same with U+FFFD in place of unpaired surrogates: for names and messages.
std::string shown(std::span<const SQLWCHAR> text);

}  // namespace weft::data::odbc
