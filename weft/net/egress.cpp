#include "weft/net/egress.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <span>

#include "weft/base/assert.h"
#include "weft/base/format.h"

namespace weft::net {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";
constexpr unsigned kV4Bits = 32;
constexpr unsigned kV6Bits = 128;

struct Special {
    std::array<std::uint8_t, 16> first;
    unsigned bits;
    std::string_view what;
};

// Those of IANA's registry of special-purpose addresses that are not globally reachable, and the
// public addresses at which clouds serve their own guests.
constexpr Special kSpecialV4[] = {
    {{0}, 8, "an address of this host"},
    {{10}, 8, "a private address"},
    {{100, 64}, 10, "a shared address of a provider"},
    {{127}, 8, "a loopback address"},
    {{168, 63, 129, 16}, 32, "an address of a cloud's own services"},
    {{169, 254}, 16, "a link-local address"},
    {{172, 16}, 12, "a private address"},
    {{192, 0, 0}, 24, "a reserved address"},
    {{192, 0, 2}, 24, "an address for documentation"},
    {{192, 88, 99}, 24, "a reserved address"},
    {{192, 168}, 16, "a private address"},
    {{198, 18}, 15, "an address for benchmarks"},
    {{198, 51, 100}, 24, "an address for documentation"},
    {{203, 0, 113}, 24, "an address for documentation"},
    {{224}, 4, "a multicast address"},
    {{240}, 4, "a reserved address"},
};

constexpr Special kSpecialV6[] = {
    {{0x20, 0x01, 0x00}, 23, "a reserved address"},  // Teredo, ORCHID, benchmarks
    {{0x20, 0x01, 0x0d, 0xb8}, 32, "an address for documentation"},
    {{0x20, 0x02}, 16, "a 6to4 address"},
    {{0x3f, 0xff, 0x00}, 20, "an address for documentation"},
};
constexpr Special kLoopbackV6 = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 128, {}};
constexpr Special kUnspecifiedV6 = {{}, 128, {}};
constexpr Special kGlobalUnicast = {{0x20}, 3, {}};
constexpr Special kUniqueLocal = {{0xfc}, 7, {}};
constexpr Special kLinkLocal = {{0xfe, 0x80}, 10, {}};
constexpr Special kMulticast = {{0xff}, 8, {}};
// Prefixes that are followed by an IPv4 address in the last 4 bytes.
constexpr Special kMapped = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96, {}};
constexpr Special kTranslated = {{0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0}, 96, {}};
constexpr Special kCompatible = {{}, 96, {}};
constexpr Special kNat64 = {{0x00, 0x64, 0xff, 0x9b}, 96, {}};

static_assert(std::ranges::all_of(kSpecialV4, [](auto& range) { return range.bits <= kV4Bits; }));
static_assert(std::ranges::all_of(kSpecialV6, [](auto& range) { return range.bits <= kV6Bits; }));

bool starts_with(const std::array<std::uint8_t, 16>& bytes,
                 const std::array<std::uint8_t, 16>& first, unsigned bits) {
    WEFT_ASSERT(bits <= kV6Bits, "a longer prefix would be read behind the address");
    std::size_t whole = bits / 8;
    if (!std::equal(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(whole),
                    bytes.begin()))
        return false;
    unsigned rest = bits % 8;
    return rest == 0 || ((bytes[whole] ^ first[whole]) >> (8 - rest)) == 0;
}

bool is_in(const IpAddress& ip, const Special& range) {
    return starts_with(ip.bytes(), range.first, range.bits);
}

std::string_view found_in(std::span<const Special> ranges, const IpAddress& ip) {
    for (const Special& range : ranges) {
        if (is_in(ip, range)) return range.what;
    }
    return {};
}

std::optional<IpAddress> embedded_v4(const IpAddress& ip) {
    bool embeds =
        is_in(ip, kMapped) || is_in(ip, kTranslated) || is_in(ip, kCompatible) || is_in(ip, kNat64);
    if (!embeds) return std::nullopt;
    const auto& bytes = ip.bytes();
    return IpAddress::v4({bytes[12], bytes[13], bytes[14], bytes[15]});
}

std::string_view host_without_end(std::string_view host) {
    if (host.ends_with('.')) host.remove_suffix(1);
    return host;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_same_host(std::string_view one, std::string_view other) {
    return std::ranges::equal(host_without_end(one), host_without_end(other), {}, lower, lower);
}

template <class Number>
std::optional<Number> number_in(std::string_view text) {
    Number number = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return number;
}

struct HostAndPort {
    std::string_view host;  // without brackets
    std::uint16_t port = 0;
    bool bracketed = false;
};

std::optional<HostAndPort> split(std::string_view rule) {
    HostAndPort parts;
    std::string_view port;
    bool has_port = false;
    if (rule.starts_with('[')) {
        std::size_t end = rule.find(']');
        if (end == std::string_view::npos) return std::nullopt;
        parts.host = rule.substr(1, end - 1);
        parts.bracketed = true;
        port = rule.substr(end + 1);
        has_port = !port.empty();
        if (has_port && port.front() != ':') return std::nullopt;
        if (has_port) port.remove_prefix(1);
    } else if (std::ranges::count(rule, ':') == 1) {
        std::size_t colon = rule.find(':');
        parts.host = rule.substr(0, colon);
        port = rule.substr(colon + 1);
        has_port = true;
    } else {
        parts.host = rule;  // a name, or IPv6 without a port
    }
    if (!has_port) return parts;
    auto number = number_in<std::uint16_t>(port);
    if (!number || *number == 0) return std::nullopt;
    parts.port = *number;
    return parts;
}

bool can_be_name(std::string_view host) {
    return !host.empty() && std::ranges::all_of(host, [](char c) {
        return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
               c == '.' || c == '_';
    });
}

}  // namespace

std::string_view why_not_public(const IpAddress& ip) {
    if (ip.is_v4()) return found_in(kSpecialV4, ip);
    if (is_in(ip, kLoopbackV6)) return "a loopback address";
    if (is_in(ip, kUnspecifiedV6)) return "an address of this host";
    if (auto inner = embedded_v4(ip)) return why_not_public(*inner);
    if (is_in(ip, kUniqueLocal)) return "a private address";
    if (is_in(ip, kLinkLocal)) return "a link-local address";
    if (is_in(ip, kMulticast)) return "a multicast address";
    if (!is_in(ip, kGlobalUnicast)) return "a reserved address";
    return found_in(kSpecialV6, ip);
}

EgressPolicy EgressPolicy::anywhere() {
    EgressPolicy policy;
    policy.anywhere_ = true;
    return policy;
}

Result<void> EgressPolicy::allow(std::string_view rule) {
    Error refused(ErrorKind::Misuse,
                  format("'{}' is no address, network or host, with or without a port", rule));
    if (rule.starts_with(kUnixPrefix) && rule.size() > kUnixPrefix.size()) {
        paths_.emplace_back(rule.substr(kUnixPrefix.size()));
        return {};
    }
    std::optional<HostAndPort> parts = split(rule);
    if (!parts) return refused;
    std::size_t slash = parts->host.find('/');
    Result<IpAddress> ip = IpAddress::parse(parts->host.substr(0, slash));
    if (!ip) {
        if (parts->bracketed || !can_be_name(parts->host)) return refused;
        names_.push_back({std::string(parts->host), parts->port});
        return {};
    }
    unsigned bits = ip->is_v4() ? kV4Bits : kV6Bits;
    if (slash != std::string_view::npos) {
        auto given = number_in<unsigned>(parts->host.substr(slash + 1));
        if (!given || *given > bits) return refused;
        bits = *given;
    }
    networks_.push_back({*ip, bits, parts->port});
    return {};
}

bool EgressPolicy::is_allowed(std::string_view host, const Address& address) const {
    if (anywhere_) return true;
    if (address.kind() == Address::Kind::Unix)
        return std::ranges::find(paths_, address.path()) != paths_.end();
    IpAddress ip = address.ip().unmapped();
    auto on_port = [&](std::uint16_t port) { return port == 0 || port == address.port(); };
    bool by_number = std::ranges::any_of(networks_, [&](const Network& network) {
        return network.first.is_v4() == ip.is_v4() && on_port(network.port) &&
               starts_with(ip.bytes(), network.first.bytes(), network.bits);
    });
    return by_number || std::ranges::any_of(names_, [&](const Name& name) {
               return on_port(name.port) && is_same_host(name.host, host);
           });
}

Result<void> EgressPolicy::check(std::string_view host, const Address& address) const {
    if (is_allowed(host, address)) return {};
    if (address.kind() == Address::Kind::Unix)
        return Error(ErrorKind::PermissionDenied, "it is a socket of this host");
    std::string_view why = why_not_public(address.ip());
    if (why.empty()) return {};
    return Error(ErrorKind::PermissionDenied, format("{} is {}", address.ip().to_string(), why));
}

}  // namespace weft::net
