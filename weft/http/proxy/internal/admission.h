// Admission: how the connections to one upstream are shared out among clients.
//
// No client takes them all. A client (an address; of IPv6 the first 64 bits) gets at most as many
// as are free for others: of 256, a single client gets 128, two get 85 each. So a client that opens
// too many connections slows itself down only, and another one that comes later still gets one. The
// same rule holds for the places in the queue, and for streams (upgraded connections, events),
// which can last for days and are counted apart.
//
// Clients are counted by two hashes of their address, and the smaller of the two counts is used:
// nothing is allocated for a client, and one that shares a counter with a greedy client most likely
// does not share the other. Any fiber; the lock is held for a few instructions, or while the queue
// is searched.
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

// The indices of a client's two counters.
struct ClientKey {
    static constexpr std::size_t kCounters = 1024;

    std::uint16_t first = 0;
    std::uint16_t second = 0;
    bool is_known = true;  // false: all clients have this address, as with a Unix socket
};

// A fixed number of equal things, and how many of them each client holds. Its owner's lock guards
// it.
class Shares {
public:
    Shares(std::size_t total, ClientShare share)
        : free_(total), is_fair_(share == ClientShare::Fair) {}

    bool has_free() const { return free_ > 0; }
    bool take(ClientKey client);       // false: none is free, or the client has its share
    void give_back(ClientKey client);  // one that take() gave this client

private:
    std::size_t free_;
    const bool is_fair_;
    std::array<std::uint32_t, ClientKey::kCounters> first_{};
    std::array<std::uint32_t, ClientKey::kCounters> second_{};
};

class Admission {
public:
    explicit Admission(const ProxyOptions& options);
    ~Admission();
    Admission(const Admission&) = delete;
    Admission& operator=(const Admission&) = delete;

    // The right of a client to one connection, or to one stream. A resource; the Admission outlives
    // it. Owned by one fiber at a time.
    class Pass {
    public:
        Pass() = default;
        Pass(Pass&& other) noexcept;
        Pass& operator=(Pass&&) = delete;
        ~Pass() { release(); }

        // Gives the connection's place back and counts as a stream instead. False: all streams are
        // taken, or the client's share of them.
        bool become_stream();
        void release();  // gives the place back; idempotent

    private:
        friend class Admission;
        Pass(Admission& admission, ClientKey client) : admission_(&admission), client_(client) {}

        Admission* admission_ = nullptr;
        ClientKey client_;
        bool is_stream_ = false;
    };

    // Waits in a queue until the client may have a connection. Limit when the queue is full, or the
    // client has its share of it; TimedOut after `patience`; Cancelled.
    Result<Pass> enter(const net::Address& client, Nanoseconds patience);

private:
    struct Waiter {
        explicit Waiter(ClientKey its_client) : client(its_client) {}
        const ClientKey client;
        bool is_admitted = false;  // under the lock
        Event admitted;
        ListLink link;
    };
    using Queue = IntrusiveList<Waiter, &Waiter::link>;

    ClientKey key_of(const net::Address& client) const;
    Result<void> wait_in_queue(Waiter& waiter, Nanoseconds patience);
    void admit_next(Queue& admitted);
    static void wake(Queue& admitted);

    const std::uint64_t seed_;  // of the hashes: nobody can choose an address to hit a counter
    const std::size_t waiting_max_;
    SpinLock lock_;  // guards all members below
    Shares connections_;
    Shares waiting_;  // places in queue_
    Shares streams_;
    Queue queue_;
};

}  // namespace weft::http
