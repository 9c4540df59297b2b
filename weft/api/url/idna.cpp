// The functions of host.h that need Unicode tables.
#include <unicode/uidna.h>
#include <unicode/ustring.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "weft/api/url/host.h"

namespace weft::api {

namespace {

// Errors that are ignored with beStrict false: those of CheckHyphens and VerifyDnsLength.
constexpr std::uint32_t kIgnoredErrors =
    UIDNA_ERROR_EMPTY_LABEL | UIDNA_ERROR_LABEL_TOO_LONG | UIDNA_ERROR_DOMAIN_NAME_TOO_LONG |
    UIDNA_ERROR_LEADING_HYPHEN | UIDNA_ERROR_TRAILING_HYPHEN | UIDNA_ERROR_HYPHEN_3_4;

// ICU's processor is immutable, so all threads may use it at once. There is one for the life of the
// process.
const UIDNA* processor() {
    struct Close {
        void operator()(UIDNA* idna) const { uidna_close(idna); }
    };
    static const std::unique_ptr<UIDNA, Close> shared([] {
        UErrorCode error = U_ZERO_ERROR;
        return uidna_openUTS46(UIDNA_CHECK_BIDI | UIDNA_CHECK_CONTEXTJ |
                                   UIDNA_NONTRANSITIONAL_TO_ASCII |
                                   UIDNA_NONTRANSITIONAL_TO_UNICODE,
                               &error);
    }());
    return shared.get();
}

bool is_ascii(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

using Convert = std::int32_t (*)(const UIDNA*, const char*, std::int32_t, char*, std::int32_t,
                                 UIDNAInfo*, UErrorCode*);

// Runs one of ICU's conversions with a buffer as large as it asks for.
struct Converted {
    std::string text;
    std::uint32_t errors;
};
std::optional<Converted> convert(Convert function, std::string_view domain) {
    std::string out(std::max<std::size_t>(domain.size() * 2, 64), '\0');
    for (int turn = 0; turn < 2; ++turn) {
        UIDNAInfo info = UIDNA_INFO_INITIALIZER;
        UErrorCode error = U_ZERO_ERROR;
        std::int32_t length =
            function(processor(), domain.data(), static_cast<std::int32_t>(domain.size()),
                     out.data(), static_cast<std::int32_t>(out.size()), &info, &error);
        if (error == U_BUFFER_OVERFLOW_ERROR) {
            out.resize(static_cast<std::size_t>(length));
            continue;
        }
        if (U_FAILURE(error)) return std::nullopt;
        out.resize(static_cast<std::size_t>(length));
        return Converted{std::move(out), info.errors};
    }
    return std::nullopt;
}

// Code points that Unicode 15.1 to 17 map differently from the oldest ICU that is supported (72,
// with Unicode 15.0). They are mapped before ICU sees them, which makes no difference for a newer
// ICU.
struct Remapped {
    char32_t first, last;
    char32_t to;  // maps `first`, later code points to the following ones; 0: removed
};
constexpr Remapped kRemapped[] = {
    {0x04C0, 0x04C0, 0x04CF},   {0x10A0, 0x10C5, 0x2D00},   {0x115F, 0x1160, 0},
    {0x17B4, 0x17B5, 0},        {0x180E, 0x180E, 0},        {0x1E9E, 0x1E9E, 0x00DF},
    {0x2061, 0x2064, 0},        {0x206A, 0x206F, 0},        {0x2132, 0x2132, 0x214E},
    {0x2183, 0x2183, 0x2184},   {0x3164, 0x3164, 0},        {0xFFA0, 0xFFA0, 0},
    {0x2F868, 0x2F868, 0x36FC}, {0x2F874, 0x2F874, 0x5F53}, {0x2F91F, 0x2F91F, 0x243AB},
    {0x2F95F, 0x2F95F, 0x7AEE}, {0x2F9BF, 0x2F9BF, 0x45D7}, {0x1D173, 0x1D17A, 0},
};

// The domain with those code points mapped. Bytes that are not UTF-8 become U+FFFD, which ICU
// refuses.
std::string remapped(std::string_view domain) {
    std::string out;
    const auto* bytes_in = reinterpret_cast<const std::uint8_t*>(domain.data());
    auto length = static_cast<std::int32_t>(domain.size());
    for (std::int32_t at = 0; at < length;) {
        UChar32 read = 0;
        U8_NEXT_OR_FFFD(bytes_in, at, length, read);
        auto code = static_cast<char32_t>(read);
        const auto* found = std::ranges::find_if(
            kRemapped, [&](const Remapped& r) { return code >= r.first && code <= r.last; });
        if (found != std::end(kRemapped)) {
            if (found->to == 0) continue;
            code = found->to + (code - found->first);
        }
        char bytes[4];
        std::int32_t count = 0;
        U8_APPEND_UNSAFE(bytes, count, code);
        out.append(bytes, static_cast<std::size_t>(count));
    }
    return out;
}

}  // namespace

// https://url.spec.whatwg.org/#concept-domain-to-ascii
std::optional<std::string> domain_to_ascii(std::string_view domain) {
    // With beStrict false an ASCII domain is only converted to lower case. Thus Punycode labels
    // that today's tables would not allow remain reachable.
    if (is_ascii(domain)) {
        if (domain.empty()) return std::nullopt;
        std::string lowered(domain);
        std::ranges::transform(lowered, lowered.begin(), lower);
        return lowered;
    }
    if (domain.size() > INT32_MAX / 8) return std::nullopt;
    auto ascii = convert(&uidna_nameToASCII_UTF8, remapped(domain));
    if (!ascii || (ascii->errors & ~kIgnoredErrors) != 0) return std::nullopt;
    if (ascii->text.empty() || !is_ascii(ascii->text)) return std::nullopt;
    return std::move(ascii->text);
}

std::string domain_to_unicode(std::string_view domain) {
    if (domain.find("xn--") == std::string_view::npos || domain.size() > INT32_MAX / 8)
        return std::string(domain);
    auto unicode = convert(&uidna_nameToUnicodeUTF8, domain);
    return unicode ? std::move(unicode->text) : std::string(domain);
}

}  // namespace weft::api
