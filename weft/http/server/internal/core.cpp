#include "weft/http/server/internal/core.h"

#include <algorithm>
#include <array>
#include <new>
#include <span>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/log.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/schedule/placement.h"

namespace weft::http {
namespace {

constexpr std::size_t kExchangesPooledMax = 256;  // by a shard
// Exchanges that nobody has needed for as long are freed.
constexpr Nanoseconds kSpareTime = std::chrono::seconds(10);
// Without memory for a fiber; then a connection is tried again, so many at a time.
constexpr Nanoseconds kStrandedRetryDelay = std::chrono::milliseconds(10);
constexpr unsigned kStrandedAtOnceMax = 64;
constexpr Nanoseconds kDrainGrace = std::chrono::milliseconds(100);
// One who has connected and said nothing for as long may be evicted.
constexpr Nanoseconds kFreshEvictableAfter = std::chrono::milliseconds(250);
// Connections that are looked at in a turn of the loop, and their requests that share a look at the
// clock.
constexpr std::size_t kConnectionsPerTurnMax = 64;
constexpr unsigned kRequestsPerClockRead = 16;
// One of so many requests of a shard's even share is its own, and nobody else's.
constexpr std::size_t kReserveDivisor = 32;

}  // namespace

// ---------------------------------------------------------------- a shard

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

// ---------------------------------------------------------------- the core

ServerCore::ServerCore(Handler handler, ServerOptions options)
    : handler_(std::move(handler)),
      options_(std::move(options)),
      source_(CancelToken()),
      body_memory_(limits().bodies_bytes) {}

// Whoever serves or is about to is waited for; the leave of the gate is their last touch.
ServerCore::~ServerCore() {
    if (serving_.inside() != 0) {
        const CancelState* ambient = CancelToken::current().state();
        WEFT_ASSERT(!ambient || !ambient->is_below(source_.token().state()),
                    "a request destroys its own server, which would wait for that request for "
                    "ever");
        close();
    }
    shield(Deadline::never(), [this] { static_cast<void>(serving_.close()); });
    WEFT_ASSERT(gate_.inside() == 0, "a server ended before its last connection");
}

Result<net::Address> ServerCore::listen(const net::Address& address,
                                        std::shared_ptr<net::tls::ServerContext> tls,
                                        net::ListenOptions options) {
    std::vector<unsigned> workers = WEFT_TRY(workers_here());
    net::raise_descriptor_limit();
    if (shards_.empty()) {
        source_ = CancelSource();
        places_.set_limits(Places::limits_for(limits(), net::descriptor_limit()));
        reserved_permits_ = limits().requests / (workers.size() * kReserveDivisor);
        permits_.configure(limits().requests - reserved_permits_ * workers.size(), limits().requests_waiting,
                      workers.size());
        for (unsigned worker : workers) {
            shards_.push_back(
                std::make_unique<ServerShard>(*this, worker, shards_.size(), source_.token()));
        }
    }
    bool shared = address.kind() == net::Address::Kind::Ip && workers.size() > 1;
    if (shared) {
        // Our listeners share the port among themselves, which would also let them join those of
        // another server: first see that it is free.
        bool exclusive = options.reuse_port == net::ReusePort::No && address.port() != 0;
        if (exclusive) WEFT_TRY(net::Listener::open(address, options));
        options.reuse_port = net::ReusePort::Yes;
    }
    net::Address bound = address;
    std::vector<net::Listener> listeners;
    for (std::size_t count = shared ? workers.size() : 1; count > 0; --count) {
        listeners.push_back(WEFT_TRY(net::Listener::open(bound, options)));
        bound = listeners.front().address();
    }
    for (std::size_t index = 0; index < listeners.size(); ++index) {
        ServerShard& shard = *shards_[index];
        shard.acceptors.push_back(
            std::make_unique<Acceptor>(shard, std::move(listeners[index]), tls));
    }
    return bound;
}

Result<void> ServerCore::serve() {
    Gate::Hold hold = WEFT_TRY(serving_.hold());
    return serve_inside();
}

// The hold goes with the function, also where that never runs.
Future<void> ServerCore::start() {
    Result<Gate::Hold> hold = serving_.hold();
    if (!hold) return Future<void>(hold.error());
    return spawn([this, held = std::move(*hold)] { return serve_inside(); }, {.name = "server"});
}

Result<void> ServerCore::serve_inside() {
    if (shards_.empty()) return Error(ErrorKind::Misuse, "a server listens before it serves");
    Result<void> outcome = begin_accepting();
    while (outcome && !is_draining()) {
        Deadline resting = resume_acceptors(Clock::now());
        Result<void> woken = wake_.wait_until(std::min(close_idle(), resting));
        wake_.reset();
        if (woken || woken.error().kind() == ErrorKind::TimedOut) continue;
        outcome = woken.error();
        break;
    }
    // The end of the ambient context reaches the requests by itself.
    drain();
    shield(Deadline::never(), [this] { end_connections(); });
    return outcome;
}

Result<void> ServerCore::begin_accepting() {
    for (auto& shard : shards_) {
        for (auto& acceptor : shard->acceptors) WEFT_TRY(acceptor->begin());
    }
    return {};
}

// Those whose back-off has passed; the others a little later.
Deadline ServerCore::resume_acceptors(Instant now) {
    Deadline next = Deadline::never();
    for (auto& shard : shards_) {
        for (auto& acceptor : shard->acceptors) {
            if (!acceptor->is_backing_off()) continue;
            if (acceptor->back_off_has_passed(now)) {
                acceptor->resume();
            } else {
                next = Deadline::after(Acceptor::kBackOff, now);
            }
        }
    }
    return next;
}

// Who has just been answered may have sent his next request already, and who has just connected his
// first: they have a moment, and what comes in it is served; also those who connect at the end of
// it. All others are closed at once.
void ServerCore::end_connections() {
    Instant begun = Clock::now();
    for (;;) {
        Deadline next = close_idle();
        Deadline last_accept = Deadline::after(idle_limit(true), begun);
        if (last_accept.expired(Clock::now())) break;
        static_cast<void>(wake_.wait_until(std::min(next, last_accept)));
        wake_.reset();
    }
    for (auto& shard : shards_) {
        for (auto& acceptor : shard->acceptors) acceptor->stop();
    }
    static_cast<void>(accepting_.close());
    // Twice, for one who was woken for nothing and sleeps anew.
    Deadline last_word = Deadline::after(2 * kDrainGrace);
    for (;;) {
        Deadline next = close_idle();
        bool anybody =
            std::ranges::any_of(shards_, [](const auto& shard) { return shard->has_idle(); });
        if (!anybody || last_word.expired(Clock::now()) || is_closing()) break;
        static_cast<void>(wake_.wait_until(std::min(next, last_word)));
        wake_.reset();
    }
    // seq_cst: from here on nobody goes to sleep any more; those who did are in their lists.
    closing_.store(true, std::memory_order_seq_cst);
    for (;;) {
        Deadline next = close_idle();
        if (places_.is_empty()) break;
        static_cast<void>(wake_.wait_until(next));
        wake_.reset();
    }
    // They are on their way out.
    static_cast<void>(gate_.close());
}

Nanoseconds ServerCore::idle_limit(bool fresh) const {
    Nanoseconds sleep = fresh ? limits().header_time : limits().idle;
    if (is_closing()) return Nanoseconds::zero();
    return is_draining() ? std::min(sleep, kDrainGrace) : sleep;
}

Deadline ServerCore::close_idle() {
    // Whoever goes to sleep from here on compares with this; see note_deadline().
    next_check_ns_.store(kNeverNs, std::memory_order_seq_cst);
    Instant now = Clock::now();
    Deadline next = Deadline::never();
    for (auto& shard : shards_) next = std::min(next, shard->close_idle(now));
    if (!next.is_never()) {
        next_check_ns_.store(next.instant().time_since_epoch().count(), std::memory_order_seq_cst);
    }
    return next;
}

void ServerCore::note_deadline(Deadline until) {
    // seq_cst, as the stores in close_idle(): either it sees the sleeper in its list, or the
    // sleeper sees that nobody is going to look in time.
    if (until.instant().time_since_epoch().count() < next_check_ns_.load(std::memory_order_seq_cst))
        wake_.set();
}

void ServerCore::drain() {
    // seq_cst: whoever goes to sleep computes until when after that, or is found in its list.
    draining_.store(true, std::memory_order_seq_cst);
    drain_.cancel(CancelReason::Shutdown);
    wake_.set();
}

void ServerCore::close() {
    closing_.store(true, std::memory_order_seq_cst);
    drain();
    source_.cancel(CancelReason::Cancelled);
}

bool ServerCore::admit(const net::Address& peer) {
    Places::Taken taken = places_.take(peer);
    if (taken == Places::Taken::Full && evict()) taken = places_.take(peer);
    if (taken != Places::Taken::Yes) return false;
    // Closed only when no acceptor is left.
    if (gate_.enter()) return true;
    places_.give_back(peer);
    return false;
}

// Those that wait for their next request first; then those that have connected and said nothing for
// a while, which one who has something to say does not. Not in a drain, which has a word for each.
bool ServerCore::evict() {
    if (is_draining()) return false;
    using IdleKind = ServerShard::IdleKind;
    Instant said_nothing_since = Clock::now() - kFreshEvictableAfter;
    for (IdleKind which : {IdleKind::KeepAlive, IdleKind::Fresh}) {
        ServerShard* found = nullptr;
        Instant since = which == IdleKind::Fresh ? said_nothing_since : Instant::max();
        for (auto& shard : shards_) {
            std::optional<Instant> asleep = shard->oldest_idle(which);
            if (!asleep || *asleep >= since) continue;
            since = *asleep;
            found = shard.get();
        }
        if (found && found->evict(which)) return true;
    }
    return false;
}

void ServerCore::refuse(ServerShard& home, const net::Address& peer) {
    home.tally.refused.add();
    home.remove_connection();
    leave(peer);
}

void ServerCore::leave(const net::Address& peer) {
    // Either end_connections() sees that nobody is left, or this one sees that it waits.
    if (places_.give_back(peer) && is_closing()) wake_.set();
    gate_.leave();
}

ServerShard& ServerCore::choose_shard(ServerShard& here) {
    SpinGuard guard(placing_);
    ServerShard* least = &here;
    for (auto& shard : shards_) {
        if (shard->connections() < least->connections()) least = shard.get();
    }
    least->add_connection();
    return *least;
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

std::vector<ServerCounters> ServerCore::worker_counters() const {
    std::vector<ServerCounters> all;
    for (const auto& shard : shards_) all.push_back(shard->counters());
    return all;
}

ServerCounters ServerCore::counters() const {
    ServerCounters sum;
    for (const ServerCounters& one : worker_counters()) {
        sum.connections += one.connections;
        sum.accepted += one.accepted;
        sum.refused += one.refused;
        sum.requests += one.requests;
        sum.responses += one.responses;
        sum.bad += one.bad;
        sum.shed += one.shed;
        sum.timeouts += one.timeouts;
        sum.gone += one.gone;
        sum.accept_pauses += one.accept_pauses;
        sum.evicted += one.evicted;
        sum.stranded += one.stranded;
    }
    return sum;
}

}  // namespace weft::http
