// What can be seen in the text of statements without reading SQL: their first words and their ends.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::data::odbc {

std::string lower_text(std::string_view text);
// In lower case, behind blanks and comments; empty if there is none.
std::string first_word(std::string_view text);
// The statements of a text, without the semicolons between them. Knows quotes, comments, and the
// bodies of triggers and routines.
std::vector<std::string> split_script(std::string_view text);

}  // namespace weft::data::odbc
