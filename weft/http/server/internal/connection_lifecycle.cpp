// How a connection begins, becomes idle or active, and ends; its requests are in connection.cpp.
#include <chrono>
#include <new>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/log.h"
#include "weft/base/planted.h"
#include "weft/http/server/internal/connection.h"
#include "weft/http/server/internal/core.h"
#include "weft/http/server/internal/exchange.h"
#include "weft/net/tls/tls_stream.h"

namespace weft::http {
namespace {

// With at most so many active connections, none can have waited long for the worker.
constexpr std::size_t kActiveMeasuredMin = 32;

Deadline age_limit(Nanoseconds age, Instant begun) {
    // Give or take 15 %, so that clients that came together do not reconnect together.
    std::uint64_t percent = 85 + env::random(RandomStream::Workload) % 31;
    return Deadline::after(
        saturate(std::chrono::duration<double>(age) * (static_cast<double>(percent) / 100.0)),
        begun);
}

}  // namespace

Connection::Connection(ServerShard& shard, std::unique_ptr<net::Stream> stream, net::Address peer,
                       std::shared_ptr<net::tls::ServerContext> tls)
    : Dormant{on_bytes},
      shard_(shard),
      stream_(std::move(stream)),
      tls_(std::move(tls)),
      peer_(std::move(peer)),
      ends_at_(age_limit(shard.core().limits().connection_age, begun_)),
      has_loop_handler_(shard.core().options().loop_handler && !tls_) {}

Connection::~Connection() = default;

void Connection::begin(ServerShard& shard, std::unique_ptr<net::Stream> stream, net::Address peer,
                       std::shared_ptr<net::tls::ServerContext> tls) {
    // Not by make_unique(), whose exception nobody would catch in a worker's loop. The address is
    // copied because the failed allocation has taken the other one with it.
    net::Address admitted = peer;
    auto* connection = new (std::nothrow)  // tidy: allow new: it destroys itself in end()
        Connection(shard, std::move(stream), std::move(peer), std::move(tls));
    if (!connection) return shard.core().refuse(shard, admitted);
    std::unique_ptr<Exchange> none;
    switch (shard.make_idle(*connection, none, Clock::now())) {
    case ServerShard::Idling::Idle: return;
    case ServerShard::Idling::Ready:
        if (connection->is_for_loop()) return connection->queue_for_loop();
        return connection->start_fiber(shard.take_exchange());
    case ServerShard::Idling::End: return end(*connection);
    }
}

void Connection::end(Connection& connection) {
    ServerCore& core = connection.shard_.core();
    WEFT_ASSERT(!connection.link.is_linked(), "a connection that ends is in no list");
    if (std::unique_ptr<Exchange> left = std::move(connection.exchange_)) {
        WEFT_ASSERT(!left->loop.has_permit, "a request that was left to a fiber has no permit");
        if (left->start == Exchange::Start::Write) connection.end_request(*left);
        left->loop.clear();
        connection.shard_.give_back(std::move(left));
    }
    connection.shard_.remove_connection();
    net::Address peer = connection.peer_;
    if (connection.stream_) connection.stream_->close();
    delete &connection;  // tidy: allow delete: see begin()
    core.leave(peer);
}

// ---------------------------------------------------------------- idle and active

void Connection::on_bytes(Dormant& dormant, std::uint8_t) {
    auto& self = static_cast<Connection&>(dormant);
    if (self.is_for_loop()) {
        if (!self.shard_.make_active_in_loop(self)) self.close_idle();
        return;
    }
    std::unique_ptr<Exchange> exchange;
    if (!self.shard_.make_active(self, exchange)) return self.close_idle();
    self.start_fiber(std::move(exchange));
}

// Another worker, which polls for one that is stuck, serves the connection by a fiber of its own
// instead of queueing it for the loop that is stuck.
bool Connection::is_for_loop() const { return has_loop_handler_ && shard_.is_home(); }

const ServerLimits& Connection::limits() const { return shard_.core().limits(); }
bool Connection::is_on_its_worker() const { return shard_.is_home(); }

void Connection::close_idle() {
    WEFT_ASSERT(state == State::Closing, "it was taken out of its list to be closed");
    if (!shard_.core().is_draining()) return end(*this);
    had_last_read = true;
    start_fiber(shard_.take_exchange());
}

// The token for what the connection does next; null without memory. Catches the exception of the
// allocation, because nobody else would in a worker's loop.
CancelState* Connection::make_token(Exchange& exchange) {
    try {
        return exchange.fresh_token(shard_.token());
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

void Connection::start_fiber(std::unique_ptr<Exchange> exchange) {
    WEFT_DASSERT(!link.is_linked(), "a connection that becomes active is in no list");
    if (!exchange) return strand(nullptr);
    ready_ns = shard_.active() <= kActiveMeasuredMin ? 0 : last_look().time_since_epoch().count();
    // A request that was served in the loop is finished in its own context; so is one that was
    // abandoned, if it has left jobs or cleanups.
    bool keeps = exchange->start == Exchange::Start::Write ||
                 (exchange->start == Exchange::Start::End && exchange->scope->has_round());
    WEFT_DASSERT(!keeps || exchange->scope, "a request of the loop has a scope");
    CancelState* token = keeps ? exchange->scope->state() : make_token(*exchange);
    if (!token) return strand(std::move(exchange));
    Exchange* lent = exchange.release();
    Result<void> started =
        spawn_detached([this, lent] { run(std::unique_ptr<Exchange>(lent)); },
                       [this, lent](const Error&) { strand(std::unique_ptr<Exchange>(lent)); },
                       {.stack_bytes = shard_.core().options().stack_bytes,
                        .start = Start::InTurn,
                        .token = token,
                        // Owned by the exchange, which outlives every wait of the fiber.
                        .token_use = TokenUse::Lent,
                        .label = &kLabel});
    if (started) return;
    exchange.reset(lent);
    // What such a request has left is waited for in end(), by the fiber that closes stranded
    // connections: not here, in the loop.
    bool left = keeps && exchange->scope->has_round();
    if (left || started.error().kind() == ErrorKind::OutOfMemory)
        return strand(std::move(exchange));
    exchange_ = std::move(exchange);
    end(*this);
}

// There is no memory for its fiber, or for an exchange, which is null then. It waits for memory in
// a list of the shard, and is closed if that takes too long: see ServerShard::close_idle().
void Connection::strand(std::unique_ptr<Exchange> exchange) {
    WEFT_ASSERT(!exchange_, "a connection has one exchange");
    if (exchange && exchange->is_bare()) {
        shard_.give_back(std::move(exchange));
    } else {
        exchange_ = std::move(exchange);
    }
    shard_.strand(*this, Clock::now());
}

void Connection::retry_stranded() {
    start_fiber(exchange_ ? std::move(exchange_) : shard_.take_exchange());
}

// The exceptions of user code are caught where it is called, so what is caught here is a failed
// allocation of our own. Uncaught, the connection would never end, and the server would wait for
// it.
void Connection::run(std::unique_ptr<Exchange> exchange) {
    bool failed = false;
    bool is_ours = true;
    try {
        is_ours = serve_until_idle(exchange);
    } catch (...) {
        failed = true;
        std::string why = Error::from_current_exception().message();
        log_limited(shard_.core().log_limit(), LogLevel::Error, why, "http: a connection ends: {}",
                    why);
    }
    if (!is_ours) return;
    WEFT_ASSERT(exchange && !exchange_, "a connection that ends was not handed over");
    failed ? shard_.drop(std::move(exchange)) : shard_.give_back(std::move(exchange));
    end(*this);
}

// The TLS handshake, if there is one. False: it failed.
bool Connection::handshake() {
    if (!tls_) return true;
    // Counted from accept() on: under load the connection may have waited for this fiber.
    Deadline deadline = Deadline::after(shard_.core().limits().handshake, begun_);
    auto secured = net::TlsStream::accept(std::move(stream_), *tls_, deadline);
    if (!secured) {
        log(LogLevel::Debug, "http: no TLS with {}: {}", peer_.to_string(),
            secured.error().message());
        return false;
    }
    stream_ = std::move(*secured);
    tls_.reset();
    return true;
}

// ---------------------------------------------------------------- the disconnect watch

void Connection::begin_watch(Exchange& exchange) {
    watch_.begin(exchange.scope->state());
    auto tell = [](void* whom) { static_cast<Connection*>(whom)->arm_watch(); };
    if (!exchange.scope->notify_when_observed(tell, this)) arm_watch();
}

// Nobody is in arm_watch() any more: whatever outlives this scope got its context from one of those
// who count as asking, and who has not asked by now cannot ask later.
void Connection::end_watch(Exchange& exchange) {
    exchange.scope->stop_notifying();
    watch_.stop(stream_->descriptor());
}

void Connection::arm_watch() {
    if (WEFT_PLANTED("server.watches_nobody")) return;
    bool half = shard_.core().options().half_close == HalfClose::IsAllowed;
    auto events = static_cast<std::uint8_t>(half ? kFailed : kHangUp | kFailed);
    Result<bool> armed = watch_.arm(stream_->descriptor(), events);
    // The client may have left before.
    if (armed && !*armed) watch_.fire();
}

}  // namespace weft::http
