#include "weft/api/encoding/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace weft::api {

namespace {

// What must follow a lead byte: the number of bytes, and the range of the first one.
struct Lead {
    std::size_t needed;
    std::uint8_t lower = 0x80;
    std::uint8_t upper = 0xBF;
};

// `needed` is 0 for a byte that cannot be a lead byte.
constexpr Lead lead_of(std::uint8_t byte) {
    if (byte >= 0xC2 && byte <= 0xDF) return {1};
    if (byte == 0xE0) return {2, 0xA0, 0xBF};
    if (byte == 0xED) return {2, 0x80, 0x9F};
    if (byte >= 0xE1 && byte <= 0xEF) return {2};
    if (byte == 0xF0) return {3, 0x90, 0xBF};
    if (byte == 0xF4) return {3, 0x80, 0x8F};
    if (byte >= 0xF1 && byte <= 0xF3) return {3};
    return {0};
}

// How many of the bytes after the lead at `at` are valid.
std::size_t matched(Bytes bytes, std::size_t at, const Lead& lead) {
    std::size_t count = 0;
    while (count < lead.needed && at + 1 + count < bytes.size()) {
        auto byte = static_cast<std::uint8_t>(bytes[at + 1 + count]);
        std::uint8_t lower = count == 0 ? lead.lower : 0x80;
        std::uint8_t upper = count == 0 ? lead.upper : 0xBF;
        if (byte < lower || byte > upper) break;
        ++count;
    }
    return count;
}

// The position of the first byte from `at` on that is not ASCII.
std::size_t skip_ascii(Bytes bytes, std::size_t at) {
    for (; at + 8 <= bytes.size(); at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + at, 8);
        if ((word & 0x8080808080808080) != 0) break;
    }
    while (at < bytes.size() && static_cast<std::uint8_t>(bytes[at]) < 0x80) ++at;
    return at;
}

}  // namespace

bool is_ascii(Bytes bytes) { return skip_ascii(bytes, 0) == bytes.size(); }

bool is_utf8(Bytes bytes) {
    for (std::size_t at = skip_ascii(bytes, 0); at < bytes.size(); at = skip_ascii(bytes, at)) {
        Lead lead = lead_of(static_cast<std::uint8_t>(bytes[at]));
        if (lead.needed == 0 || matched(bytes, at, lead) < lead.needed) return false;
        at += 1 + lead.needed;
    }
    return true;
}

std::size_t incomplete_tail(Bytes bytes) {
    for (std::size_t back = 1; back <= std::min<std::size_t>(3, bytes.size()); ++back) {
        std::size_t at = bytes.size() - back;
        Lead lead = lead_of(static_cast<std::uint8_t>(bytes[at]));
        if (lead.needed >= back) return matched(bytes, at, lead) == back - 1 ? back : 0;
        // A complete character or an invalid byte: nothing before it can be incomplete at the end.
        if ((static_cast<std::uint8_t>(bytes[at]) & 0xC0) != 0x80) return 0;
    }
    return 0;
}

}  // namespace weft::api
