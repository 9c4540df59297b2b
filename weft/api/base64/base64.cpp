#include "weft/api/base64/base64.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace weft::api {

namespace {

constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kInvalid = 0xFF;
constexpr std::uint8_t kSpace = 0xFE;

constexpr auto kValues = [] {
    std::array<std::uint8_t, 256> values;
    values.fill(kInvalid);
    for (std::uint8_t digit = 0; digit < 64; ++digit)
        values[static_cast<unsigned char>(kDigits[digit])] = digit;
    for (char c : {'\t', '\n', '\f', '\r', ' '}) values[static_cast<unsigned char>(c)] = kSpace;
    return values;
}();

std::uint8_t value_of(char c) { return kValues[static_cast<unsigned char>(c)]; }

}  // namespace

std::string base64_encode(std::string_view bytes) {
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
        std::uint32_t group = 0;
        for (std::size_t byte = 0; byte < 3; ++byte)
            group = group << 8 | (byte < count ? static_cast<unsigned char>(bytes[at + byte]) : 0);
        for (std::size_t digit = 0; digit < 4; ++digit)
            text += digit <= count ? kDigits[group >> (18 - 6 * digit) & 63] : '=';
    }
    return text;
}

std::optional<std::string> base64_decode(std::string_view text) {
    std::string bytes;
    bytes.reserve(text.size() / 4 * 3 + 3);
    std::uint32_t group = 0;
    std::size_t digits = 0;   // read so far, without white space
    std::size_t padding = 0;  // "=" read so far
    for (char c : text) {
        std::uint8_t value = value_of(c);
        if (value == kSpace) continue;
        if (c == '=') {
            ++padding;
            continue;
        }
        if (value == kInvalid || padding > 0) return std::nullopt;
        group = group << 6 | value;
        if (++digits % 4 != 0) continue;
        for (int shift = 16; shift >= 0; shift -= 8) bytes += static_cast<char>(group >> shift);
        group = 0;
    }
    // 2. If data's code point length divides by 4 leaving no remainder, then: if data ends with one
    //    or two U+003D (=) code points, then remove them from data.
    // 3. If data's code point length divides by 4 leaving a remainder of 1, then return failure.
    // 4. If data contains a code point that is not ... (U+003D among them), then return failure.
    std::size_t rest = digits % 4;
    if (rest == 1) return std::nullopt;
    if (padding > 0 && (padding > 2 || (digits + padding) % 4 != 0)) return std::nullopt;
    if (rest == 2) bytes += static_cast<char>(group >> 4);
    if (rest == 3) {
        bytes += static_cast<char>(group >> 10);
        bytes += static_cast<char>(group >> 2);
    }
    return bytes;
}

}  // namespace weft::api
