#include "weft/api/url/ip.h"

#include <algorithm>
#include <charconv>
#include <cstddef>

#include "weft/api/url/percent.h"

namespace weft::api {

namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// https://url.spec.whatwg.org/#ipv4-number-parser; a value of more than 32 bits is returned as
// 2^32.
std::optional<std::uint64_t> parse_ipv4_number(std::string_view input) {
    if (input.empty()) return std::nullopt;
    unsigned base = 10;
    if (input.starts_with("0x") || input.starts_with("0X")) {
        input.remove_prefix(2);
        base = 16;
    } else if (input.size() >= 2 && input[0] == '0') {
        input.remove_prefix(1);
        base = 8;
    }
    std::uint64_t number = 0;
    for (char c : input) {
        int digit = hex_value(c);
        if (digit < 0 || static_cast<unsigned>(digit) >= base) return std::nullopt;
        number = std::min(number * base + static_cast<unsigned>(digit), std::uint64_t{1} << 32);
    }
    return number;
}

// The state of the IPv6 parser; `at` is the standard's "pointer".
struct Ipv6Reader {
    std::string_view input{};
    std::size_t at = 0;
    Ipv6Pieces pieces{};
    std::size_t piece = 0;
    std::optional<std::size_t> compress;

    bool ended() const { return at >= input.size(); }
    char c() const { return ended() ? '\0' : input[at]; }

    // Step 6.5: reads an IPv4 address for the last two pieces.
    bool read_ipv4() {
        if (piece > 6) return false;
        int seen = 0;
        while (!ended()) {
            int value = -1;
            if (seen > 0) {
                if (c() != '.' || seen >= 4) return false;
                ++at;
            }
            if (ended() || !is_digit(c())) return false;
            while (!ended() && is_digit(c())) {
                int number = c() - '0';
                if (value == 0) return false;
                value = value < 0 ? number : value * 10 + number;
                if (value > 255) return false;
                ++at;
            }
            pieces[piece] = static_cast<std::uint16_t>(pieces[piece] * 0x100 + value);
            ++seen;
            if (seen == 2 || seen == 4) ++piece;
        }
        return seen == 4;
    }

    // One iteration of step 6; returns false for failure.
    bool read_piece() {
        if (piece == 8) return false;
        if (c() == ':') {
            if (compress) return false;
            ++at;
            compress = ++piece;
            return true;
        }
        unsigned value = 0;
        std::size_t length = 0;
        for (; length < 4 && !ended() && hex_value(c()) >= 0; ++length, ++at)
            value = value * 0x10 + static_cast<unsigned>(hex_value(c()));
        if (c() == '.' && !ended()) {
            if (length == 0) return false;
            at -= length;
            return read_ipv4();
        }
        if (!ended()) {
            if (c() != ':') return false;
            ++at;
            if (ended()) return false;
        }
        pieces[piece++] = static_cast<std::uint16_t>(value);
        return true;
    }
};

}  // namespace

// https://url.spec.whatwg.org/#ends-in-a-number-checker
bool ends_in_a_number(std::string_view domain) {
    // 2. If the last item in parts is the empty string, then remove the last item.
    if (domain.ends_with('.')) domain.remove_suffix(1);
    // 3. Let last be the last item in parts.
    std::string_view last = domain.substr(domain.rfind('.') + 1);
    // 4. If last is non-empty and contains only ASCII digits, then return true.
    if (last.empty()) return false;
    if (std::ranges::all_of(last, is_digit)) return true;
    // 5. If parsing last as an IPv4 number does not return failure, then return true.
    return parse_ipv4_number(last).has_value();
}

// https://url.spec.whatwg.org/#concept-ipv4-parser
std::optional<std::uint32_t> parse_ipv4(std::string_view domain) {
    if (domain.ends_with('.')) domain.remove_suffix(1);
    std::array<std::uint64_t, 4> numbers{};
    std::size_t count = 0;
    for (bool more = true; more;) {
        if (count == numbers.size()) return std::nullopt;
        std::size_t dot = domain.find('.');
        more = dot != std::string_view::npos;
        auto number = parse_ipv4_number(domain.substr(0, dot));
        if (!number) return std::nullopt;
        numbers[count++] = *number;
        if (more) domain.remove_prefix(dot + 1);
    }
    // 8. If any but the last item in numbers is greater than 255, then return failure.
    for (std::size_t at = 0; at + 1 < count; ++at)
        if (numbers[at] > 255) return std::nullopt;
    // 9. If the last item in numbers is greater than or equal to 256^(5 − numbers's size), ...
    if (numbers[count - 1] >= std::uint64_t{1} << 8 * (5 - count)) return std::nullopt;
    std::uint64_t address = numbers[count - 1];
    for (std::size_t at = 0; at + 1 < count; ++at) address += numbers[at] << 8 * (3 - at);
    return static_cast<std::uint32_t>(address);
}

std::string serialize_ipv4(std::uint32_t address) {
    std::string text;
    for (int shift = 24; shift >= 0; shift -= 8) {
        text += std::to_string(address >> shift & 255);
        if (shift > 0) text += '.';
    }
    return text;
}

// https://url.spec.whatwg.org/#concept-ipv6-parser
std::optional<Ipv6Pieces> parse_ipv6(std::string_view input) {
    Ipv6Reader reader;
    reader.input = input;
    // 5. If c is U+003A (:), then: ...
    if (reader.c() == ':') {
        if (!input.starts_with("::")) return std::nullopt;
        reader.at = 2;
        reader.piece = 1;
        reader.compress = 1;
    }
    // 6. While c is not the EOF code point: ...
    while (!reader.ended())
        if (!reader.read_piece()) return std::nullopt;
    // 7. If compress is non-null, then: the pieces read after it move to the end.
    if (reader.compress) {
        auto first = reader.pieces.begin();
        std::rotate(first + static_cast<std::ptrdiff_t>(*reader.compress),
                    first + static_cast<std::ptrdiff_t>(reader.piece), reader.pieces.end());
        return reader.pieces;
    }
    // 8. Otherwise, if compress is null and pieceIndex is not 8, ... return failure.
    if (reader.piece != 8) return std::nullopt;
    return reader.pieces;
}

// https://url.spec.whatwg.org/#concept-ipv6-serializer
std::string serialize_ipv6(const Ipv6Pieces& address) {
    // 2. Let compress be the index of the first and longest run of more than one zero piece.
    std::size_t compress = 8, longest = 1;
    for (std::size_t at = 0; at < 8; ++at) {
        std::size_t end = at;
        while (end < 8 && address[end] == 0) ++end;
        if (end - at > longest) compress = at, longest = end - at;
        if (end > at) at = end - 1;
    }
    std::string text;
    for (std::size_t at = 0; at < 8; ++at) {
        if (at == compress) {
            text += at == 0 ? "::" : ":";
            at += longest - 1;
            continue;
        }
        char digits[4];
        auto end = std::to_chars(digits, digits + sizeof digits, address[at], 16).ptr;
        text.append(digits, end);
        if (at != 7) text += ':';
    }
    return text;
}

}  // namespace weft::api
