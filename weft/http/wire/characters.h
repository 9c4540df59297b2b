// The classes of characters that HTTP/1 and URLs are made of, and how to find the end of a run of
// them. ASCII only; any thread.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace weft::http::wire {

enum class Class : std::uint8_t {
    Token = 1,        // RFC 9110 §5.6.2 tchar
    FieldValue = 2,   // RFC 9110 §5.5: visible, blank, tab, and all above ASCII
    Target = 4,       // visible ASCII but for " # < >, which no sender of URLs leaves unescaped
    RegName = 8,      // RFC 3986 §3.2.2, without escapes
    Unreserved = 16,  // RFC 3986 §2.3
    Scheme = 32,      // RFC 3986 §3.1, behind the first character
};

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_alpha(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_blank(char c) { return c == ' ' || c == '\t'; }
constexpr char to_lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}
// -1 for anything that is no hexadecimal digit.
constexpr int hex_value(char c) {
    if (is_digit(c)) return c - '0';
    char lower = to_lower(c);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

namespace characters_internal {

constexpr std::array<std::uint8_t, 256> make_classes() {
    std::array<std::uint8_t, 256> classes{};
    auto mark = [&](unsigned c, Class which) {
        classes[c] = static_cast<std::uint8_t>(classes[c] | static_cast<std::uint8_t>(which));
    };
    auto mark_all = [&](std::string_view text, Class which) {
        for (char c : text) mark(static_cast<unsigned char>(c), which);
    };
    for (unsigned c = 0; c < 256; ++c) {
        if ((c >= 0x20 && c != 0x7f) || c == '\t') mark(c, Class::FieldValue);
        if (c > 0x20 && c < 0x7f &&
            std::string_view("\"#<>").find(static_cast<char>(c)) == std::string_view::npos) {
            mark(c, Class::Target);
        }
        if (c >= 0x80 || (!is_digit(static_cast<char>(c)) && !is_alpha(static_cast<char>(c)))) {
            continue;
        }
        for (Class which : {Class::Token, Class::RegName, Class::Unreserved, Class::Scheme}) {
            mark(c, which);
        }
    }
    mark_all("!#$%&'*+-.^_`|~", Class::Token);
    mark_all("-._~", Class::Unreserved);
    mark_all("-._~!$&'()*+,;=", Class::RegName);
    mark_all("+-.", Class::Scheme);
    return classes;
}

inline constexpr std::array<std::uint8_t, 256> kClasses = make_classes();

}  // namespace characters_internal

constexpr bool is(Class which, char c) {
    return (characters_internal::kClasses[static_cast<unsigned char>(c)] &
            static_cast<std::uint8_t>(which)) != 0;
}

// The first character of [at, end) that is not of the class, or end.
inline const char* skip(Class which, const char* at, const char* end) {
    while (at != end && is(which, *at)) ++at;
    return at;
}
inline bool consists_of(Class which, std::string_view text) {
    return skip(which, text.data(), text.data() + text.size()) == text.data() + text.size();
}

#ifdef __SSE2__
// Sixteen at a time: values and targets are long, and most of the bytes of a head.
inline const char* skip_field_value(const char* at, const char* end) {
    const __m128i controls_end = _mm_set1_epi8(0x1f);
    const __m128i tab = _mm_set1_epi8('\t');
    const __m128i del = _mm_set1_epi8(0x7f);
    for (; end - at >= 16; at += 16) {
        __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
        __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(text, controls_end), text);
        __m128i bad = _mm_or_si128(_mm_andnot_si128(_mm_cmpeq_epi8(text, tab), control),
                                   _mm_cmpeq_epi8(text, del));
        auto mask = static_cast<unsigned>(_mm_movemask_epi8(bad));
        if (mask != 0) return at + std::countr_zero(mask);
    }
    return skip(Class::FieldValue, at, end);
}
inline const char* skip_target(const char* at, const char* end) {
    // Compared with signs, what lies above ASCII lies below the blank too.
    const __m128i first = _mm_set1_epi8(0x21);
    const __m128i del = _mm_set1_epi8(0x7f);
    for (; end - at >= 16; at += 16) {
        __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
        __m128i quote_or_hash =
            _mm_cmpeq_epi8(_mm_and_si128(text, _mm_set1_epi8(~1)), _mm_set1_epi8('"'));
        __m128i angle = _mm_cmpeq_epi8(_mm_and_si128(text, _mm_set1_epi8(~2)), _mm_set1_epi8('<'));
        __m128i bad =
            _mm_or_si128(_mm_or_si128(_mm_cmplt_epi8(text, first), _mm_cmpeq_epi8(text, del)),
                         _mm_or_si128(quote_or_hash, angle));
        auto mask = static_cast<unsigned>(_mm_movemask_epi8(bad));
        if (mask != 0) return at + std::countr_zero(mask);
    }
    return skip(Class::Target, at, end);
}
#else
inline const char* skip_field_value(const char* at, const char* end) {
    return skip(Class::FieldValue, at, end);
}
inline const char* skip_target(const char* at, const char* end) {
    return skip(Class::Target, at, end);
}
#endif

constexpr std::string_view trim_blanks(std::string_view text) {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

}  // namespace weft::http::wire
