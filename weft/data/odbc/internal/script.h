// Splits a text into statements. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/data/internal/sql_words.h"

namespace weft::data::odbc {

// The statements of a text, without the semicolons between them. Recognizes quotes, comments, and
// the bodies of triggers and routines.
std::vector<std::string> split_script(std::string_view text, const SqlSyntax& syntax);

}  // namespace weft::data::odbc
