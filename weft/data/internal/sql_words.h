// Finds the words of SQL texts outside of quotes and comments: enough to judge what a statement may
// do without parsing SQL. Values, any thread.
//
// A SqlSyntax describes where databases differ. Doubtful text counts as words rather than as
// quoted, so that a search for a word may report one too many but misses none.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weft::data {

struct SqlSyntax {
    bool dollar_quotes = false;    // $tag$ text $tag$, and E'\'' is a string
    bool brackets = false;         // [name]
    bool backticks = false;        // `name`
    bool backslashes = false;      // '\'' is a string
    bool nested_comments = false;  // /* /* */ is still a comment */
    // #; "--" only before a blank; the content of /*! */ is executed.
    bool mariadb_comments = false;
    std::string_view marks = {};  // what words may begin with besides letters: "@#"
};
inline constexpr SqlSyntax kPostgresSyntax{.dollar_quotes = true, .nested_comments = true};

// A word, a name in quotes, or the sign ":=".
struct SqlWord {
    std::string text;  // in lower case, without quotes
    bool is_quoted = false;

    bool is(std::string_view keyword) const { return !is_quoted && text == keyword; }
};
using SqlWords = std::vector<SqlWord>;

// The words of each statement. Statements end at semicolons. Empty statements are left out; those
// without a word (only numbers, say) are kept.
std::vector<SqlWords> words_of_statements(std::string_view text, const SqlSyntax& syntax);
// The first word of the first statement; empty if it does not begin with a word. Leading
// parentheses are skipped.
std::string first_word(std::string_view text, const SqlSyntax& syntax);
std::string_view first_word(const SqlWords& words);

// The length of the comment, or of the quoted string or name, at the beginning of the text. 0:
// there is none.
std::size_t comment_length(std::string_view text, const SqlSyntax& syntax);
std::size_t quoted_length(std::string_view text, const SqlSyntax& syntax);

}  // namespace weft::data
