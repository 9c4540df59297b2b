// What SQLite's result codes are called elsewhere.
#pragma once

#include <string_view>

#include "weft/base/error.h"

struct sqlite3;

namespace weft::data::sqlite_internal {

inline constexpr std::string_view kName = "sqlite";

// When it failed. Until its values are bound, what SQLite says can quote none of them.
enum class Phase { Open, Prepare, Step };

// Of the last call on the handle, which gave this code.
Error error_of(sqlite3* database, int code, Phase phase);

}  // namespace weft::data::sqlite_internal
