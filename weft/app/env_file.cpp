#include "weft/app/env_file.h"

#include <algorithm>
#include <optional>

#include "weft/base/format.h"

namespace weft::app {
namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string_view trimmed(std::string_view text) {
    std::size_t begin = text.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

bool is_name(std::string_view name) {
    auto is_letter = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    };
    auto is_part = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '.'; };
    return !name.empty() && is_letter(name[0]) && std::ranges::all_of(name, is_part);
}

// Replaces the escapes in the inside of a double-quoted text.
std::string unescaped(std::string_view text) {
    std::string result;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] != '\\' || at + 1 == text.size()) {
            result += text[at];
            continue;
        }
        char c = text[++at];
        switch (c) {
        case 'n': result += '\n'; break;
        case 'r': result += '\r'; break;
        case 't': result += '\t'; break;
        default: result += c; break;
        }
    }
    return result;
}

// Empty if a quote is not closed, or something follows the closing quote.
std::optional<std::string> value_of(std::string_view text) {
    if (!text.starts_with('"') && !text.starts_with('\'')) {
        std::size_t comment = text.find(" #");
        return std::string(trimmed(text.substr(0, comment)));
    }
    char quote = text[0];
    std::size_t end = 1;
    while (end < text.size() && text[end] != quote) {
        end += quote == '"' && text[end] == '\\' ? 2 : 1;
    }
    if (end >= text.size()) return {};
    std::string_view behind = trimmed(text.substr(end + 1));
    if (!behind.empty() && !behind.starts_with('#')) return {};
    std::string_view inside = text.substr(1, end - 1);
    return quote == '"' ? unescaped(inside) : std::string(inside);
}

}  // namespace

Result<Environment> parse_env_file(std::string_view text, const std::string& file) {
    Environment result;
    std::size_t number = 0;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = std::min(text.find('\n', at), text.size());
        std::string_view line = trimmed(text.substr(at, end - at));
        at = end + 1;
        ++number;
        if (line.empty() || line.starts_with('#')) continue;
        if (line.starts_with("export ")) line = trimmed(line.substr(7));
        std::size_t equals = line.find('=');
        std::string_view name = trimmed(line.substr(0, equals));
        if (equals == std::string_view::npos || !is_name(name)) {
            return Error(ErrorKind::Misuse,
                         format("{}:{}: a line is NAME=value, or begins with #", file, number));
        }
        std::optional<std::string> value = value_of(trimmed(line.substr(equals + 1)));
        if (!value) {
            return Error(ErrorKind::Misuse,
                         format("{}:{}: {}: a quote is not closed, or something stands behind it",
                                file, number, name));
        }
        std::erase_if(result, [&](const auto& other) { return other.first == name; });
        result.emplace_back(name, std::move(*value));
    }
    return result;
}

Result<Environment> load_env_file(const std::string& file) {
    std::string text = WEFT_TRY(read_text(file));
    return parse_env_file(text, file);
}

void add_missing(Environment& into, const Environment& from) {
    for (const auto& [name, value] : from) {
        auto same = std::ranges::find(into, name, &Environment::value_type::first);
        if (same == into.end()) into.emplace_back(name, value);
    }
}

}  // namespace weft::app
