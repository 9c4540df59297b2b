// The input is a character that selects the syntax, then an SQL text. Checks that every word comes
// from the text and contains no delimiter, and that no statement is made out of nothing.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "weft/base/assert.h"
#include "weft/data/internal/sql_words.h"

namespace weft::data {
namespace {

constexpr SqlSyntax kSyntaxes[] = {
    kPostgresSyntax,
    {.backticks = true, .backslashes = true, .mariadb_comments = true, .marks = "@"},
    {.brackets = true, .nested_comments = true, .marks = "@#"},
    {.brackets = true, .backticks = true},
};

void check(std::string_view text, const SqlSyntax& syntax) {
    WEFT_ASSERT(comment_length(text, syntax) <= text.size());
    WEFT_ASSERT(quoted_length(text, syntax) <= text.size());
    std::vector<SqlWords> statements = words_of_statements(text, syntax);
    auto semicolons = static_cast<std::size_t>(std::ranges::count(text, ';'));
    WEFT_ASSERT(statements.size() <= semicolons + 1);
    std::string_view first = statements.empty() ? "" : first_word(statements.front());
    WEFT_ASSERT(first_word(text, syntax) == first);
    std::size_t length = 0;
    for (const SqlWords& words : statements) {
        for (const SqlWord& word : words) {
            length += word.text.size();
            if (word.is_quoted) continue;
            WEFT_ASSERT(!word.text.empty());
            WEFT_ASSERT(word.text.find_first_of(";'\"()ABC \n") == std::string_view::npos);
        }
    }
    WEFT_ASSERT(length <= text.size());
}

}  // namespace
}  // namespace weft::data

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    using namespace weft::data;
    if (size == 0) return 0;
    check(std::string_view(reinterpret_cast<const char*>(bytes), size).substr(1),
          kSyntaxes[bytes[0] % std::size(kSyntaxes)]);
    return 0;
}
