#include "weft/net/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <span>

#include "weft/base/assert.h"
#include "weft/base/format.h"

namespace weft::net {
namespace {

constexpr std::size_t kPathOffset = offsetof(sockaddr_un, sun_path);
static_assert(sizeof(sockaddr_storage) == Address::kNativeBytes);
static_assert(sizeof(sockaddr_un::sun_path) == Address::kUnixPathBytesMax + 1);
// With the zero byte behind a path that fills sun_path.
static_assert(sizeof(sockaddr_un) + 1 <= Address::kNativeBytes);

Error not_an_address(std::string_view text) {
    return {ErrorKind::Misuse, format("'{}' is not an address", text)};
}

// Decimal, without signs and leading zeros.
std::optional<std::uint16_t> parse_port(std::string_view text) {
    if (text.size() > 1 && text.front() == '0') return {};
    std::uint16_t port = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (error != std::errc() || end != text.data() + text.size()) return {};
    return port;
}

}  // namespace

IpAddress IpAddress::v4(std::array<std::uint8_t, 4> bytes) {
    IpAddress address;
    std::ranges::copy(bytes, address.bytes_.begin());
    return address;
}

IpAddress IpAddress::v6(const std::array<std::uint8_t, 16>& bytes) {
    IpAddress address;
    address.bytes_ = bytes;
    address.is_v4_ = false;
    return address;
}

Result<IpAddress> IpAddress::parse(std::string_view text) {
    char terminated[INET6_ADDRSTRLEN] = {};
    if (text.size() >= sizeof terminated || text.find('\0') != text.npos)
        return not_an_address(text);
    std::ranges::copy(text, terminated);
    IpAddress address;
    if (::inet_pton(AF_INET, terminated, address.bytes_.data()) == 1) return address;
    address.is_v4_ = false;
    if (::inet_pton(AF_INET6, terminated, address.bytes_.data()) == 1) return address;
    return not_an_address(text);
}

IpAddress IpAddress::unmapped() const {
    constexpr std::array<std::uint8_t, 12> prefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    if (is_v4_ || !std::equal(prefix.begin(), prefix.end(), bytes_.begin())) return *this;
    return v4({bytes_[12], bytes_[13], bytes_[14], bytes_[15]});
}

std::string IpAddress::to_string() const {
    char text[INET6_ADDRSTRLEN];
    return ::inet_ntop(is_v4_ ? AF_INET : AF_INET6, bytes_.data(), text, sizeof text);
}

Result<Address> Address::unix_path(std::string_view path) {
    if (path.empty() || path == "@" || path.find('\0') != path.npos)
        return Error(ErrorKind::Misuse, "a path of a Unix socket is empty or has a zero byte");
    if (path.size() > kUnixPathBytesMax)
        return Error::limit(format("the path {} has more bytes than", path), kUnixPathBytesMax,
                            "Address::kUnixPathBytesMax");
    Address address;
    address.kind_ = Kind::Unix;
    address.path_ = path;
    return address;
}

Result<Address> Address::parse(std::string_view text) {
    constexpr std::string_view unix_scheme = "unix:";
    if (text.starts_with(unix_scheme)) return unix_path(text.substr(unix_scheme.size()));
    std::size_t colon = text.rfind(':');
    if (colon == text.npos) return not_an_address(text);
    std::optional<std::uint16_t> port = parse_port(text.substr(colon + 1));
    if (!port) return not_an_address(text);
    std::string_view host = text.substr(0, colon);
    if (host.empty()) return any(*port);
    if (host == "localhost") return loopback(*port);
    bool bracketed = host.size() >= 2 && host.front() == '[' && host.back() == ']';
    IpAddress ip = WEFT_TRY(IpAddress::parse(bracketed ? host.substr(1, host.size() - 2) : host));
    // Without brackets the port could not be told from the last group of an IPv6 address.
    if (ip.is_v4() == bracketed) return not_an_address(text);
    return Address(ip, *port);
}

Address Address::unmapped() const {
    Address same = *this;
    same.ip_ = ip_.unmapped();
    return same;
}

std::string Address::to_string() const {
    if (kind_ == Kind::Unix) return "unix:" + path_;
    if (ip_.is_v4()) return format("{}:{}", ip_.to_string(), port_);
    return format("[{}]:{}", ip_.to_string(), port_);
}

std::size_t Address::to_native(void* storage) const {
    if (kind_ == Kind::Unix) {
        sockaddr_un native{};
        native.sun_family = AF_UNIX;
        WEFT_ASSERT(path_.size() <= sizeof native.sun_path, "every way to make it has this limit");
        std::ranges::copy(path_, native.sun_path);
        bool abstract = path_.starts_with('@');
        if (abstract) native.sun_path[0] = '\0';
        std::memcpy(storage, &native, sizeof native);
        // The length ends an abstract name. A path counts its zero byte; an unnamed socket has
        // neither.
        return kPathOffset + path_.size() + (abstract || path_.empty() ? 0 : 1);
    }
    WEFT_DASSERT(path_.empty(), "addresses compare by all members: of IP none has a path");
    if (ip_.is_v4()) {
        WEFT_DASSERT(std::ranges::all_of(std::span(ip_.bytes()).subspan(4),
                                         [](std::uint8_t byte) { return byte == 0; }),
                     "IPv4 addresses compare by all 16 bytes");
        sockaddr_in native{};
        native.sin_family = AF_INET;
        native.sin_port = htons(port_);
        std::memcpy(&native.sin_addr, ip_.bytes().data(), sizeof native.sin_addr);
        std::memcpy(storage, &native, sizeof native);
        return sizeof native;
    }
    sockaddr_in6 native{};
    native.sin6_family = AF_INET6;
    native.sin6_port = htons(port_);
    std::memcpy(&native.sin6_addr, ip_.bytes().data(), sizeof native.sin6_addr);
    std::memcpy(storage, &native, sizeof native);
    return sizeof native;
}

Result<Address> Address::from_native(const sockaddr* native, std::size_t bytes) {
    sockaddr_storage storage{};
    bytes = std::min(bytes, sizeof storage);
    std::memcpy(&storage, native, bytes);
    if (storage.ss_family == AF_INET && bytes >= sizeof(sockaddr_in)) {
        sockaddr_in ip{};
        std::memcpy(&ip, &storage, sizeof ip);
        std::array<std::uint8_t, 4> number{};
        std::memcpy(number.data(), &ip.sin_addr, number.size());
        return Address(IpAddress::v4(number), ntohs(ip.sin_port));
    }
    if (storage.ss_family == AF_INET6 && bytes >= sizeof(sockaddr_in6)) {
        sockaddr_in6 ip{};
        std::memcpy(&ip, &storage, sizeof ip);
        std::array<std::uint8_t, 16> number{};
        std::memcpy(number.data(), &ip.sin6_addr, number.size());
        return Address(IpAddress::v6(number), ntohs(ip.sin6_port));
    }
    if (storage.ss_family != AF_UNIX || bytes < kPathOffset)
        return Error(ErrorKind::Misuse, "an address of an unknown family");
    std::string_view path(reinterpret_cast<const char*>(&storage) + kPathOffset,
                          bytes - kPathOffset);
    Address address;
    address.kind_ = Kind::Unix;
    if (path.empty()) return address;
    address.path_ = path.front() == '\0' ? path : path.substr(0, path.find('\0'));
    if (address.path_.size() > sizeof(sockaddr_un::sun_path))
        return Error(ErrorKind::Misuse, "an address has a path that no Unix socket can have");
    if (address.path_.starts_with('\0')) address.path_[0] = '@';
    return address;
}

}  // namespace weft::net
