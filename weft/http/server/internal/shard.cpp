// A shard of a server: its connections, idle and in the loop, and its pool of exchanges; see core.h.
#include <algorithm>
#include <array>
#include <new>
#include <span>
#include <utility>

#include "weft/http/server/internal/core.h"

namespace weft::http {
namespace {

constexpr std::size_t kExchangesPooledMax = 256;  // by a shard
// Exchanges that nobody has needed for as long are freed.
constexpr Nanoseconds kSpareTime = std::chrono::seconds(10);
// Without memory for a fiber; then a connection is tried again, so many at a time.
constexpr Nanoseconds kStrandedRetryDelay = std::chrono::milliseconds(10);
constexpr unsigned kStrandedAtOnceMax = 64;
// Connections that are looked at in a turn of the loop, and their requests that share a look at the
// clock.
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

ServerShard::~ServerShard() { destroy(std::move(pool_)); }

// One by one: a long chain of owners would be destroyed recursively.
void ServerShard::destroy(std::unique_ptr<Exchange> chain) {
    while (chain) chain = std::move(chain->next);
}

std::unique_ptr<Exchange> ServerShard::take_pooled() {
    // Relaxed: written under the lock only.
    active_.store(active_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (!pool_) return nullptr;
    std::unique_ptr<Exchange> taken = std::move(pool_);
    pool_ = std::move(taken->next);
    --pooled_;
    spare_ = std::min(spare_, pooled_);
    return taken;
}

// Leaves it to the caller if there are enough: it is destroyed when the lock is free again.
void ServerShard::pool(std::unique_ptr<Exchange>& exchange) {
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

// Not by make_unique: in a worker's loop nobody would catch what that throws.
std::unique_ptr<Exchange> ServerShard::make_exchange() {
    // tidy: allow new: owned at once
    std::unique_ptr<Exchange> made(new (std::nothrow) Exchange(core_.limits()));
    if (!made) uncount_exchange();
    return made;
}

// It was counted, and there is none.
void ServerShard::uncount_exchange() {
    SpinGuard guard(lock_);
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

// Under the lock: whoever wakes it or closes it must find it in its list; and once that can be
// done, the server may end, so nothing of it is touched after the lock.
ServerShard::Idling ServerShard::make_idle(Connection& connection,
                                            std::unique_ptr<Exchange>& exchange, Instant now) {
    bool fresh = connection.is_fresh();
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
    // Behind others it is looked at when they are.
    if (first) core_.note_deadline(Deadline::after(core_.idle_limit(fresh), now));
    if (exchange) pool(exchange);
    return Idling::Idle;
}

bool ServerShard::make_active(Connection& connection, std::unique_ptr<Exchange>& exchange) {
    {
        SpinGuard guard(lock_);
        if (connection.state == Connection::State::Closing) return false;
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

// Under the lock. True: the caller posts the turn.
bool ServerShard::enqueue(Connection& connection) {
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

// Whoever posts it is the only one who can let those in the queue go on, so the server is there.
void ServerShard::post_turn() {
    core_.enter_turn();
    home_.post(turn_);
}

// Some of them; the others have to wait for another turn, so that the worker's fibers have theirs.
// The turn is inside the gate: what it calls may end the last connection.
void ServerShard::take_turn() {
    std::array<Connection*, kConnectionsPerTurnMax> taken;
    std::size_t count = 0;
    bool more = false;
    {
        SpinGuard guard(lock_);
        while (count < taken.size() && !loop_queue_.empty()) taken[count++] = loop_queue_.pop_front();
        more = turn_is_posted_ = !loop_queue_.empty();
        // Those who come from now on have not waited since the queue was empty for the last time.
        if (more) posted_ns_ = last_look().time_since_epoch().count();
    }
    if (more) post_turn();
    loop_requests_ = 0;
    for (Connection* connection : std::span(taken).first(count)) connection->run_in_loop();
    core_.leave_turn();
}

Instant ServerShard::time_in_loop() {
    // A turn begins soon after the look that has found its connections.
    if (loop_requests_ % kRequestsPerClockRead == 0)
        loop_time_ = loop_requests_ == 0 ? last_look() : Clock::now();
    ++loop_requests_;
    return loop_time_;
}

// Under the lock, as in make_idle(): whoever looks may end it, and the server with it.
void ServerShard::strand(Connection& connection, Instant now) {
    tally.stranded.add();
    SpinGuard guard(lock_);
    if (connection.stranded_until.is_never())
        connection.stranded_until = Deadline::after(core_.limits().queue_delay, now);
    connection.idle_since = now;
    stranded_.push_back(connection);
    core_.note_deadline(Deadline::after(kStrandedRetryDelay, now));
}

// Some of them; each is stranded anew, or has its fiber.
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
                first->state = Connection::State::Closing;
                list->erase(*first);
                // If it is being called at this moment, it finds the state and closes itself; it
                // must not be in a list then.
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
