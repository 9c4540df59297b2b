// Addresses in URLs: https://url.spec.whatwg.org/#concept-ipv4-parser, #concept-ipv6-parser. Any
// thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::api {

using Ipv6Pieces = std::array<std::uint16_t, 8>;

// "The ends in a number checker": whether a domain is to be parsed as an IPv4 address.
bool ends_in_a_number(std::string_view domain);
// Also accepts what browsers accept: fewer than four parts, and parts with the prefix 0x or 0.
std::optional<std::uint32_t> parse_ipv4(std::string_view domain);
std::string serialize_ipv4(std::uint32_t address);

std::optional<Ipv6Pieces> parse_ipv6(std::string_view input);
std::string serialize_ipv6(const Ipv6Pieces& address);

}  // namespace weft::api
