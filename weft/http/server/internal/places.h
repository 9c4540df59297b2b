// Places: counts the connections of a server, in all and of each address, and bounds both.
//
// Any thread. The lock is held for one access to a map, when a connection comes and when it goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "weft/base/assert.h"
#include "weft/base/atomic.h"
#include "weft/base/spin_lock.h"
#include "weft/http/limits.h"
#include "weft/net/address.h"

namespace weft::http {

class Places {
public:
    struct Limits {
        std::size_t connections = 0;
        std::size_t of_address = 0;
    };
    // The limits by ServerLimits, in a process that may have so many descriptors.
    static Limits limits_for(const ServerLimits& limits, std::size_t descriptors);

    // Before the first take().
    void set_limits(const Limits& limits) {
        WEFT_ASSERT(taken() == 0, "limits are set before the first connection");
        limits_ = limits;
    }
    const Limits& limits() const { return limits_; }
    std::size_t taken() const { return taken_.load(std::memory_order_relaxed); }

    // Full is also given where there is no memory to count the address.
    enum class Taken : std::uint8_t { Yes, Full, AddressIsFull };
    Taken take(const net::Address& peer);
    // After a take() that gave Yes. True: it was the last connection. seq_cst, as is_empty(): see
    // ServerCore::leave().
    bool give_back(const net::Address& peer);
    bool is_empty() const { return taken_.load(std::memory_order_seq_cst) == 0; }

private:
    std::uint32_t* count_of(const net::IpAddress& ip);  // under the lock

    Limits limits_;
    Atomic<std::size_t> taken_{0};
    SpinLock lock_;
    std::map<net::IpAddress, std::uint32_t> of_addresses_;
};

}  // namespace weft::http
