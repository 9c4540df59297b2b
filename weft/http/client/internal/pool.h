// The pool of a client: its origins, and the connections to each.
//
// An Origin is what connections are kept for: one server by one way. Leases are given out in the
// order of asking; the connection that was used last is used first, and one that this worker used
// before those of others. The lock of an origin is held for a few instructions, never over I/O.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "weft/base/atomic.h"
#include "weft/base/intrusive_list.h"
#include "weft/base/metrics.h"
#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/http/client/client.h"
#include "weft/http/client/internal/connection.h"
#include "weft/net/address.h"
#include "weft/sync/event.h"
#include "weft/sync/semaphore.h"

namespace weft::http {

class ClientPool;
class Origin;

// Hosts that begin with it are paths of Unix sockets.
inline constexpr std::string_view kUnixPrefix = "unix:";

// How connections get there.
enum class Route : std::uint8_t {
    Direct,
    Tunnel,  // CONNECT through the client's proxy
};

struct OriginName {
    std::string_view host;  // a name, a number, or "unix:/path"
    std::uint16_t port = 0;
    bool is_secure = false;
    Route route = Route::Direct;

    friend auto operator<=>(const OriginName&, const OriginName&) = default;
};

// Ends the lease by closing the connection; Origin::give_back() is the other way.
struct EndLease {
    void operator()(ClientConnection* connection) const;
};
using Lease = std::unique_ptr<ClientConnection, EndLease>;

class Origin : public std::enable_shared_from_this<Origin> {
public:
    Origin(std::shared_ptr<ClientPool> pool, const OriginName& name);
    Origin(const Origin&) = delete;
    Origin& operator=(const Origin&) = delete;

    OriginName name() const { return {host_, port_, is_secure_, route_}; }
    std::string to_string() const;  // "host:port", for people
    ClientPool& pool() const { return *pool_; }

    struct Wanted {
        const ClientTimeouts& timeouts;
        Deadline total;
        bool fresh = false;     // a new connection
        bool careful = false;   // the request cannot be repeated: look well before using an old one
        bool admitted = false;  // somebody else counts: neither wait in line nor take a place
    };
    Result<Lease> acquire(const Wanted& wanted);
    // Kept for the next request if it can be, else closed. Does not wait.
    static void give_back(Lease lease);

    // Idle ones whose time is over, or all. Gives when the next one is due.
    Deadline close_idle(Instant now, bool all);
    bool is_unused() const;  // nothing idle; a moment's value

    // Of an idle connection: its server closed it, or speaks unasked.
    static void on_event(Dormant& dormant, std::uint8_t events);

private:
    friend struct EndLease;
    static constexpr std::size_t kShards = 8;
    using Idle = IntrusiveList<ClientConnection, &ClientConnection::link>;

    Result<void> wait_in_line(const Wanted& wanted);
    Result<Lease> connect(const Wanted& wanted);
    Lease take_idle(bool careful);
    ClientConnection* pop_idle();
    enum class Rest : std::uint8_t { Idle, Ready, Refused };
    Rest put_to_rest(ClientConnection& connection);
    void remove_idle(ClientConnection& connection);  // with the lock held
    void end_lease(ClientConnection* connection);

    const std::shared_ptr<ClientPool> pool_;  // with the client and the other origins
    const std::string host_;
    const std::uint16_t port_;
    const bool is_secure_;
    const Route route_;

    Semaphore permits_;
    Atomic<std::size_t> waiting_{0};
    mutable SpinLock lock_;  // idle_, idle_count_, and `state` to `idle_since` of connections
    std::array<Idle, kShards> idle_;  // by worker; the last used in front
    std::size_t idle_count_ = 0;
};

class ClientPool : public std::enable_shared_from_this<ClientPool> {
public:
    explicit ClientPool(ClientOptions options);

    const ClientOptions& options() const { return options_; }
    std::shared_ptr<Origin> origin(const OriginName& name);
    // Idle connections are closed, those that come back as well.
    void close();
    bool is_closed() const { return closed_.load(std::memory_order_seq_cst); }
    ClientCounters counters() const;

    net::Resolver& resolver() { return *resolver_; }
    // The options' context, or one that is made now.
    Result<std::shared_ptr<net::tls::ClientContext>> tls();

    // Of the idle connections: false when there are too many.
    bool add_idle();
    void remove_idle();
    // One has been put to rest: somebody shall look when its time is over.
    void watch_idle();

    struct Tally {
        Counter connected, reused, retried, dropped;
    } tally;

private:
    // Owns the strings of the key.
    struct Name {
        std::string host;
        std::uint16_t port;
        bool is_secure;
        Route route;
        operator OriginName() const { return {host, port, is_secure, route}; }
    };
    struct Less {
        using is_transparent = void;
        bool operator()(const OriginName& a, const OriginName& b) const { return a < b; }
    };

    std::shared_ptr<Origin> origin_after(const Origin* origin) const;
    Deadline close_idle(Instant now, bool all);
    void sweep();
    void do_without_sweep();

    const ClientOptions options_;
    const std::shared_ptr<net::Resolver> resolver_;  // with whoever gave it
    Atomic<bool> closed_{false};
    Atomic<std::size_t> idle_{0};
    Atomic<bool> sweeping_{false};
    Event wake_;             // of the sweeper, when the pool is closed
    mutable SpinLock lock_;  // origins_, tls_
    std::map<Name, std::shared_ptr<Origin>, Less> origins_;  // with their connections
    std::shared_ptr<net::tls::ClientContext> tls_;           // with connections that shake hands
};

}  // namespace weft::http
