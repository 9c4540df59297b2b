#include "weft/data/odbc/internal/wide.h"

#include <cstdint>

#include "weft/base/assert.h"

namespace weft::data::odbc {
namespace {

constexpr std::uint32_t kHighFirst = 0xd800;
constexpr std::uint32_t kLowFirst = 0xdc00;
constexpr std::uint32_t kSurrogatesEnd = 0xe000;
constexpr std::uint32_t kPairsFirst = 0x10000;
constexpr std::uint32_t kReplacement = 0xfffd;
constexpr std::uint32_t kCodeMax = 0x10ffff;

void append(std::string& text, std::uint32_t code) {
    WEFT_DASSERT(code <= kCodeMax, "two surrogates give no larger code point");
    auto put = [&](std::uint32_t byte) { text.push_back(static_cast<char>(byte)); };
    if (code < 0x80) {
        put(code);
    } else if (code < 0x800) {
        put(0xc0 | (code >> 6));
        put(0x80 | (code & 0x3f));
    } else if (code < kPairsFirst) {
        put(0xe0 | (code >> 12));
        put(0x80 | ((code >> 6) & 0x3f));
        put(0x80 | (code & 0x3f));
    } else {
        put(0xf0 | (code >> 18));
        put(0x80 | ((code >> 12) & 0x3f));
        put(0x80 | ((code >> 6) & 0x3f));
        put(0x80 | (code & 0x3f));
    }
}

bool is_in(std::uint32_t unit, std::uint32_t first, std::uint32_t end) {
    return unit >= first && unit < end;
}

}  // namespace

Wide to_wide(std::string_view text) {
    Wide wide;
    wide.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        auto byte = [&](std::size_t offset) {
            return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at + offset]));
        };
        std::uint32_t first = byte(0);
        std::size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
        if (at + length > text.size()) break;
        std::uint32_t code = length == 1 ? first : first & (0xffU >> (length + 1));
        for (std::size_t offset = 1; offset < length; ++offset)
            code = code << 6 | (byte(offset) & 0x3f);
        at += length;
        if (code < kPairsFirst) {
            wide.push_back(static_cast<SQLWCHAR>(code));
            continue;
        }
        code -= kPairsFirst;
        wide.push_back(static_cast<SQLWCHAR>(kHighFirst + (code >> 10)));
        wide.push_back(static_cast<SQLWCHAR>(kLowFirst + (code & 0x3ff)));
    }
    return wide;
}

namespace {

// Whether all of it was text.
bool convert(std::span<const SQLWCHAR> wide, std::string& text) {
    bool whole = true;
    text.reserve(wide.size());
    for (std::size_t at = 0; at < wide.size(); ++at) {
        std::uint32_t unit = wide[at];
        if (!is_in(unit, kHighFirst, kSurrogatesEnd)) {
            append(text, unit);
            continue;
        }
        bool is_pair = unit < kLowFirst && at + 1 < wide.size() &&
                       is_in(wide[at + 1], kLowFirst, kSurrogatesEnd);
        if (is_pair) {
            std::uint32_t low = wide[++at] - kLowFirst;
            append(text, kPairsFirst + ((unit - kHighFirst) << 10) + low);
        } else {
            append(text, kReplacement);
            whole = false;
        }
    }
    return whole;
}

}  // namespace

std::optional<std::string> from_wide(std::span<const SQLWCHAR> wide) {
    std::string text;
    if (!convert(wide, text)) return std::nullopt;
    return text;
}

std::string shown(std::span<const SQLWCHAR> wide) {
    std::string text;
    static_cast<void>(convert(wide, text));
    return text;
}

}  // namespace weft::data::odbc
