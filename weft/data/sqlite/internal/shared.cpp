#include "weft/data/sqlite/internal/shared.h"

#include <utility>

#include "weft/async/context.h"
#include "weft/base/assert.h"
#include "weft/data/failure.h"
#include "weft/data/sqlite/internal/connection.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"

namespace weft::data::sqlite_internal {

Result<Outcome> SqliteShared::run(const Statement& statement, RowLimit limit,
                                  std::string_view purpose) {
    if (queue_->has_to_wait()) {
        Request request{.statement = statement, .limit = limit};
        if (std::optional<Result<Outcome>> outcome = queue_->carry(request))
            return std::move(*outcome);
    }
    Lease lease = WEFT_TRY(pool_->acquire(purpose));
    return lease->run(statement, limit);
}

SharedQueue::~SharedQueue() {
    WEFT_ASSERT(waiting_.empty(), "a caller keeps the queue alive while it waits");
}

// A plain thread leases its connection itself, because it cannot start a server.
bool SharedQueue::has_to_wait() const {
    if (!current() || pool_->options().when_exhausted == WhenExhausted::Fail) return false;
    {
        SpinGuard guard(lock_);
        if (!waiting_.empty()) return true;
    }
    return !pool_->has_free();
}

std::optional<Result<Outcome>> SharedQueue::carry(Request& request) {
    if (Result<void> live = CancelToken::current().check(); !live) return live.error();
    if (!push(request)) return std::nullopt;
    Result<void> waited = wait_for(request);
    if (!waited) {
        if (withdraw(request)) return waited.error();
        stop(request);
        shield(Deadline::never(), [&] { static_cast<void>(request.done.wait()); });
    }
    WEFT_ASSERT(request.outcome.has_value(), "a statement that has ended has an outcome");
    // Relaxed: a count.
    carried_.fetch_add(1, std::memory_order_relaxed);
    if (!*request.outcome && !waited) return waited.error();
    return std::move(*request.outcome);
}

Result<void> SharedQueue::wait_for(Request& request) {
    // A statement may wait to be run for as long as a caller may wait for a connection.
    Result<void> done = request.done.wait_until(Deadline::after(pool_->options().acquire_timeout));
    if (done || done.error().kind() != ErrorKind::TimedOut) return done;
    WEFT_TRY(CancelToken::current().check());
    if (withdraw(request)) {
        request.outcome.emplace(pool_->timed_out());
        return {};
    }
    return request.done.wait();
}

bool SharedQueue::push(Request& request) {
    bool starts = false;
    {
        SpinGuard guard(lock_);
        if (waiting_count_ >= pool_->options().waiters_max) return false;
        waiting_.push_back(request);
        ++waiting_count_;
        starts = acquiring_ == 0 && servers_ < pool_->options().connections_max;
        servers_ += starts;
        acquiring_ += starts;
        WEFT_ASSERT(servers_ > 0, "a statement that waits has a server");
    }
    if (!starts || start_server()) return true;
    SpinGuard guard(lock_);
    WEFT_ASSERT(servers_ > 0 && acquiring_ > 0, "the server that did not start is counted");
    --servers_;
    --acquiring_;
    if (servers_ > 0 || !request.link.is_linked()) return true;
    waiting_.erase(request);
    --waiting_count_;
    return false;
}

bool SharedQueue::withdraw(Request& request) {
    SpinGuard guard(lock_);
    if (!request.link.is_linked()) return false;
    waiting_.erase(request);
    --waiting_count_;
    return true;
}

// The lock keeps the carrier from going on to another statement meanwhile.
void SharedQueue::stop(Request& request) {
    SpinGuard guard(lock_);
    // Relaxed: nothing is read through it.
    request.is_cancelled.store(true, std::memory_order_relaxed);
    if (request.carrier) request.carrier->interrupt();
}

bool SharedQueue::start_server() {
    // In the background context, because it outlives the caller that starts it.
    async::Context root = async::Context::background();
    return spawn_detached([self = shared_from_this()] { self->serve(); },
                          [self = shared_from_this()](const Error& error) {
                              {
                                  SpinGuard guard(self->lock_);
                                  --self->acquiring_;
                              }
                              self->give_up(error);
                          },
                          {.name = "shared statements", .token = root.token().state()})
        .has_value();
}

void SharedQueue::serve() {
    do {
        Result<Lease> lease = pool_->acquire("shared statements");
        {
            SpinGuard guard(lock_);
            WEFT_ASSERT(acquiring_ > 0, "this server is counted");
            --acquiring_;
        }
        // Each statement that waits has a time limit of its own, so this one ends none of them.
        if (!lease && sqlstate_of(lease.error()) == kPoolTimeoutState) continue;
        if (!lease) return give_up(lease.error());
        static_cast<SqliteConnection&>(**lease).serve(*this);
        // The destructor of the lease gives the connection back before this server counts as one
        // that waits.
    } while (try_continue());
}

bool SharedQueue::try_continue() {
    SpinGuard guard(lock_);
    WEFT_ASSERT(servers_ > 0, "this server is counted");
    bool continues = !waiting_.empty() && acquiring_ == 0;
    servers_ -= !continues;
    acquiring_ += continues;
    return continues;
}

// The server ends without a connection. As long as there is another one, it takes the statements.
// Otherwise those that wait now end with the error.
void SharedQueue::give_up(const Error& error) {
    std::size_t left = 0;
    {
        SpinGuard guard(lock_);
        WEFT_ASSERT(servers_ > 0, "this server is counted");
        if (--servers_ == 0) left = waiting_count_;
    }
    for (; left > 0; --left) {
        Request* request = pop();
        if (!request) return;
        request->outcome.emplace(error);
        request->done.set();
    }
}

// A request that was taken out cannot be withdrawn: its caller waits until it is settled.
Request* SharedQueue::pop() {
    SpinGuard guard(lock_);
    Request* request = waiting_.pop_front();
    if (!request) return nullptr;
    WEFT_ASSERT(waiting_count_ > 0, "a statement that waits is counted");
    --waiting_count_;
    return request;
}

Request* SharedQueue::take(SqliteConnection& connection, std::size_t taken) {
    if (taken >= kStatementsPerLease || pool_->is_closed()) return nullptr;
    std::size_t callers = pool_->waiting();
    SpinGuard guard(lock_);
    // The servers that wait for a connection are no reason to return this one.
    if (taken > 0 && callers > acquiring_) return nullptr;
    Request* request = waiting_.pop_front();
    if (!request) return nullptr;
    WEFT_ASSERT(waiting_count_ > 0, "a statement that waits is counted");
    --waiting_count_;
    request->carrier = &connection;
    return request;
}

void SharedQueue::finish(Request& request, Result<Outcome> outcome) {
    {
        SpinGuard guard(lock_);
        request.carrier = nullptr;
        request.outcome.emplace(std::move(outcome));
    }
    request.done.set();
}

}  // namespace weft::data::sqlite_internal
