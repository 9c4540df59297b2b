#include "weft/http/server/internal/places.h"

#include <algorithm>
#include <array>
#include <new>

namespace weft::http {
namespace {

constexpr std::size_t kConnectionsDefaultMax = 65'536;
// Descriptors for everything else: files, and connections to other servers.
constexpr std::size_t kReservedMin = 32;
constexpr std::size_t kReservedShare = 8;  // an eighth of them
constexpr std::size_t kOfAddressMin = 64;
constexpr std::size_t kOfAddressShare = 4;

// A client that has one IPv6 address has the 2^64 addresses of its network as well.
net::IpAddress counted_as(const net::IpAddress& ip) {
    net::IpAddress plain = ip.unmapped();
    if (plain.is_v4()) return plain;
    std::array<std::uint8_t, 16> network = plain.bytes();
    std::fill(network.begin() + 8, network.end(), std::uint8_t{0});
    return net::IpAddress::v6(network);
}

}  // namespace

Places::Limits Places::limits_for(const ServerLimits& limits, std::size_t descriptors) {
    std::size_t reserved = std::max(kReservedMin, descriptors / kReservedShare);
    std::size_t possible = descriptors > reserved ? descriptors - reserved : 1;
    Limits given{limits.connections, limits.connections_per_address};
    if (given.connections == 0) given.connections = std::min(kConnectionsDefaultMax, possible);
    if (given.of_address == 0)
        given.of_address = std::max(kOfAddressMin, given.connections / kOfAddressShare);
    return given;
}

Places::Taken Places::take(const net::Address& peer) {
    // Relaxed: a count; nothing is published by it.
    if (taken_.fetch_add(1, std::memory_order_relaxed) >= limits_.connections) {
        taken_.fetch_sub(1, std::memory_order_relaxed);
        return Taken::Full;
    }
    if (peer.kind() != net::Address::Kind::Ip) return Taken::Yes;
    Taken taken = Taken::AddressIsFull;
    {
        SpinGuard guard(lock_);
        std::uint32_t* count = count_of(peer.ip());
        if (count && *count < limits_.of_address) {
            ++*count;
            return Taken::Yes;
        }
        if (!count) taken = Taken::Full;
    }
    // Relaxed: as above.
    taken_.fetch_sub(1, std::memory_order_relaxed);
    return taken;
}

// Null without memory. Catches the exception of the allocation, because the acceptor calls this in
// a worker's loop, where nobody else would.
std::uint32_t* Places::count_of(const net::IpAddress& ip) {
    try {
        return &of_addresses_[counted_as(ip)];
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

bool Places::give_back(const net::Address& peer) {
    if (peer.kind() == net::Address::Kind::Ip) {
        SpinGuard guard(lock_);
        auto found = of_addresses_.find(counted_as(peer.ip()));
        WEFT_ASSERT(found != of_addresses_.end() && found->second > 0,
                    "a place is given back once, for the address that it was taken for");
        if (--found->second == 0) of_addresses_.erase(found);
    }
    // seq_cst: see ServerCore::leave().
    std::size_t before = taken_.fetch_sub(1, std::memory_order_seq_cst);
    WEFT_ASSERT(before > 0, "a place is given back once");
    return before == 1;
}

}  // namespace weft::http
