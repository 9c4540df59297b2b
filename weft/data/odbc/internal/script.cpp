#include "weft/data/odbc/internal/script.h"

#include <algorithm>
#include <utility>

#include "weft/base/assert.h"

namespace weft::data::odbc {
namespace {

constexpr std::string_view kBlanks = " \t\r\n\f\v";

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_word(char c) {
    c = lower(c);
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

std::string lower_text(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(), lower);
    return result;
}

// Reads a text statement by statement.
class Splitter {
public:
    Splitter(std::string_view text, const SqlSyntax& syntax) : rest_(text), syntax_(syntax) {}

    std::vector<std::string> split() {
        while (!rest_.empty()) {
            if (std::size_t length = comment_length(rest_, syntax_)) {
                take(length, true);
            } else if (length = quoted_length(rest_, syntax_); length > 0) {
                take(length, false);
            } else if (is_word(rest_.front())) {
                take_word();
            } else if (rest_.front() == ';' && depth_ == 0) {
                end_statement();
                rest_.remove_prefix(1);
            } else {
                take(1, kBlanks.find(rest_.front()) != std::string_view::npos);
            }
        }
        end_statement();
        return std::move(statements_);
    }

private:
    void take(std::size_t length, bool is_blank) {
        WEFT_DASSERT(length > 0 && length <= rest_.size(), "a piece is part of what remains");
        // Comments before a statement are dropped: a driver may take a semicolon in one for a
        // separator.
        if (has_text_ || !is_blank) current_.append(rest_.substr(0, length));
        rest_.remove_prefix(length);
        has_text_ |= !is_blank;
    }

    // The body of a trigger or routine contains semicolons within begin ... end and case ... end.
    void take_word() {
        auto end = std::ranges::find_if_not(rest_, is_word);
        std::string word =
            lower_text(rest_.substr(0, static_cast<std::size_t>(end - rest_.begin())));
        if (!has_text_) is_create_ = word == "create" || word == "alter";
        if (is_create_ && (word == "trigger" || word == "procedure" || word == "function"))
            has_body_ = true;
        // "end if" and "end loop" close blocks that were not counted.
        bool closes_other = last_word_ == "end" &&
                            (word == "if" || word == "loop" || word == "while" || word == "repeat");
        if (has_body_ && (word == "begin" || word == "case") && last_word_ != "end") ++depth_;
        if (has_body_ && word == "end" && depth_ > 0) --depth_;
        if (has_body_ && closes_other) ++depth_;
        last_word_ = word;
        take(word.size(), false);
    }

    void end_statement() {
        WEFT_DASSERT(has_text_ || current_.empty(), "what precedes a statement is dropped");
        WEFT_DASSERT(depth_ >= 0, "only open blocks are closed");
        if (has_text_) statements_.push_back(std::move(current_));
        current_.clear();
        last_word_.clear();
        has_text_ = is_create_ = has_body_ = false;
        depth_ = 0;
    }

    std::string_view rest_;
    const SqlSyntax& syntax_;
    std::vector<std::string> statements_;
    std::string current_;
    std::string last_word_;
    bool has_text_ = false;
    bool is_create_ = false;
    bool has_body_ = false;
    int depth_ = 0;
};

}  // namespace

std::vector<std::string> split_script(std::string_view text, const SqlSyntax& syntax) {
    return Splitter(text, syntax).split();
}

}  // namespace weft::data::odbc
