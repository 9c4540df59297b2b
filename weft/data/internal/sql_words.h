// The words of SQL texts, outside of quotes and comments: enough to judge what a statement may do
// without reading SQL. Values, any thread.
//
// Where databases differ, a SqlSyntax tells. Where a text is in doubt it is taken for words rather
// than for quoted: who looks for a word then finds one too many, and misses none.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weft::data {

struct SqlSyntax {
    bool dollar_quotes = false;     // $tag$ text $tag$, and E'\'' as a text
    bool brackets = false;          // [name]
    bool backticks = false;         // `name`
    bool backslashes = false;       // '\'' is a text
    bool nested_comments = false;   // /* /* */ still a comment */
    bool mariadb_comments = false;  // #; "--" only before a blank; what is in /*! */ is executed
    std::string_view marks = {};    // what words may begin with beside letters: "@#"
};
inline constexpr SqlSyntax kPostgresSyntax{.dollar_quotes = true, .nested_comments = true};

// A word, a name in quotes, or the sign ":=".
struct SqlWord {
    std::string text;  // in lower case, without quotes
    bool is_quoted = false;

    bool is(std::string_view keyword) const { return !is_quoted && text == keyword; }
};
using SqlWords = std::vector<SqlWord>;

// The words of each statement. Statements end at semicolons; those with nothing in them are left
// out, those without a word are not.
std::vector<SqlWords> words_of_statements(std::string_view text, const SqlSyntax& syntax);
// Of its first statement; empty if that begins with none. A query may begin with its parenthesis.
std::string first_word(std::string_view text, const SqlSyntax& syntax);
std::string_view first_word(const SqlWords& words);

// The length of what the text begins with and what is no part of its structure: a comment, a quoted
// text or name. 0: nothing of this kind.
std::size_t comment_length(std::string_view text, const SqlSyntax& syntax);
std::size_t quoted_length(std::string_view text, const SqlSyntax& syntax);

}  // namespace weft::data
