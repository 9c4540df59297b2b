#include "weft/http/server/internal/core.h"

#include <algorithm>
#include <utility>

#include "weft/base/assert.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/schedule/placement.h"

namespace weft::http {
namespace {

// In a drain idle connections are closed when they have been idle for so long.
constexpr Nanoseconds kDrainGrace = std::chrono::milliseconds(100);
// A client that has connected and sent nothing for so long may be evicted.
constexpr Nanoseconds kFreshEvictableAfter = std::chrono::milliseconds(250);
// This part of a shard's even share of ServerLimits::requests is reserved for it.
constexpr std::size_t kReserveDivisor = 32;

}  // namespace

ServerCore::ServerCore(Handler handler, ServerOptions options)
    : handler_(std::move(handler)),
      options_(std::move(options)),
      source_(CancelToken()),
      body_memory_(limits().bodies_bytes) {}

// Waits for every serve(), also for those that are still to begin; their last touch is leaving the
// gate.
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
        WEFT_ASSERT(!workers.empty(), "a fiber has a worker");
        source_ = CancelSource();
        places_.set_limits(Places::limits_for(limits(), net::descriptor_limit()));
        reserved_permits_ = limits().requests / (workers.size() * kReserveDivisor);
        WEFT_ASSERT(reserved_permits_ * workers.size() <= limits().requests,
                    "no more is reserved than there is");
        permits_.configure(limits().requests - reserved_permits_ * workers.size(),
                           limits().requests_waiting, workers.size());
        for (unsigned worker : workers) {
            shards_.push_back(
                std::make_unique<ServerShard>(*this, worker, shards_.size(), source_.token()));
        }
    }
    // The shards and not `workers`: those of the first call serve, also where this caller could use
    // others.
    bool shared = address.kind() == net::Address::Kind::Ip && shards_.size() > 1;
    if (shared) {
        // The listeners of the shards share the port, and could therefore join those of another
        // server. An exclusive listener finds out first whether the port is free.
        bool exclusive = options.reuse_port == net::ReusePort::No && address.port() != 0;
        if (exclusive) WEFT_TRY(net::Listener::open(address, options));
        options.reuse_port = net::ReusePort::Yes;
    }
    net::Address bound = address;
    std::vector<net::Listener> listeners;
    for (std::size_t count = shared ? shards_.size() : 1; count > 0; --count) {
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

// The function owns the hold, which therefore ends also where the function never runs.
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
    // The requests are below the ambient context, so its end cancels them, too.
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

// Resumes the acceptors whose back-off has passed. Gives when to check the others.
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

// A client that has just been answered may have sent its next request already, and one that has
// just connected its first. So idle connections have until kDrainGrace, and what comes by then is
// served, also of those who connect at the end of it.
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
    // Twice the time, for a connection that was made active for nothing and became idle again.
    Deadline last_word = Deadline::after(2 * kDrainGrace);
    for (;;) {
        Deadline next = close_idle();
        bool anybody =
            std::ranges::any_of(shards_, [](const auto& shard) { return shard->has_idle(); });
        if (!anybody || last_word.expired(Clock::now()) || is_closing()) break;
        static_cast<void>(wake_.wait_until(std::min(next, last_word)));
        wake_.reset();
    }
    // seq_cst: from here on no connection becomes idle; those that did are in their lists.
    closing_.store(true, std::memory_order_seq_cst);
    for (;;) {
        Deadline next = close_idle();
        if (places_.is_empty()) break;
        static_cast<void>(wake_.wait_until(next));
        wake_.reset();
    }
    // The last ones have given their places back and are about to leave the gate.
    static_cast<void>(gate_.close());
}

Nanoseconds ServerCore::idle_limit(bool fresh) const {
    Nanoseconds sleep = fresh ? limits().header_time : limits().idle;
    if (is_closing()) return Nanoseconds::zero();
    return is_draining() ? std::min(sleep, kDrainGrace) : sleep;
}

Deadline ServerCore::close_idle() {
    // A connection that becomes idle from here on is compared with this; see note_deadline().
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
    // seq_cst, as the stores in close_idle(): either that finds the idle connection in its list, or
    // the load here sees that serve() would not check it in time.
    if (until.instant().time_since_epoch().count() < next_check_ns_.load(std::memory_order_seq_cst))
        wake_.set();
}

void ServerCore::drain() {
    // seq_cst: a connection that becomes idle computes its deadline after this store, or is found
    // in its list.
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
    // The gate is closed only after the last acceptor has ended.
    if (gate_.enter()) return true;
    places_.give_back(peer);
    return false;
}

// Closes connections that wait for their next request first; then those that have sent nothing for
// a while after connecting, which a client with a request does not do. Never in a drain, which
// serves or closes each by itself.
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
    // Either end_connections() sees that no connection is left, or this sees that it waits.
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
