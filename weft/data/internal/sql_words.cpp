#include "weft/data/internal/sql_words.h"

#include <algorithm>
#include <utility>

#include "weft/base/assert.h"

namespace weft::data {
namespace {

constexpr std::string_view kBlanks = " \t\r\n\f\v";

bool is_blank(char c) { return kBlanks.find(c) != std::string_view::npos; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lower_text(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(), lower);
    return result;
}

// NB: there are blanks beyond ASCII too, which only PostgreSQL takes for letters.
bool begins_word(char c, const SqlSyntax& syntax) {
    bool is_letter = lower(c) >= 'a' && lower(c) <= 'z';
    return is_letter || c == '_' || (syntax.dollar_quotes && static_cast<unsigned char>(c) >= 0x80);
}
bool continues_word(char c, const SqlSyntax& syntax) {
    return begins_word(c, syntax) || is_digit(c) || c == '$';
}

// The length up to and including the closing quote; a doubled quote does not close.
std::size_t length_to_quote(std::string_view text, char quote, bool has_backslashes) {
    WEFT_DASSERT(!text.empty(), "the text begins with the opening quote");
    for (std::size_t at = 1; at < text.size(); ++at) {
        if (has_backslashes && text[at] == '\\') {
            ++at;
        } else if (text[at] == quote) {
            if (at + 1 == text.size() || text[at + 1] != quote) return at + 1;
            ++at;
        }
    }
    return text.size();
}

std::size_t dollar_length(std::string_view text, const SqlSyntax& syntax) {
    WEFT_DASSERT(text.starts_with('$'), "the caller has found the dollar");
    std::size_t end = 1;
    while (end < text.size() && text[end] != '$' && continues_word(text[end], syntax)) ++end;
    if (end == text.size() || text[end] != '$' || is_digit(text[1])) return 0;
    std::string_view tag = text.substr(0, end + 1);
    std::size_t close = text.find(tag, tag.size());
    return close == std::string_view::npos ? text.size() : close + tag.size();
}

// A string that is continued after a line end keeps its backslash escapes.
std::size_t escaped_length(std::string_view text) {
    std::size_t length = 0;
    WEFT_DASSERT(text.starts_with('\''), "the caller has found the quote");
    for (;;) {
        length += length_to_quote(text.substr(length), '\'', true);
        std::size_t next = std::min(text.find_first_not_of(kBlanks, length), text.size());
        bool has_line_end =
            text.substr(length, next - length).find_first_of("\r\n") != std::string_view::npos;
        if (!has_line_end || next == text.size() || text[next] != '\'') return length;
        length = next;
    }
}

std::size_t number_length(std::string_view text) {
    WEFT_DASSERT(!text.empty() && is_digit(text.front()), "the caller has found a digit");
    auto digits = [&](std::size_t at) {
        while (at < text.size() && (is_digit(text[at]) || text[at] == '.')) ++at;
        return at;
    };
    std::size_t end = digits(0);
    if (end == text.size() || lower(text[end]) != 'e') return end;
    std::size_t exponent = end + 1;
    if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-')) ++exponent;
    return exponent < text.size() && is_digit(text[exponent]) ? digits(exponent) : end;
}

// Splits a text into pieces.
class WordReader {
public:
    WordReader(std::string_view text, const SqlSyntax& syntax) : rest_(text), syntax_(syntax) {}

    std::vector<SqlWords> read_all() {
        while (!rest_.empty()) take_piece();
        end_statement();
        return std::move(statements_);
    }
    // The first word of the first statement.
    std::string read_first() {
        while (!rest_.empty() && words_.empty() && statements_.empty()) take_piece();
        WEFT_DASSERT(statements_.empty() || (statements_.size() == 1 && words_.empty()),
                     "only the first statement is read");
        if (!words_.empty()) end_statement();
        return statements_.empty() ? "" : std::string(first_word(statements_.front()));
    }

private:
    void drop(std::size_t length) {
        WEFT_DASSERT(length > 0 && length <= rest_.size(), "a piece is part of what remains");
        rest_.remove_prefix(length);
    }

    void take_piece() {
        char first = rest_.front();
        if (is_blank(first)) return drop(1);
        if (std::size_t length = comment_length(rest_, syntax_)) return drop(length);
        if (first == ';') {
            drop(1);
            return end_statement();
        }
        has_text_ = true;
        if (std::size_t length = quoted_length(rest_, syntax_)) return take_quoted(length);
        if (is_digit(first)) return drop(number_length(rest_));
        bool is_marked = syntax_.marks.find(first) != std::string_view::npos;
        if (is_marked || begins_word(first, syntax_)) return take_word();
        if (rest_.starts_with(":=")) words_.push_back({":="});
        // The "*/" that ends a "/*!" must not begin another comment with its "*" or "/".
        bool is_pair =
            rest_.starts_with(":=") || (syntax_.mariadb_comments && rest_.starts_with("*/"));
        drop(is_pair ? 2 : 1);
    }

    void take_quoted(std::size_t length) {
        bool is_name = rest_.front() != '\'' && rest_.front() != '$';
        std::string_view inside = rest_.substr(1, std::max<std::size_t>(length, 2) - 2);
        if (is_name) words_.push_back({lower_text(inside), true});
        drop(length);
    }

    void take_word() {
        std::size_t end = std::min(rest_.find_first_not_of(syntax_.marks), rest_.size());
        while (end < rest_.size() && continues_word(rest_[end], syntax_)) ++end;
        std::string word = lower_text(rest_.substr(0, end));
        drop(end);
        if (syntax_.dollar_quotes && word == "e" && rest_.starts_with('\''))
            return drop(escaped_length(rest_));
        words_.push_back({std::move(word)});
    }

    void end_statement() {
        WEFT_DASSERT(has_text_ || words_.empty(), "a statement with words has text");
        if (has_text_) statements_.push_back(std::move(words_));
        words_.clear();
        has_text_ = false;
    }

    std::string_view rest_;
    const SqlSyntax& syntax_;
    std::vector<SqlWords> statements_;
    SqlWords words_;
    bool has_text_ = false;
};

}  // namespace

std::size_t comment_length(std::string_view text, const SqlSyntax& syntax) {
    auto line = [&] { return std::min(text.find_first_of("\r\n"), text.size()); };
    if (syntax.mariadb_comments && text.starts_with('#')) return line();
    if (text.starts_with("--")) {
        bool is_sign =
            syntax.mariadb_comments && text.size() > 2 && static_cast<unsigned char>(text[2]) > ' ';
        return is_sign ? 0 : line();
    }
    if (!text.starts_with("/*")) return 0;
    bool is_code = text.starts_with("/*!") || text.starts_with("/*M!");
    if (syntax.mariadb_comments && is_code) return 0;
    std::size_t depth = 1;
    for (std::size_t at = 2; at < text.size(); ++at) {
        std::string_view sign = text.substr(at, 2);
        WEFT_DASSERT(depth > 0, "the comment has not ended");
        if (sign == "*/") {
            if (--depth == 0) return at + 2;
            ++at;
        } else if (syntax.nested_comments && sign == "/*") {
            ++depth;
            ++at;
        }
    }
    return text.size();
}

std::size_t quoted_length(std::string_view text, const SqlSyntax& syntax) {
    switch (text.empty() ? '\0' : text.front()) {
    case '\'': return length_to_quote(text, '\'', syntax.backslashes);
    case '"': return length_to_quote(text, '"', false);
    case '`': return syntax.backticks ? length_to_quote(text, '`', false) : 0;
    case '[': return syntax.brackets ? length_to_quote(text, ']', false) : 0;
    case '$': return syntax.dollar_quotes ? dollar_length(text, syntax) : 0;
    default: return 0;
    }
}

std::vector<SqlWords> words_of_statements(std::string_view text, const SqlSyntax& syntax) {
    return WordReader(text, syntax).read_all();
}

std::string first_word(std::string_view text, const SqlSyntax& syntax) {
    return WordReader(text, syntax).read_first();
}

std::string_view first_word(const SqlWords& words) {
    return words.empty() || words.front().is_quoted ? std::string_view() : words.front().text;
}

}  // namespace weft::data
