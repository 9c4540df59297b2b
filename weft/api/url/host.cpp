#include "weft/api/url/host.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "weft/api/url/ip.h"
#include "weft/api/url/percent.h"

namespace weft::api {

namespace {

// "A forbidden host code point is U+0000 NULL, U+0009 TAB, U+000A LF, U+000D CR, U+0020 SPACE,
// U+0023 (#), U+002F (/), U+003A (:), U+003C (<), U+003E (>), U+003F (?), U+0040 (@), U+005B ([),
// U+005C (\), U+005D (]), U+005E (^), or U+007C (|)."
constexpr std::string_view kForbiddenHost("\0\t\n\r #/:<>?@[\\]^|", 17);

bool forbidden_in_domain(char c) {
    auto byte = static_cast<unsigned char>(c);
    return byte <= 0x1F || byte == 0x7F || c == '%' ||
           kForbiddenHost.find(c) != std::string_view::npos;
}

// https://url.spec.whatwg.org/#concept-opaque-host-parser
std::optional<std::string> parse_opaque_host(std::string_view input) {
    if (input.find_first_of(kForbiddenHost) != std::string_view::npos) return std::nullopt;
    std::string host;
    append_encoded(input, kC0ControlSet, host);
    return host;
}

}  // namespace

// https://url.spec.whatwg.org/#concept-host-parser
std::optional<std::string> parse_host(std::string_view input, HostKind kind) {
    // 1. If input starts with U+005B ([), then:
    if (input.starts_with('[')) {
        if (!input.ends_with(']')) return std::nullopt;
        auto pieces = parse_ipv6(input.substr(1, input.size() - 2));
        if (!pieces) return std::nullopt;
        return "[" + serialize_ipv6(*pieces) + "]";
    }
    // 2. If isOpaque is true, then return the result of opaque-host parsing input.
    if (kind == HostKind::Opaque) return parse_opaque_host(input);
    // 4. Let domain be the result of running UTF-8 decode without BOM on the percent-decoding of
    //    input.
    // NB: Bytes that are not UTF-8 become U+FFFD, which no domain may contain; domain_to_ascii()
    // refuses both.
    // 5. Let asciiDomain be the result of running domain to ASCII with domain and false.
    auto domain = input.find('%') == std::string_view::npos
                      ? domain_to_ascii(input)
                      : domain_to_ascii(percent_decoded(input));
    // 6. If asciiDomain is failure, then return failure.
    // 7. If asciiDomain contains a forbidden domain code point, ... return failure.
    if (!domain || std::ranges::any_of(*domain, forbidden_in_domain)) return std::nullopt;
    // 8. If asciiDomain ends in a number, then return the result of IPv4 parsing asciiDomain.
    if (!ends_in_a_number(*domain)) return domain;
    auto address = parse_ipv4(*domain);
    if (!address) return std::nullopt;
    return serialize_ipv4(*address);
}

}  // namespace weft::api
