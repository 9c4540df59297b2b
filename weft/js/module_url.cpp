#include "weft/js/module_url.h"

#include <vector>

#include "weft/base/assert.h"

namespace weft::js {
namespace {

constexpr std::string_view kHexDigits = "0123456789ABCDEF";

int hex_value(char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
    if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
    return -1;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// https://url.spec.whatwg.org/#path-percent-encode-set, and '%', as a path is not encoded yet.
bool needs_encoding(unsigned char c) {
    constexpr std::string_view kEncoded = " \"#<>?^`{}%\\";
    return c < 0x20 || c > 0x7e || kEncoded.find(static_cast<char>(c)) != std::string_view::npos;
}

}  // namespace

std::string normalized_path(std::string_view path) {
    std::vector<std::string_view> parts;
    bool is_folder = false;
    std::size_t at = 0;
    while (at <= path.size()) {
        std::size_t end = path.find('/', at);
        if (end == std::string_view::npos) end = path.size();
        std::string_view part = path.substr(at, end - at);
        is_folder = part.empty() || part == "." || part == "..";
        if (part == ".." && !parts.empty()) parts.pop_back();
        if (!is_folder) parts.push_back(part);
        at = end + 1;
    }
    std::string result;
    for (std::string_view part : parts) {
        result += '/';
        result += part;
    }
    if (is_folder || result.empty()) result += '/';
    WEFT_DASSERT(result.starts_with('/'), "paths are absolute");
    return result;
}

std::string_view folder_of(std::string_view path) {
    std::size_t slash = path.rfind('/');
    if (slash == std::string_view::npos || slash == 0) return "/";
    return path.substr(0, slash);
}

std::string join_path(std::string_view folder, std::string_view relative) {
    if (relative.starts_with('/')) return normalized_path(relative);
    std::string joined(folder);
    joined += '/';
    joined += relative;
    return normalized_path(joined);
}

std::string file_url(std::string_view path) {
    std::string url = "file://";
    for (char c : path) {
        auto byte = static_cast<unsigned char>(c);
        if (!needs_encoding(byte)) {
            url += c;
            continue;
        }
        url += '%';
        url += kHexDigits[byte >> 4];
        url += kHexDigits[byte & 15];
    }
    return url;
}

std::optional<std::string> percent_decoded(std::string_view text) {
    std::string result;
    result.reserve(text.size());
    for (std::size_t at = 0; at < text.size(); ++at) {
        int high = text[at] == '%' && at + 2 < text.size() ? hex_value(text[at + 1]) : -1;
        int low = high >= 0 ? hex_value(text[at + 2]) : -1;
        if (low < 0) {
            if (text[at] == '\0') return {};
            result += text[at];
            continue;
        }
        char byte = static_cast<char>(high * 16 + low);
        if (byte == '/' || byte == '\\' || byte == '\0') return {};
        result += byte;
        at += 2;
    }
    WEFT_DASSERT(result.size() <= text.size(), "three bytes become one");
    return result;
}

std::string_view scheme_of(std::string_view specifier) {
    std::size_t colon = specifier.find(':');
    if (colon == std::string_view::npos || colon == 0 || !is_letter(specifier[0])) return {};
    for (char c : specifier.substr(0, colon)) {
        bool is_digit = c >= '0' && c <= '9';
        if (!is_letter(c) && !is_digit && c != '+' && c != '-' && c != '.') return {};
    }
    return specifier.substr(0, colon);
}

bool is_relative_or_absolute(std::string_view specifier) {
    return specifier.starts_with('/') || specifier.starts_with("./") ||
           specifier.starts_with("../") || specifier == "." || specifier == "..";
}

PathAndSuffix split_suffix(std::string_view text) {
    std::size_t mark = text.find_first_of("?#");
    if (mark == std::string_view::npos) return {text, {}};
    return {text.substr(0, mark), text.substr(mark)};
}

}  // namespace weft::js
