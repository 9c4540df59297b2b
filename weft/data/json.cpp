#include "weft/data/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "weft/base/assert.h"

namespace weft::data {
namespace {

template <class Number>
void append_number(std::string& text, Number number) {
    char digits[32];
    auto [end, error] = std::to_chars(digits, digits + sizeof digits, number);
    WEFT_ASSERT(error == std::errc(), "32 characters hold every number");
    text.append(digits, end);
}

void append_base64(std::string& text, std::string_view bytes) {
    constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::size_t begin = text.size();
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        std::uint32_t three = 0;
        std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
        for (std::size_t i = 0; i < 3; ++i) {
            three <<= 8;
            if (i < count) three |= static_cast<unsigned char>(bytes[at + i]);
        }
        for (std::size_t i = 0; i < 4; ++i) {
            char digit = kDigits[three >> (18 - 6 * i) & 63];
            text.push_back(i <= count ? digit : '=');
        }
    }
    WEFT_ASSERT(text.size() - begin == (bytes.size() + 2) / 3 * 4, "four digits for three bytes");
}

// A JSON string contains no raw line end, so every line end is whitespace between tokens.
void append_on_one_line(std::string& text, std::string_view json) {
    std::size_t begin = text.size();
    text.append(json);
    auto is_line_end = [](char c) { return c == '\n' || c == '\r'; };
    std::replace_if(text.begin() + static_cast<std::ptrdiff_t>(begin), text.end(), is_line_end,
                    ' ');
}

}  // namespace

void append_json_string(std::string& text, std::string_view utf8) {
    constexpr char kHexadecimal[] = "0123456789abcdef";
    text.push_back('"');
    std::size_t begin = 0;
    for (std::size_t at = 0; at < utf8.size(); ++at) {
        auto c = static_cast<unsigned char>(utf8[at]);
        if (c >= 0x20 && c != '"' && c != '\\') continue;
        text.append(utf8, begin, at - begin);
        begin = at + 1;
        switch (c) {
        case '"': text.append("\\\""); break;
        case '\\': text.append("\\\\"); break;
        case '\n': text.append("\\n"); break;
        case '\r': text.append("\\r"); break;
        case '\t': text.append("\\t"); break;
        default:
            text.append("\\u00");
            text.push_back(kHexadecimal[c >> 4]);
            text.push_back(kHexadecimal[c & 15]);
        }
    }
    text.append(utf8, begin);
    text.push_back('"');
}

void append_json(std::string& text, const Value& value) {
    switch (value.type()) {
    case Type::Null: text.append("null"); return;
    case Type::Boolean: text.append(value.boolean() ? "true" : "false"); return;
    case Type::Integer: append_number(text, value.integer()); return;
    case Type::Real:
        if (std::isfinite(value.real()))
            append_number(text, value.real());
        else
            text.append("null");
        return;
    case Type::Json: append_on_one_line(text, value.text()); return;
    case Type::Bytes:
        text.push_back('"');
        append_base64(text, value.text());
        text.push_back('"');
        return;
    case Type::Array:
        text.push_back('[');
        for (std::size_t at = 0; at < value.items().size(); ++at) {
            if (at > 0) text.push_back(',');
            append_json(text, value.items()[at]);
        }
        text.push_back(']');
        return;
    default: append_json_string(text, value.text()); return;
    }
}

void append_json(std::string& text, const Row& row) {
    text.push_back('{');
    for (std::size_t at = 0; at < row.size(); ++at) {
        if (at > 0) text.push_back(',');
        append_json_string(text, row.columns()[at].name);
        text.push_back(':');
        append_json(text, row[at]);
    }
    text.push_back('}');
}

}  // namespace weft::data
