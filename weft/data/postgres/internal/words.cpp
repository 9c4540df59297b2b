#include "weft/data/postgres/internal/words.h"

#include <algorithm>
#include <array>
#include <string>

namespace weft::data::postgres {
namespace {

constexpr std::string_view kBlanks = " \t\r\n\f\v";

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lower_text(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(), lower);
    return result;
}

// Without blanks and comments in front. A comment inside a comment is not seen through.
std::string_view without_front(std::string_view text) {
    for (;;) {
        text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
        bool is_line = text.starts_with("--");
        if (!is_line && !text.starts_with("/*")) return text;
        std::size_t end = text.find(is_line ? "\n" : "*/", 2);
        if (end == std::string_view::npos) return {};
        text.remove_prefix(end + (is_line ? 1 : 2));
    }
}

// In lower case; "?" if there is none, nor the parenthesis of a query.
std::string first_word(std::string_view text) {
    text = without_front(text);
    if (text.starts_with('(')) return "select";
    std::size_t end = 0;
    while (end < text.size() && lower(text[end]) >= 'a' && lower(text[end]) <= 'z') ++end;
    return end == 0 ? "?" : lower_text(text.substr(0, end));
}

template <std::size_t Count>
bool contains(const std::array<std::string_view, Count>& words, std::string_view word) {
    return std::ranges::find(words, word) != words.end();
}

}  // namespace

bool may_change_session(std::string_view text) {
    // The common ones cannot, but for the functions below.
    constexpr std::array<std::string_view, 8> kHarmless = {"select", "insert", "update", "delete",
                                                           "with",   "values", "table",  "merge"};
    if (!contains(kHarmless, first_word(text))) return true;
    std::string all = lower_text(text);
    constexpr std::array<std::string_view, 4> kFunctions = {"set_config", "advisory_lock", "temp",
                                                            "dblink"};
    return std::ranges::any_of(kFunctions, [&](std::string_view function) {
        return all.find(function) != std::string::npos;
    });
}

bool only_reads(std::string_view text) {
    constexpr std::array<std::string_view, 3> kReading = {"select", "values", "table"};
    return contains(kReading, first_word(text));
}

bool changes_settings(std::string_view text) {
    constexpr std::array<std::string_view, 9> kWords = {
        "set", "reset", "discard", "begin", "start", "commit", "end", "rollback", "?"};
    return contains(kWords, first_word(text));
}

bool has_several_commands(std::string_view text) {
    std::size_t semicolon = text.find(';');
    if (semicolon == std::string_view::npos) return false;
    return text.find_first_not_of(std::string(kBlanks) + ";", semicolon) != std::string_view::npos;
}

}  // namespace weft::data::postgres
