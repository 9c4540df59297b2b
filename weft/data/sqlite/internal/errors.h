// Converts SQLite's result codes to SQLSTATEs and Errors.
#pragma once

#include <string_view>

#include "weft/base/error.h"

struct sqlite3;

namespace weft::data::sqlite_internal {

inline constexpr std::string_view kName = "sqlite";

// When the call failed. Before values are bound, SQLite's message cannot quote any.
enum class Phase { Open, Prepare, Step };

// The error of the last call on the handle, which returned this code. An error about the file
// itself names it.
Error error_of(sqlite3* database, int code, Phase phase, std::string_view file = {});

}  // namespace weft::data::sqlite_internal
