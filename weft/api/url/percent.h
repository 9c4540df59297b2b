// Percent-encoding of the URL standard (https://url.spec.whatwg.org/#percent-encoded-bytes).
//
// Texts are UTF-8. A set names the ASCII characters that are encoded; characters outside ASCII are
// encoded under every set. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::api {

// 128 flags: bit c is set when the ASCII character c is percent-encoded.
class PercentEncodeSet {
public:
    consteval PercentEncodeSet() {
        for (unsigned c = 0; c < 0x20; ++c) add(c);
        add(0x7F);
    }
    consteval PercentEncodeSet with(std::string_view characters) const {
        PercentEncodeSet set = *this;
        for (char c : characters) set.add(static_cast<unsigned char>(c));
        return set;
    }
    constexpr bool has(unsigned char c) const {
        return c >= 0x80 || (words_[c / 64] >> c % 64 & 1) != 0;
    }

private:
    consteval void add(unsigned c) { words_[c / 64] |= std::uint64_t{1} << c % 64; }
    std::array<std::uint64_t, 2> words_{};
};

inline constexpr PercentEncodeSet kC0ControlSet{};
inline constexpr PercentEncodeSet kFragmentSet = kC0ControlSet.with(" \"<>`");
inline constexpr PercentEncodeSet kQuerySet = kC0ControlSet.with(" \"#<>");
inline constexpr PercentEncodeSet kSpecialQuerySet = kQuerySet.with("'");
inline constexpr PercentEncodeSet kPathSet = kQuerySet.with("?^`{}");
inline constexpr PercentEncodeSet kUserinfoSet = kPathSet.with("/:;=@[\\]|");

// Appends the byte as %XX.
void append_percent_encoded(unsigned char byte, std::string& to);
// Appends `text`; the characters in `set` are encoded.
void append_encoded(std::string_view text, const PercentEncodeSet& set, std::string& to);
// Replaces every %XX by its byte; everything else is left unchanged.
std::string percent_decoded(std::string_view text);

// The value of a hexadecimal digit, or -1.
constexpr int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

}  // namespace weft::api
