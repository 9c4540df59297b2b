// ServerCore: the core of a server, with its shards and what they share.
// ServerShard: the part of a server that belongs to one worker.
//
// A shard has a listener on its worker for each address, the connections that live on that worker,
// and their pool of exchanges. Its lock guards lists and the states of connections, for a few
// instructions; no callback runs and no fiber waits under it.
//
// Any thread, unless a function says otherwise. Both are built by listen() and end with the server,
// whose destructor waits until the last connection has left the gate.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "weft/base/assert.h"
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

// A counter that one worker writes much more often than all others. That worker, which says
// `is_home`, adds without a locked instruction.
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
    // `worker` is its number in the runtime, `index` the shard's number in the server.
    ServerShard(ServerCore& core, unsigned worker, std::size_t index, const CancelToken& parent);
    ~ServerShard();

    ServerCore& core() { return core_; }
    unsigned worker() const { return worker_; }
    std::size_t index() const { return index_; }
    CancelState* token() const { return token_state_; }

    // How many connections live here, idle ones included.
    std::size_t connections() const { return connections_.load(std::memory_order_relaxed); }
    void add_connection() { connections_.fetch_add(1, std::memory_order_relaxed); }
    void remove_connection() {
        std::size_t before = connections_.fetch_sub(1, std::memory_order_relaxed);
        WEFT_ASSERT(before > 0, "the connection was counted here");
    }

    ServerCounters counters() const;

    // An exchange for a connection that becomes active, to be given back when it does not need it
    // any more. Null without memory.
    std::unique_ptr<Exchange> take_exchange();
    void give_back(std::unique_ptr<Exchange> exchange);
    // Destroys it instead, because a failure has left it in an unknown state.
    void drop(std::unique_ptr<Exchange> exchange);

    // Makes a connection idle that was just accepted or has nothing more to read. Idle: it waits
    // for its next bytes, and neither it nor its exchange, which may be null, is the caller's any
    // more. Ready: it has bytes to read. End: its descriptor is closed, or the server closes and it
    // was read for the last time.
    enum class Idling : std::uint8_t { Idle, Ready, End };
    Idling make_idle(Connection& connection, std::unique_ptr<Exchange>& exchange, Instant now);
    // By the callback of an idle connection whose bytes have come: it is the caller's now, with an
    // exchange, which is null without memory. False: it is being closed, and the caller does that.
    bool make_active(Connection& connection, std::unique_ptr<Exchange>& exchange);
    // The same for one that goes on in the loop of the worker, where it gets its exchange.
    bool make_active_in_loop(Connection& connection);
    // Queues the connection for one turn in the loop of the worker, unless it is queued already.
    void queue_for_loop(Connection& connection);
    void take_from_queue(Connection& connection);  // if it is queued
    // The time in a turn of the loop. Several requests share one reading of the clock. In that
    // loop only.
    Instant time_in_loop();
    // For a connection without memory for its fiber: it is tried again a little later, and closed
    // after ServerLimits::queue_delay. It is not the caller's any more.
    void strand(Connection& connection, Instant now);
    // How many connections have an exchange; it may have changed when the caller sees it.
    std::size_t active() const { return active_.load(std::memory_order_relaxed); }

    bool has_idle();  // it may have changed when the caller sees it
    // Since when the connection has been idle that has been so for longest, among those that wait
    // for their next request (KeepAlive) or for their first (Fresh); nothing if there is none.
    enum class IdleKind : bool { KeepAlive, Fresh };
    std::optional<Instant> oldest_idle(IdleKind which);
    // Closes that connection, or the next one if bytes of it are just coming. False: none was left.
    bool evict(IdleKind which);

    // Closes the idle connections whose time is over, tries the stranded ones again, and frees
    // spare exchanges. Gives when the next of these is due. By serve() alone.
    Deadline close_idle(Instant now);

    struct Tally {
        HomeCounter requests, responses;
        Counter accepted, refused, bad, shed, timeouts, gone, accept_pauses, stranded, evicted;
    } tally;
    // Whether the caller runs on the shard's own worker, as nearly all callers do; true until the
    // caller's next wait.
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
    // Frees the exchanges that a burst has left in the pool. Gives when to check again.
    Deadline free_spare(Instant now);

    ServerCore& core_;
    const unsigned worker_;
    const WorkerName home_;
    const std::size_t index_;
    CancelSource token_;
    CancelState* const token_state_ = token_.token().state();  // lives with the source
    Atomic<std::size_t> connections_{0};
    SpinLock lock_;
    // Under the lock, from here to active_. The first two in the order of their deadlines.
    ConnectionList fresh_;       // have not sent a request yet
    ConnectionList keep_alive_;  // wait for their next request
    ConnectionList stranded_;    // in the order of their last trial
    ConnectionList loop_queue_;
    bool turn_is_posted_ = false;  // the turn that serves loop_queue_
    std::int64_t posted_ns_ = 0;   // when that was
    Turn turn_;
    // The loop's own, without the lock.
    Instant loop_time_{};
    unsigned loop_requests_ = 0;
    std::unique_ptr<Exchange> pool_;
    std::size_t pooled_ = 0;
    std::size_t spare_ = 0;  // the fewest that were in the pool since spare_since_
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
    // How long a connection may be idle; `fresh`: before its first request.
    Nanoseconds idle_limit(bool fresh) const;
    Permits& permits() { return permits_; }  // of requests in handlers
    // While no more connections of a shard are active than this, its requests need no permits: so
    // many of ServerLimits::requests are set aside for each shard.
    std::size_t reserved_permits() const { return reserved_permits_; }
    BodyMemory& body_memory() { return body_memory_; }
    std::size_t connections() const { return places_.taken(); }

    // Counts a new connection. False: there are too many, and it is to be closed.
    bool admit(const net::Address& peer);
    // Closes the one that has been idle for longest, to make room. False if there is none.
    bool evict();
    // The shard with the fewest connections, for one that was accepted by `here`; counts it there.
    ServerShard& choose_shard(ServerShard& here);
    // Takes back admit() and choose_shard() for a client that there is no memory for.
    void refuse(ServerShard& home, const net::Address& peer);
    // Takes back admit(). The server may end during the call: the caller touches nothing of it
    // afterwards.
    void leave(const net::Address& peer);
    // Keeps the server from ending until leave_turn(), for a turn in a loop that was posted. The
    // caller has a connection, so the gate is open. leave_turn() is the caller's last touch.
    void enter_turn() {
        [[maybe_unused]] Result<void> entered = gate_.enter();
        WEFT_DASSERT(entered, "a connection that is there keeps the gate open");
    }
    void leave_turn() { gate_.leave(); }
    Gate& accepting() { return accepting_; }  // entered by each acceptor that has begun
    LogLimit& log_limit() { return log_limit_; }
    // Has serve() check acceptors and idle connections at once.
    void wake_serve() { wake_.set(); }
    // A connection has become idle until then at most: serve() checks it in time.
    void note_deadline(Deadline until);

private:
    Result<void> serve_inside();
    Result<void> begin_accepting();
    Deadline close_idle();
    Deadline resume_acceptors(Instant now);
    void end_connections();

    const Handler handler_;
    const ServerOptions options_;
    CancelSource source_;  // cancels all requests
    CancelSource drain_ = CancelSource::detached();
    CancelState* const drain_state_ = drain_.token().state();  // lives with the source
    std::vector<std::unique_ptr<ServerShard>> shards_;
    Atomic<bool> draining_{false};
    Atomic<bool> closing_{false};  // no connection becomes idle any more
    Places places_;
    SpinLock placing_;  // held by choose_shard(): two at once would choose the same shard
    BodyMemory body_memory_;
    Permits permits_;
    std::size_t reserved_permits_ = 0;
    Atomic<std::int64_t> next_check_ns_{kNeverNs};  // when serve() checks idle connections again
    LogLimit log_limit_;
    Event wake_;
    Gate accepting_;
    Gate gate_;     // entered by connections and posted turns; closed after accepting_
    Gate serving_;  // entered by calls of serve(), and by fibers that are to call it
};

}  // namespace weft::http
