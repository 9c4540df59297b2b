// UTF-8 as the WHATWG Encoding Standard decodes it: no surrogates, nothing above U+10FFFF, no
// sequence longer than it must be.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::http::wire {

// Validates a text that comes in parts. It fails as early as possible: at the first byte that no
// valid text could have there. Owned by one fiber at a time; the functions are for any thread.
class Utf8Validator {
public:
    // False from the first wrong byte on.
    [[nodiscard]] bool add(std::string_view part);
    // Whether the text may end here, or a character is incomplete.
    bool is_complete() const { return needed_ == 0; }
    void reset() { *this = Utf8Validator(); }

private:
    bool add_byte(std::uint8_t byte);

    std::uint8_t needed_ = 0;    // bytes that the character still lacks
    std::uint8_t lower_ = 0x80;  // bounds of the next of them
    std::uint8_t upper_ = 0xbf;
    bool failed_ = false;
};

bool is_utf8(std::string_view text);

// Appends the text to `out`, with U+FFFD in place of each maximal part of an invalid character.
void append_with_replacement(std::string& out, std::string_view text);

}  // namespace weft::http::wire
