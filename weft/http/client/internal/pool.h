// ClientPool and Origin: the connections of a client, by origin.
//
// An Origin is one server, reached by one route. Leases are granted in the order of the requests.
// The connection used last is reused first, and one that this worker used is preferred to those of
// other workers. The lock of an origin is held for a few instructions, never during I/O.
//
// Any fiber. A pool lives as long as its client or a connection; ClientPool::close() ends the idle
// connections and lets no further one become idle.
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

// A host that begins with this prefix is the path of a Unix socket.
inline constexpr std::string_view kUnixPrefix = "unix:";

// How a connection reaches its origin.
enum class Route : std::uint8_t {
    Direct,
    Tunnel,  // CONNECT through the client's proxy
};

struct OriginName {
    std::string_view host;  // a name, an IP address, or "unix:/path"
    std::uint16_t port = 0;
    bool is_secure = false;
    Route route = Route::Direct;

    friend auto operator<=>(const OriginName&, const OriginName&) = default;
};

// Ends a lease by closing the connection. Origin::give_back() keeps it for another request instead.
struct EndLease {
    void operator()(ClientConnection* connection) const;
};
using Lease = std::unique_ptr<ClientConnection, EndLease>;

class Origin : public std::enable_shared_from_this<Origin> {
public:
    Origin(std::shared_ptr<ClientPool> pool, const OriginName& name);
    ~Origin();
    Origin(const Origin&) = delete;
    Origin& operator=(const Origin&) = delete;

    OriginName name() const { return {host_, port_, is_secure_, route_}; }
    std::string to_string() const;  // "host:port", for people
    ClientPool& pool() const { return *pool_; }

    struct AcquireOptions {
        const ClientTimeouts& timeouts;
        Deadline total;
        bool fresh = false;      // use a new connection
        bool test_idle = false;  // the request cannot be repeated: test an idle connection first
        bool admitted = false;   // an Admission counts the connections: take no permit
    };
    Result<Lease> acquire(const AcquireOptions& options);
    // Keeps the connection for another request if it can be reused, else closes it. Does not wait.
    static void give_back(Lease lease);

    // Closes the idle connections that have reached their idle_until, or all. Returns when the next
    // one must be closed.
    Deadline close_idle(Instant now, bool all);
    bool is_unused() const;  // whether no connection is idle at this moment

    // Called by the reactor for an idle connection: its server has closed it or sent bytes.
    static void on_event(Dormant& dormant, std::uint8_t events);

private:
    friend struct EndLease;
    static constexpr std::size_t kShards = 8;
    using Idle = IntrusiveList<ClientConnection, &ClientConnection::link>;

    Result<void> wait_for_permit(const AcquireOptions& options);
    Result<Lease> connect(const AcquireOptions& options);
    Lease take_idle(bool test_idle);
    ClientConnection* pop_idle();
    // Idle: it is in its list and watched. Ready: there may be bytes to read. Refused: it must be
    // closed.
    enum class IdleOutcome : std::uint8_t { Idle, Ready, Refused };
    IdleOutcome enter_idle_list(ClientConnection& connection);
    void remove_idle(ClientConnection& connection);  // with the lock held
    void end_lease(ClientConnection* connection);
    void release_permit();

    const std::shared_ptr<ClientPool> pool_;  // shared with the client and the other origins
    const std::string host_;
    const std::uint16_t port_;
    const bool is_secure_;
    const Route route_;

    Semaphore permits_;               // one for each connection that may be leased
    Atomic<std::size_t> waiting_{0};  // requests that wait for a permit
    // Guards the members below, and `state` to `idle_since` of this origin's connections.
    mutable SpinLock lock_;
    std::array<Idle, kShards> idle_;  // by worker; the most recently used in front
    std::size_t idle_count_ = 0;      // in all lists
};

class ClientPool : public std::enable_shared_from_this<ClientPool> {
public:
    explicit ClientPool(ClientOptions options);
    ~ClientPool();
    ClientPool(const ClientPool&) = delete;
    ClientPool& operator=(const ClientPool&) = delete;

    const ClientOptions& options() const { return options_; }
    std::shared_ptr<Origin> origin(const OriginName& name);
    // Closes the idle connections; one that is given back later is closed too. Idempotent.
    void close();
    bool is_closed() const { return closed_.load(std::memory_order_seq_cst); }
    ClientCounters counters() const;

    net::Resolver& resolver() { return *resolver_; }
    // The context from the options, or one that the first call makes.
    Result<std::shared_ptr<net::tls::ClientContext>> tls();

    // Counts one idle connection more. False: ClientLimits::idle is reached, and it is not counted.
    bool add_idle();
    void remove_idle();
    // To be called when a connection has become idle: starts the fiber that closes idle
    // connections, unless it runs already.
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
    void on_sweep_not_started();

    const ClientOptions options_;
    const std::shared_ptr<net::Resolver> resolver_;  // shared with who set the options
    Atomic<bool> closed_{false};
    Atomic<std::size_t> idle_{0};   // connections that are idle or about to be
    Atomic<bool> sweeping_{false};  // whether the fiber that runs sweep() exists
    Event wake_;                    // set by close(), to end that fiber's wait
    mutable SpinLock lock_;         // guards the members below
    std::map<Name, std::shared_ptr<Origin>, Less> origins_;  // shared with their connections
    std::shared_ptr<net::tls::ClientContext> tls_;           // shared with TLS handshakes
};

}  // namespace weft::http
