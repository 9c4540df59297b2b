// A shard of a server: its connections, idle and in the loop, and its pool of exchanges; see
// core.h.
#include <algorithm>
#include <array>
#include <new>
#include <span>
#include <utility>

#include "weft/base/assert.h"
#include "weft/http/server/internal/core.h"

namespace weft::http {
namespace {

constexpr std::size_t kExchangesPooledMax = 256;  // by a shard
// Exchanges that were not needed for so long are freed.
constexpr Nanoseconds kSpareTime = std::chrono::seconds(10);
// A connection that got no memory for its fiber is tried again after this, so many at a time.
constexpr Nanoseconds kStrandedRetryDelay = std::chrono::milliseconds(10);
constexpr unsigned kStrandedAtOnceMax = 64;
// How many connections one turn of the loop serves, and how many of their requests share one
// reading of the clock.
constexpr std::size_t kConnectionsPerTurnMax = 64;
constexpr unsigned kRequestsPerClockRead = 16;

}  // namespace

ServerShard::ServerShard(ServerCore& core, unsigned worker, std::size_t index,
                         const CancelToken& parent)
    : core_(core),
      worker_(worker),
      home_(WorkerName::of(worker).value_or(WorkerName())),
      index_(index),
      token_(parent) {
    turn_.shard = this;
    turn_.run = [](Completion& turn) { static_cast<Turn&>(turn).shard->take_turn(); };
}

ServerShard::~ServerShard() {
    WEFT_ASSERT(connections() == 0, "a shard ends after its last connection");
    WEFT_DASSERT(!turn_is_posted_, "a turn of the loop would find no shard");
    destroy(std::move(pool_));
}

// One by one, because each owns the next: destroying the first would recurse through the chain.
void ServerShard::destroy(std::unique_ptr<Exchange> chain) {
    while (chain) chain = std::move(chain->next);
}

std::unique_ptr<Exchange> ServerShard::take_pooled() {
    // Relaxed: written under the lock only.
    active_.store(active_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    WEFT_DASSERT((pooled_ == 0) == !pool_, "the pool has as many exchanges as were counted");
    if (!pool_) return nullptr;
    std::unique_ptr<Exchange> taken = std::move(pool_);
    pool_ = std::move(taken->next);
    --pooled_;
    spare_ = std::min(spare_, pooled_);
    return taken;
}

// With a full pool the exchange stays the caller's, who destroys it when the lock is free again.
void ServerShard::pool(std::unique_ptr<Exchange>& exchange) {
    WEFT_DASSERT(active() > 0 && !exchange->next, "an exchange is in use or in the pool");
    // Relaxed: as above.
    active_.store(active_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    if (pooled_ == kExchangesPooledMax) return;
    exchange->next = std::move(pool_);
    pool_ = std::move(exchange);
    ++pooled_;
}

std::unique_ptr<Exchange> ServerShard::take_exchange() {
    std::unique_ptr<Exchange> taken;
    {
        SpinGuard guard(lock_);
        taken = take_pooled();
    }
    if (!taken) taken = make_exchange();
    return taken;
}

// Not by make_unique(), whose exception nobody would catch in a worker's loop.
std::unique_ptr<Exchange> ServerShard::make_exchange() {
    // tidy: allow new: owned at once
    std::unique_ptr<Exchange> made(new (std::nothrow) Exchange(core_.limits()));
    if (!made) uncount_exchange();
    return made;
}

// Takes an exchange out of active_ that was counted there and does not exist (any more).
void ServerShard::uncount_exchange() {
    SpinGuard guard(lock_);
    WEFT_ASSERT(active() > 0, "the exchange was counted");
    // Relaxed: written under the lock only.
    active_.store(active_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
}

void ServerShard::drop(std::unique_ptr<Exchange> exchange) {
    exchange.reset();
    uncount_exchange();
}

void ServerShard::give_back(std::unique_ptr<Exchange> exchange) {
    exchange->clear();
    SpinGuard guard(lock_);
    pool(exchange);
}

// Arms the descriptor under the lock: whoever makes the connection active or closes it must find it
// in its list. From then on the connection and the server may end, so nothing of them is touched
// after the lock.
ServerShard::Idling ServerShard::make_idle(Connection& connection,
                                           std::unique_ptr<Exchange>& exchange, Instant now) {
    bool fresh = connection.is_fresh();
    WEFT_DASSERT(connection.state != Connection::State::Idle && !connection.link.is_linked(),
                 "the connection is the caller's");
    if (exchange) exchange->clear();
    SpinGuard guard(lock_);
    if (core_.is_closing())
        return std::exchange(connection.had_last_read, true) ? Idling::End : Idling::Ready;
    auto armed = connection.stream().descriptor().arm(connection, kReadable | kHangUp);
    if (!armed) return Idling::End;
    if (!*armed) return Idling::Ready;
    connection.state = Connection::State::Idle;
    connection.idle_since = now;
    ConnectionList& list = fresh ? fresh_ : keep_alive_;
    bool first = list.empty();
    list.push_back(connection);
    // Those ahead of it in the list are due earlier, and serve() checks it when it checks them.
    if (first) core_.note_deadline(Deadline::after(core_.idle_limit(fresh), now));
    if (exchange) pool(exchange);
    return Idling::Idle;
}

bool ServerShard::make_active(Connection& connection, std::unique_ptr<Exchange>& exchange) {
    {
        SpinGuard guard(lock_);
        if (connection.state == Connection::State::Closing) return false;
        WEFT_DASSERT(connection.state == Connection::State::Idle, "an idle one is called, once");
        connection.state = Connection::State::Active;
        (connection.is_fresh() ? fresh_ : keep_alive_).erase(connection);
        exchange = take_pooled();
    }
    if (!exchange) exchange = make_exchange();
    return true;
}

bool ServerShard::make_active_in_loop(Connection& connection) {
    bool first = false;
    {
        SpinGuard guard(lock_);
        if (connection.state == Connection::State::Closing) return false;
        WEFT_DASSERT(connection.state == Connection::State::Idle, "an idle one is called, once");
        connection.state = Connection::State::Active;
        (connection.is_fresh() ? fresh_ : keep_alive_).erase(connection);
        first = enqueue(connection);
    }
    if (first) post_turn();
    return true;
}

void ServerShard::queue_for_loop(Connection& connection) {
    bool first = false;
    {
        SpinGuard guard(lock_);
        if (connection.link.is_linked()) return;
        first = enqueue(connection);
    }
    if (first) post_turn();
}

// Under the lock. True: no turn is posted yet, and the caller posts it after the lock.
bool ServerShard::enqueue(Connection& connection) {
    WEFT_DASSERT(connection.state != Connection::State::Idle, "an idle one is in another list");
    loop_queue_.push_back(connection);
    bool first = !std::exchange(turn_is_posted_, true);
    if (first) posted_ns_ = last_look().time_since_epoch().count();
    connection.ready_ns = posted_ns_;
    return first;
}

void ServerShard::take_from_queue(Connection& connection) {
    SpinGuard guard(lock_);
    if (connection.link.is_linked()) loop_queue_.erase(connection);
}

// The server exists: the connections in the queue cannot end before the turn that is posted here.
void ServerShard::post_turn() {
    core_.enter_turn();
    home_.post(turn_);
}

// Serves some of the queue. The others wait for another turn, so that the worker's fibers run in
// between. The turn is inside the gate, because what it calls may end the last connection.
void ServerShard::take_turn() {
    std::array<Connection*, kConnectionsPerTurnMax> taken;
    std::size_t count = 0;
    bool more = false;
    {
        SpinGuard guard(lock_);
        WEFT_DASSERT(turn_is_posted_, "a turn runs once for each time that it was posted");
        while (count < taken.size() && !loop_queue_.empty())
            taken[count++] = loop_queue_.pop_front();
        more = turn_is_posted_ = !loop_queue_.empty();
        // Those who are queued from now on have not waited since the first turn was posted.
        if (more) posted_ns_ = last_look().time_since_epoch().count();
    }
    if (more) post_turn();
    loop_requests_ = 0;
    for (Connection* connection : std::span(taken).first(count)) connection->run_in_loop();
    core_.leave_turn();
}

Instant ServerShard::time_in_loop() {
    WEFT_DASSERT(is_home(), "the loop's own");
    // A turn begins soon after the poll that has found its connections.
    if (loop_requests_ % kRequestsPerClockRead == 0)
        loop_time_ = loop_requests_ == 0 ? last_look() : Clock::now();
    ++loop_requests_;
    return loop_time_;
}

// After the lock nothing of the connection is touched, as in make_idle(): close_idle() may end it,
// and the server with it.
void ServerShard::strand(Connection& connection, Instant now) {
    tally.stranded.add();
    SpinGuard guard(lock_);
    if (connection.stranded_until.is_never())
        connection.stranded_until = Deadline::after(core_.limits().queue_delay, now);
    connection.idle_since = now;
    stranded_.push_back(connection);
    core_.note_deadline(Deadline::after(kStrandedRetryDelay, now));
}

// Tries some of them; each gets its fiber, or is stranded anew.
Deadline ServerShard::retry_stranded_ones(Instant now) {
    ConnectionList trying;
    ConnectionList closing;
    Deadline next = Deadline::never();
    {
        SpinGuard guard(lock_);
        for (unsigned count = 0; count < kStrandedAtOnceMax; ++count) {
            Connection* first = stranded_.front();
            if (!first || now < first->idle_since + kStrandedRetryDelay) break;
            stranded_.erase(*first);
            (first->stranded_until.expired(now) ? closing : trying).push_back(*first);
        }
        if (Connection* first = stranded_.front())
            next = Deadline::after(kStrandedRetryDelay, std::max(first->idle_since, now));
    }
    while (Connection* connection = trying.pop_front()) connection->retry_stranded();
    while (Connection* connection = closing.pop_front()) Connection::end(*connection);
    return next;
}

Deadline ServerShard::close_idle(Instant now) {
    ConnectionList closing;
    Deadline next = Deadline::never();
    {
        SpinGuard guard(lock_);
        for (ConnectionList* list : {&fresh_, &keep_alive_}) {
            Nanoseconds sleep = core_.idle_limit(list == &fresh_);
            while (Connection* first = list->front()) {
                Deadline until = Deadline::after(sleep, first->idle_since);
                if (!until.expired(now)) {
                    next = std::min(next, until);
                    break;
                }
                WEFT_ASSERT(first->state == Connection::State::Idle,
                            "the lists have idle connections");
                first->state = Connection::State::Closing;
                list->erase(*first);
                // Where this fails its callback is running: that finds the state Closing, and
                // closes the connection, which must not be in a list then.
                if (first->stream().descriptor().disarm(*first)) closing.push_back(*first);
            }
        }
    }
    while (Connection* connection = closing.pop_front()) connection->close_idle();
    return std::min({next, retry_stranded_ones(now), free_spare(now)});
}

bool ServerShard::has_idle() {
    SpinGuard guard(lock_);
    return !fresh_.empty() || !keep_alive_.empty();
}

std::optional<Instant> ServerShard::oldest_idle(IdleKind which) {
    SpinGuard guard(lock_);
    Connection* first = (which == IdleKind::Fresh ? fresh_ : keep_alive_).front();
    if (!first) return std::nullopt;
    return first->idle_since;
}

bool ServerShard::evict(IdleKind which) {
    Connection* evicted = nullptr;
    {
        SpinGuard guard(lock_);
        ConnectionList& list = which == IdleKind::Fresh ? fresh_ : keep_alive_;
        for (Connection* one = list.front(); one && !evicted; one = ConnectionList::next(*one)) {
            if (one->stream().descriptor().disarm(*one)) evicted = one;
        }
        if (!evicted) return false;
        WEFT_ASSERT(evicted->state == Connection::State::Idle, "the lists have idle connections");
        evicted->state = Connection::State::Closing;
        list.erase(*evicted);
    }
    tally.evicted.add();
    Connection::end(*evicted);
    return true;
}

Deadline ServerShard::free_spare(Instant now) {
    std::unique_ptr<Exchange> spare;
    Deadline next = Deadline::never();
    {
        SpinGuard guard(lock_);
        if (now >= spare_since_ + kSpareTime) {
            WEFT_ASSERT(spare_ <= pooled_, "spare exchanges are in the pool");
            pooled_ -= spare_;
            for (; spare_ > 0; --spare_) {
                std::unique_ptr<Exchange> first = std::move(pool_);
                pool_ = std::move(first->next);
                first->next = std::move(spare);
                spare = std::move(first);
            }
            spare_ = pooled_;
            spare_since_ = now;
        }
        if (pooled_ + active() > 0) next = Deadline::after(kSpareTime, spare_since_);
    }
    destroy(std::move(spare));
    return next;
}

ServerCounters ServerShard::counters() const {
    return {.connections = connections(),
            .accepted = tally.accepted.value(),
            .refused = tally.refused.value(),
            .requests = tally.requests.value(),
            .responses = tally.responses.value(),
            .bad = tally.bad.value(),
            .shed = tally.shed.value(),
            .timeouts = tally.timeouts.value(),
            .gone = tally.gone.value(),
            .accept_pauses = tally.accept_pauses.value(),
            .evicted = tally.evicted.value(),
            .stranded = tally.stranded.value()};
}

}  // namespace weft::http
