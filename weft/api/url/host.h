// Hosts of URLs: https://url.spec.whatwg.org/#hosts-(domains-and-ip-addresses)
//
// A host is kept in its serialized form ("example.com", "127.0.0.1", "[::1]", an opaque host),
// because no caller needs its parts. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::api {

// Domain: a domain or an address, as in a URL with a special scheme. Opaque: a host that is only
// percent-encoded, as in a URL with any other scheme.
enum class HostKind : std::uint8_t { Domain, Opaque };

// The host parser and serializer; gives nothing where the standard returns failure.
std::optional<std::string> parse_host(std::string_view input, HostKind kind);

// "domain to ASCII" with beStrict false.
std::optional<std::string> domain_to_ascii(std::string_view domain);
// "domain to Unicode" with beStrict false; a part that cannot be decoded is left unchanged.
std::string domain_to_unicode(std::string_view domain);

}  // namespace weft::api
