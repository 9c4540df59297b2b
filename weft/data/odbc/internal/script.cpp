#include "weft/data/odbc/internal/script.h"

#include <algorithm>
#include <utility>

namespace weft::data::odbc {
namespace {

constexpr std::string_view kBlanks = " \t\r\n\f\v";

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_word(char c) {
    c = lower(c);
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

// The length of what stands at the beginning and is no part of the statement's structure: a quoted
// text or name, a comment. 0: nothing of this kind.
std::size_t opaque_length(std::string_view text) {
    auto until = [&](std::string_view end, std::size_t from) {
        std::size_t at = text.find(end, from);
        return at == std::string_view::npos ? text.size() : at + end.size();
    };
    if (text.starts_with("--")) return until("\n", 2);
    if (text.starts_with("/*")) return until("*/", 2);
    char first = text.empty() ? '\0' : text.front();
    // A doubled quote inside ends one and begins another, which is the same.
    if (first == '\'' || first == '"' || first == '`') return until(text.substr(0, 1), 1);
    return first == '[' ? until("]", 1) : 0;
}

// Reads a text statement by statement.
class Splitter {
public:
    explicit Splitter(std::string_view text) : rest_(text) {}

    std::vector<std::string> split() {
        while (!rest_.empty()) {
            if (std::size_t length = opaque_length(rest_)) {
                bool is_comment = rest_.starts_with("--") || rest_.starts_with("/*");
                take(length, is_comment);
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
        // What stands before a statement is left out: a driver may take a semicolon in it for one.
        if (has_text_ || !is_blank) current_.append(rest_.substr(0, length));
        rest_.remove_prefix(length);
        has_text_ |= !is_blank;
    }

    // begin ... end of a trigger or a routine, and case ... end in it, have semicolons inside.
    void take_word() {
        auto end = std::ranges::find_if_not(rest_, is_word);
        std::string word =
            lower_text(rest_.substr(0, static_cast<std::size_t>(end - rest_.begin())));
        if (!has_text_) is_create_ = word == "create" || word == "alter";
        if (is_create_ && (word == "trigger" || word == "procedure" || word == "function"))
            has_body_ = true;
        // "end if" and "end loop" close what was not counted.
        bool closes_other = last_word_ == "end" &&
                            (word == "if" || word == "loop" || word == "while" || word == "repeat");
        if (has_body_ && (word == "begin" || word == "case") && last_word_ != "end") ++depth_;
        if (has_body_ && word == "end" && depth_ > 0) --depth_;
        if (has_body_ && closes_other) ++depth_;
        last_word_ = word;
        take(word.size(), false);
    }

    void end_statement() {
        if (has_text_) statements_.push_back(std::move(current_));
        current_.clear();
        last_word_.clear();
        has_text_ = is_create_ = has_body_ = false;
        depth_ = 0;
    }

    std::string_view rest_;
    std::vector<std::string> statements_;
    std::string current_;
    std::string last_word_;
    bool has_text_ = false;
    bool is_create_ = false;
    bool has_body_ = false;
    int depth_ = 0;
};

}  // namespace

std::string lower_text(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(), lower);
    return result;
}

std::string first_word(std::string_view text) {
    for (;;) {
        text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
        if (!text.starts_with("--") && !text.starts_with("/*")) break;
        text.remove_prefix(opaque_length(text));
    }
    // A query may begin with its parenthesis.
    if (text.starts_with('(')) return "select";
    auto end = std::ranges::find_if_not(text, is_word);
    return lower_text(text.substr(0, static_cast<std::size_t>(end - text.begin())));
}

std::vector<std::string> split_script(std::string_view text) { return Splitter(text).split(); }

}  // namespace weft::data::odbc
