// The core of a server: its shards, and what they share.
//
// A shard belongs to one worker: it has a listener there for each address, the connections that
// came through it, and their pool of exchanges. Its lock guards lists for a few instructions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/base/intrusive_list.h"
#include "weft/base/log_limit.h"
#include "weft/base/metrics.h"
#include "weft/base/spin_lock.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/schedule/placement.h"
#include "weft/http/internal/body_memory.h"
#include "weft/http/server/internal/acceptor.h"
#include "weft/http/server/internal/connection.h"
#include "weft/http/server/internal/exchange.h"
#include "weft/http/server/internal/permits.h"
#include "weft/http/server/internal/places.h"
#include "weft/http/server/server.h"
#include "weft/net/socket.h"
#include "weft/sync/event.h"
#include "weft/sync/gate.h"

namespace weft::http {

class ServerCore;

// A counter that one worker writes much more often than all others: its own adding locks nothing.
class HomeCounter {
public:
    void add(bool is_home) { is_home ? home_.add_as_owner() : others_.add(); }
    std::uint64_t value() const { return home_.value() + others_.value(); }

private:
    Counter home_;
    Counter others_;
};

class ServerShard {
public:
    // Of this worker; `index` counts the shards of the server.
    ServerShard(ServerCore& core, unsigned worker, std::size_t index, const CancelToken& parent);
    ~ServerShard();

    ServerCore& core() { return core_; }
    unsigned worker() const { return worker_; }
    std::size_t index() const { return index_; }
    CancelState* token() const { return token_state_; }

    // The connections that live here.
    std::size_t connections() const { return connections_.load(std::memory_order_relaxed); }
    void add_connection() { connections_.fetch_add(1, std::memory_order_relaxed); }
    void remove_connection() { connections_.fetch_sub(1, std::memory_order_relaxed); }

    ServerCounters counters() const;

    // For a connection that is to be awake, until it is given back. Null without memory.
    std::unique_ptr<Exchange> take_exchange();
    void give_back(std::unique_ptr<Exchange> exchange);
    // The same for one in which something is left that nobody knows of.
    void drop(std::unique_ptr<Exchange> exchange);

    // A connection that was just accepted, or has nothing more to read, until its next bytes.
    // Asleep: it is no longer the caller's, nor is its exchange, which may be null. Ready: there
    // are bytes. End: it has had its last look.
    enum class Idling : std::uint8_t { Idle, Ready, End };
    Idling make_idle(Connection& connection, std::unique_ptr<Exchange>& exchange, Instant now);
    // Its bytes have come. False: somebody is closing it, and the caller does that now. The
    // exchange is null without memory.
    bool make_active(Connection& connection, std::unique_ptr<Exchange>& exchange);
    // The same for one that goes on in the loop of the worker. False: somebody is closing it.
    bool make_active_in_loop(Connection& connection);
    // It has a turn in the loop of the worker soon, once. Any thread.
    void queue_for_loop(Connection& connection);
    void take_from_queue(Connection& connection);  // if it is there
    // The time in a turn of the loop; the clock is read for some of its requests alone.
    Instant time_in_loop();
    // There is no memory for its fiber: it is tried again a little later, and closed after
    // queue_delay. It is no longer the caller's.
    void strand(Connection& connection, Instant now);
    // Connections with an exchange; a moment's truth.
    std::size_t active() const { return active_.load(std::memory_order_relaxed); }

    bool has_idle();  // a moment's truth
    // Of the one that has slept for longest among those that wait for their next request, or for
    // their first; nothing if there is none.
    enum class IdleKind : bool { KeepAlive, Fresh };
    std::optional<Instant> oldest_idle(IdleKind which);
    // Closes it, or the next one if its bytes are just coming.
    bool evict(IdleKind which);

    // Those whose time is over, and spare exchanges; and stranded ones are tried again. Gives when
    // the next one is due.
    Deadline close_idle(Instant now);

    struct Tally {
        HomeCounter requests, responses;
        Counter accepted, refused, bad, shed, timeouts, gone, accept_pauses, stranded, evicted;
    } tally;
    // Whether the caller runs on the shard's own worker, as nearly all that is done for it does;
    // until its next wait.
    bool is_home() const { return home_.is_here(); }
    std::vector<std::unique_ptr<Acceptor>> acceptors;

private:
    using ConnectionList = IntrusiveList<Connection, &Connection::link>;

    // Under the lock.
    std::unique_ptr<Exchange> take_pooled();
    void pool(std::unique_ptr<Exchange>& exchange);

    bool enqueue(Connection& connection);
    void post_turn();
    void take_turn();
    struct Turn : Completion {
        ServerShard* shard = nullptr;
    };

    std::unique_ptr<Exchange> make_exchange();
    void uncount_exchange();
    static void destroy(std::unique_ptr<Exchange> chain);
    Deadline retry_stranded_ones(Instant now);
    // Frees what a burst has left in the pool. Gives when to look again.
    Deadline free_spare(Instant now);

    ServerCore& core_;
    const unsigned worker_;
    const WorkerName home_;
    const std::size_t index_;
    CancelSource token_;
    CancelState* const token_state_ = token_.token().state();  // lives with the source
    Atomic<std::size_t> connections_{0};
    SpinLock lock_;
    ConnectionList fresh_;  // have not sent anything yet; both in the order of their deadlines
    ConnectionList keep_alive_;
    ConnectionList stranded_;  // in the order of their last trial
    ConnectionList loop_queue_;
    bool turn_is_posted_ = false;  // the turn in which they are looked at
    std::int64_t posted_ns_ = 0;
    Turn turn_;
    // Of the loop alone.
    Instant loop_time_{};
    unsigned loop_requests_ = 0;
    std::unique_ptr<Exchange> pool_;
    std::size_t pooled_ = 0;
    std::size_t spare_ = 0;  // the fewest that were in the pool since then
    Instant spare_since_{};
    Atomic<std::size_t> active_{0};  // written under the lock
};

class ServerCore {
public:
    ServerCore(Handler handler, ServerOptions options);
    ~ServerCore();

    Result<net::Address> listen(const net::Address& address,
                                std::shared_ptr<net::tls::ServerContext> tls,
                                net::ListenOptions options);
    Result<void> serve();
    Future<void> start();
    void drain();
    void close();
    ServerCounters counters() const;
    std::vector<ServerCounters> worker_counters() const;

    const Handler& handler() const { return handler_; }
    const ServerOptions& options() const { return options_; }
    const ServerLimits& limits() const { return options_.limits; }
    // seq_cst, both: see drain() and make_idle().
    bool is_draining() const { return draining_.load(std::memory_order_seq_cst); }
    bool is_closing() const { return closing_.load(std::memory_order_seq_cst); }
    // Cancelled when the drain begins.
    CancelState* drain_token() const { return drain_state_; }
    // How long a connection may be asleep.
    Nanoseconds idle_limit(bool fresh) const;
    Permits& permits() { return permits_; }  // of requests in handlers
    // A shard where so few connections are awake needs no permits: as many requests are set aside
    // for each.
    std::size_t reserved_permits() const { return reserved_permits_; }
    BodyMemory& body_memory() { return body_memory_; }
    std::size_t connections() const { return places_.taken(); }

    // Of a new connection; false when there are too many.
    bool admit(const net::Address& peer);
    // Closes the one that has been idle for longest, to make room. False if there is none.
    bool evict();
    // Where a connection that came through `here` is to live: where the fewest do. It is counted
    // there.
    ServerShard& choose_shard(ServerShard& here);
    // For one who was admitted and lives there: there is no memory for more.
    void refuse(ServerShard& home, const net::Address& peer);
    // The caller's last touch of the core.
    void leave(const net::Address& peer);
    // Of a turn in a loop that is to come, for a connection that is there; it keeps the server.
    void enter_turn() { static_cast<void>(gate_.enter()); }
    void leave_turn() { gate_.leave(); }      // the caller's last touch
    Gate& accepting() { return accepting_; }  // of the acceptors
    LogLimit& log_limit() { return log_limit_; }
    // An acceptor rests.
    void wake_serve() { wake_.set(); }
    // Somebody has gone to sleep until then.
    void note_deadline(Deadline until);

private:
    Result<void> serve_inside();
    Result<void> begin_accepting();
    Deadline close_idle();
    Deadline resume_acceptors(Instant now);
    void end_connections();

    const Handler handler_;
    const ServerOptions options_;
    CancelSource source_;  // of all requests
    CancelSource drain_ = CancelSource::detached();
    CancelState* const drain_state_ = drain_.token().state();  // lives with the source
    std::vector<std::unique_ptr<ServerShard>> shards_;
    Atomic<bool> draining_{false};
    Atomic<bool> closing_{false};  // nobody sleeps any more
    Places places_;
    SpinLock placing_;  // one after the other, so that all see the same
    BodyMemory body_memory_;
    Permits permits_;
    std::size_t reserved_permits_ = 0;
    Atomic<std::int64_t> next_check_ns_{kNeverNs};  // when serve() looks for idle ones again
    LogLimit log_limit_;
    Event wake_;
    Gate accepting_;
    Gate gate_;     // of the connections; closed after the other
    Gate serving_;  // of calls of serve(), and of fibers that are to call it
};

}  // namespace weft::http
