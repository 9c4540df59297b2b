// Where a socket is: an IPv4 or IPv6 address with a port, or the path of a Unix socket.
//
//     Address here = WEFT_TRY(Address::parse("[::1]:8080"));
//     WEFT_TRY(server.listen(Address::any(8080)));       // every interface, IPv4 and IPv6
//
// A value; any thread. It reads numeric addresses, and "localhost", which always means the loopback
// address (RFC 6761 §6.3); other names are for a Resolver.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "weft/base/result.h"

struct sockaddr;

namespace weft::net {

// An IPv4 or IPv6 address: 4 bytes or 16. parse() is strict: four decimal numbers without leading
// zeros, or the text of RFC 4291; no octal, no hex, no zone.
class IpAddress {
public:
    IpAddress() = default;  // 0.0.0.0
    static IpAddress v4(std::array<std::uint8_t, 4> bytes);
    static IpAddress v6(const std::array<std::uint8_t, 16>& bytes);
    static Result<IpAddress> parse(std::string_view text);
    static IpAddress loopback() { return v4({127, 0, 0, 1}); }

    bool is_v4() const { return is_v4_; }
    // In network byte order. Of IPv4 the first 4 are the address and the others are zero.
    const std::array<std::uint8_t, 16>& bytes() const { return bytes_; }
    // ::ffff:a.b.c.d as a.b.c.d; everything else unchanged.
    IpAddress unmapped() const;
    std::string to_string() const;

    friend auto operator<=>(const IpAddress&, const IpAddress&) = default;

private:
    std::array<std::uint8_t, 16> bytes_{};
    bool is_v4_ = true;
};

class Address {
public:
    enum class Kind : std::uint8_t { Ip, Unix };
    static constexpr std::size_t kUnixPathBytesMax = 107;

    Address() = default;  // 0.0.0.0:0
    Address(const IpAddress& ip, std::uint16_t port) : ip_(ip), port_(port) {}
    // A path that begins with '@' is a name in Linux's abstract namespace. Limit when it is too
    // long.
    static Result<Address> unix_path(std::string_view path);
    // "127.0.0.1:80", "[::1]:80", "unix:/run/weft.sock"; ":80" is any(80), "localhost:80" is
    // loopback(80).
    static Result<Address> parse(std::string_view text);
    static Address loopback(std::uint16_t port) { return {IpAddress::loopback(), port}; }
    // [::]:port. A listener there takes connections by IPv4 as well, unless ListenOptions::v6_only
    // says otherwise. Where the kernel has no IPv6 it listens on 0.0.0.0 instead.
    static Address any(std::uint16_t port) { return {IpAddress::v6({}), port}; }

    Kind kind() const { return kind_; }
    const IpAddress& ip() const { return ip_; }
    std::uint16_t port() const { return port_; }
    const std::string& path() const { return path_; }
    // [::ffff:a.b.c.d]:port as a.b.c.d:port; everything else unchanged.
    Address unmapped() const;
    std::string to_string() const;

    // As the sockaddr that the kernel takes. `storage` has room for kNativeBytes; returns how many
    // were used.
    static constexpr std::size_t kNativeBytes = 128;
    std::size_t to_native(void* storage) const;
    static Result<Address> from_native(const sockaddr* native, std::size_t bytes);

    friend auto operator<=>(const Address&, const Address&) = default;

private:
    IpAddress ip_;
    std::uint16_t port_ = 0;
    Kind kind_ = Kind::Ip;
    std::string path_;
};

}  // namespace weft::net
