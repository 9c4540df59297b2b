#include "weft/http/wire/utf8.h"

#include <cstddef>
#include <cstring>

#include "weft/base/assert.h"

namespace weft::http::wire {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// How many bytes at the beginning are certainly ASCII; the next few may be, too.
std::size_t ascii_prefix(std::string_view text) {
    constexpr std::uint64_t kHighBits = 0x8080808080808080;
    std::size_t count = 0;
    for (; text.size() - count >= 16; count += 16) {
        std::uint64_t words[2];
        std::memcpy(words, text.data() + count, sizeof words);
        if (((words[0] | words[1]) & kHighBits) != 0) break;
    }
    return count;
}

}  // namespace

// https://encoding.spec.whatwg.org/#utf-8-decoder
bool Utf8Validator::add_byte(std::uint8_t byte) {
    WEFT_DASSERT(needed_ <= 3 && lower_ <= upper_);
    if (needed_ != 0) {
        if (byte < lower_ || byte > upper_) return false;
        lower_ = 0x80;
        upper_ = 0xbf;
        --needed_;
        return true;
    }
    if (byte < 0x80) return true;
    if (byte >= 0xc2 && byte <= 0xdf) {
        needed_ = 1;
    } else if (byte >= 0xe0 && byte <= 0xef) {
        if (byte == 0xe0) lower_ = 0xa0;  // else it were too long
        if (byte == 0xed) upper_ = 0x9f;  // else it were a surrogate
        needed_ = 2;
    } else if (byte >= 0xf0 && byte <= 0xf4) {
        if (byte == 0xf0) lower_ = 0x90;  // else it were too long
        if (byte == 0xf4) upper_ = 0x8f;  // else it were above U+10FFFF
        needed_ = 3;
    } else {
        return false;
    }
    return true;
}

bool Utf8Validator::add(std::string_view part) {
    if (failed_) return false;
    while (!part.empty()) {
        if (needed_ == 0) {
            part.remove_prefix(ascii_prefix(part));
            if (part.empty()) return true;
        }
        // Up to the end of a character, then perhaps ASCII comes again.
        std::size_t count = part.size() < 16 ? part.size() : 16;
        for (std::size_t i = 0; i < count; ++i) {
            if (add_byte(static_cast<std::uint8_t>(part[i]))) continue;
            failed_ = true;
            return false;
        }
        part.remove_prefix(count);
    }
    return true;
}

bool is_utf8(std::string_view text) {
    Utf8Validator validator;
    return validator.add(text) && validator.is_complete();
}

void append_with_replacement(std::string& out, std::string_view text) {
    if (is_utf8(text)) {
        out += text;
        return;
    }
    std::string_view rest = text;
    while (!rest.empty()) {
        // The longest beginning of a character, or the whole of one.
        Utf8Validator validator;
        std::size_t count = 0;
        bool whole = false;
        while (count < rest.size() && validator.add(rest.substr(count, 1))) {
            ++count;
            whole = validator.is_complete();
            if (whole) break;
        }
        out += whole ? rest.substr(0, count) : kReplacement;
        rest.remove_prefix(count == 0 ? 1 : count);
    }
}

}  // namespace weft::http::wire
