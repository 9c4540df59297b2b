// Admission: which clients have how many of the connections to one upstream.
//
// Nobody takes them all. A client (an address; of IPv6 the first 64 bits) has at most as many as
// are free for others: of 256 one alone has 128, two have 85 each. So one who hoards slows itself
// down, and somebody who comes later still gets one. The same rule holds for the places in the
// line, and for streams (upgraded connections, events), which last for days and are counted apart.
//
// Clients are counted by two hashes of their address, of which the smaller number counts: nothing
// is allocated for a client, and one whose counter is that of a hoarder most likely does not share
// the other one as well. Any fiber; the lock is held for a few instructions, or for a look at the
// line.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "weft/base/intrusive_list.h"
#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/base/time.h"
#include "weft/http/proxy/reverse_proxy.h"
#include "weft/net/address.h"
#include "weft/sync/event.h"

namespace weft::http {

// Which counters are a client's.
struct ClientKey {
    static constexpr std::size_t kCounters = 1024;

    std::uint16_t first = 0;
    std::uint16_t second = 0;
    bool is_known = true;  // false: there is no telling who it is
};

// A number of equal things, and who has how many. Under its owner's lock.
class Shares {
public:
    Shares(std::size_t total, ClientShare share)
        : free_(total), is_fair_(share == ClientShare::Fair) {}

    bool has_free() const { return free_ > 0; }
    bool take(ClientKey client);
    void give_back(ClientKey client);

private:
    std::size_t free_;
    const bool is_fair_;
    std::array<std::uint32_t, ClientKey::kCounters> first_{};
    std::array<std::uint32_t, ClientKey::kCounters> second_{};
};

class Admission {
public:
    explicit Admission(const ProxyOptions& options);
    Admission(const Admission&) = delete;
    Admission& operator=(const Admission&) = delete;

    // What a client has been given. A resource.
    class Pass {
    public:
        Pass() = default;
        Pass(Pass&& other) noexcept;
        Pass& operator=(Pass&&) = delete;
        ~Pass() { leave(); }

        // From now on it counts among the streams. False when those are all taken, or the client's
        // share of them.
        bool become_stream();
        void leave();

    private:
        friend class Admission;
        Pass(Admission& admission, ClientKey client) : admission_(&admission), client_(client) {}

        Admission* admission_ = nullptr;
        ClientKey client_;
        bool is_stream_ = false;
    };

    // Waits in line. Limit when that is full, TimedOut.
    Result<Pass> enter(const net::Address& client, Nanoseconds patience);

private:
    struct Waiter {
        explicit Waiter(ClientKey its_client) : client(its_client) {}
        const ClientKey client;
        bool is_admitted = false;  // under the lock
        Event admitted;
        ListLink link;
    };
    using Line = IntrusiveList<Waiter, &Waiter::link>;

    ClientKey key_of(const net::Address& client) const;
    Result<void> wait_in_line(Waiter& waiter, Nanoseconds patience);
    void admit_next(Line& admitted);
    static void wake(Line& admitted);

    const std::uint64_t seed_;  // so that nobody can choose an address to share somebody's counters
    const std::size_t waiting_max_;
    SpinLock lock_;  // all below
    Shares connections_;
    Shares waiting_;
    Shares streams_;
    Line line_;
};

}  // namespace weft::http
