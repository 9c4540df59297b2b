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
    PlainPath = 64,   // Target but for % ? and the backslash: a path that means what it says
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
            if (c != '%' && c != '?' && c != '\\') mark(c, Class::PlainPath);
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

// Eight characters as one number, to test all of them at once. True is certain; after false each
// character must be tested by itself.
class EightCharacters {
public:
    explicit EightCharacters(const char* text) { std::memcpy(&word_, text, sizeof word_); }

    // Letters, digits, '-' and '.': what most names of fields and hosts are made of.
    bool are_letters_digits_dashes_dots() const {
        // Without the topmost bits no sum below carries into the next character.
        if (word_ & kTop) return false;
        std::uint64_t letters = between(word_ | all(0x20), 'a', 'z');
        std::uint64_t others = between(word_, '0', '9') | between(word_, '-', '.');
        return ((letters | others) & kTop) == kTop;
    }
    // None below the blank, and no DEL.
    bool are_visible_or_blank() const {
        std::uint64_t below_blank = (word_ - all(0x20)) & ~word_;
        std::uint64_t not_del = word_ ^ all(0x7f);
        std::uint64_t del = (not_del - all(1)) & ~not_del;
        return ((below_blank | del) & kTop) == 0;
    }

private:
    static constexpr std::uint64_t all(std::uint64_t character) {
        return 0x0101010101010101U * character;
    }
    // Sets the topmost bit of each character from `first` to `last`.
    static constexpr std::uint64_t between(std::uint64_t word, std::uint64_t first,
                                           std::uint64_t last) {
        return (word + all(0x80 - first)) & ~(word + all(0x7f - last));
    }
    static constexpr std::uint64_t kTop = 0x8080808080808080U;

    std::uint64_t word_;
};

// The end of a run: what is left of a head is often shorter than sixteen bytes.
inline const char* skip_rest_of_field_value(const char* at, const char* end) {
    while (end - at >= 8 && EightCharacters(at).are_visible_or_blank()) at += 8;
    return skip(Class::FieldValue, at, end);
}
inline const char* skip_rest_of_token(const char* at, const char* end) {
    while (end - at >= 8 && EightCharacters(at).are_letters_digits_dashes_dots()) at += 8;
    return skip(Class::Token, at, end);
}

#ifdef __SSE2__
// Sixteen characters at a time, for values and targets: they are long, and most of the bytes of a
// head.
namespace characters_internal {

inline __m128i load(const char* text) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(text));
}
inline __m128i all(char c) { return _mm_set1_epi8(c); }
inline unsigned mask_of(__m128i marks) { return static_cast<unsigned>(_mm_movemask_epi8(marks)); }
// Those from `first` to `last`. As unsigned distances from `first`, characters before it are far
// behind `last`.
inline __m128i between(__m128i text, char first, char last) {
    __m128i distance = _mm_sub_epi8(text, all(first));
    return _mm_cmpeq_epi8(_mm_min_epu8(distance, all(static_cast<char>(last - first))), distance);
}

// A bit for each of sixteen characters that is not of the class.
inline unsigned not_of_field_value(__m128i text) {
    __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(text, all(0x1f)), text);
    return mask_of(_mm_or_si128(_mm_andnot_si128(_mm_cmpeq_epi8(text, all('\t')), control),
                                _mm_cmpeq_epi8(text, all(0x7f))));
}
// In a signed comparison the bytes above ASCII are below the blank, too.
inline __m128i not_of_target(__m128i text) {
    __m128i quote_or_hash = _mm_cmpeq_epi8(_mm_and_si128(text, all(~1)), all('"'));
    __m128i angle = _mm_cmpeq_epi8(_mm_and_si128(text, all(~2)), all('<'));
    return _mm_or_si128(
        _mm_or_si128(_mm_cmplt_epi8(text, all(0x21)), _mm_cmpeq_epi8(text, all(0x7f))),
        _mm_or_si128(quote_or_hash, angle));
}
inline unsigned not_of_plain_path(__m128i text) {
    __m128i special =
        _mm_or_si128(_mm_cmpeq_epi8(text, all('%')),
                     _mm_or_si128(_mm_cmpeq_epi8(text, all('?')), _mm_cmpeq_epi8(text, all('\\'))));
    return mask_of(_mm_or_si128(not_of_target(text), special));
}
// A bit for each that is neither a letter nor a digit, '-' or '.', which most names are made of.
inline unsigned not_usual_in_names(__m128i text) {
    __m128i letters = between(_mm_or_si128(text, all(0x20)), 'a', 'z');
    __m128i others = _mm_or_si128(between(text, '0', '9'), between(text, '-', '.'));
    return mask_of(_mm_or_si128(letters, others)) ^ 0xffffU;
}

// Whether `bad` finds none in a text of at least eight characters. Where their number is no
// multiple of sixteen, some are tested twice.
template <class Bad>
inline bool has_none(std::string_view text, Bad bad) {
    if (text.size() < 8) return false;
    const char* end = text.data() + text.size();
    if (text.size() <= 16) {
        __m128i first = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(text.data()));
        __m128i last = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(end - 8));
        return bad(_mm_unpacklo_epi64(first, last)) == 0;
    }
    for (const char* at = text.data(); end - at > 16; at += 16) {
        if (bad(load(at)) != 0) return false;
    }
    return bad(load(end - 16)) == 0;
}

}  // namespace characters_internal

inline const char* skip_field_value(const char* at, const char* end) {
    using namespace characters_internal;
    for (; end - at >= 16; at += 16) {
        if (unsigned bad = not_of_field_value(load(at))) return at + std::countr_zero(bad);
    }
    return skip_rest_of_field_value(at, end);
}
inline const char* skip_target(const char* at, const char* end) {
    using namespace characters_internal;
    for (; end - at >= 16; at += 16) {
        if (unsigned bad = mask_of(not_of_target(load(at)))) return at + std::countr_zero(bad);
    }
    return skip(Class::Target, at, end);
}
inline const char* skip_plain_path(const char* at, const char* end) {
    using namespace characters_internal;
    for (; end - at >= 16; at += 16) {
        if (unsigned bad = not_of_plain_path(load(at))) return at + std::countr_zero(bad);
    }
    return skip(Class::PlainPath, at, end);
}
inline const char* skip_token(const char* at, const char* end) {
    using namespace characters_internal;
    while (end - at >= 16) {
        unsigned unusual = not_usual_in_names(load(at));
        if (unusual == 0) {
            at += 16;
            continue;
        }
        at += std::countr_zero(unusual);
        if (!is(Class::Token, *at)) return at;
        ++at;
    }
    return skip_rest_of_token(at, end);
}
// True is certain; after false each character must be tested by itself.
inline bool is_usual_name(std::string_view text) {
    using namespace characters_internal;
    return has_none(text, not_usual_in_names);
}
inline bool is_usual_value(std::string_view text) {
    using namespace characters_internal;
    return has_none(text, not_of_field_value);
}
#else
inline const char* skip_field_value(const char* at, const char* end) {
    return skip_rest_of_field_value(at, end);
}
inline const char* skip_target(const char* at, const char* end) {
    return skip(Class::Target, at, end);
}
inline const char* skip_plain_path(const char* at, const char* end) {
    return skip(Class::PlainPath, at, end);
}
inline const char* skip_token(const char* at, const char* end) {
    return skip_rest_of_token(at, end);
}
inline bool is_usual_name(std::string_view) { return false; }
inline bool is_usual_value(std::string_view) { return false; }
#endif

constexpr std::string_view trim_blanks(std::string_view text) {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

}  // namespace weft::http::wire
