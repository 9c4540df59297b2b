// Environment files (.env): one KEY=value per line.
//
//     # a comment
//     export MODE=live
//     GREETING="hello\nworld"      # escapes in double quotes
//     PATTERN='$as it is'
//
// Values are not expanded. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "weft/app/config.h"
#include "weft/base/result.h"

namespace weft::app {

// The error is of kind Misuse and names the line: ".env:3: ...".
Result<Environment> parse_env_file(std::string_view text, const std::string& file);
Result<Environment> load_env_file(const std::string& file);

// Adds the variables that are not in `into` yet.
void add_missing(Environment& into, const Environment& from);

}  // namespace weft::app
