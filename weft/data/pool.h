// Pool: the connections of a database. Their number is bounded, and each has one user at a time.
//
//     Lease lease = WEFT_TRY(pool.acquire("query"));
//     Result<Outcome> outcome = lease->run(statement, rows_max);
//     // the destructor of the lease returns it
//
// Connections are opened on demand. A caller that finds none free waits in a queue, first come,
// first served; a newcomer never overtakes. A wait that is cancelled or times out leaves the queue;
// a connection that was meant for it goes to the next waiter. After a failed connect the caller
// gets the error at once, and no further attempt is made until a back-off is over that grows with
// each failure and is partly random.
//
// A returned connection is checked before another caller gets it: an open transaction is rolled
// back, a broken connection is closed. Idle connections are closed after idle_timeout, and
// those older than lifetime_max as soon as nobody uses them. Any fiber, any thread. A Lease keeps
// its pool alive.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/data/options.h"
#include "weft/data/provider.h"

namespace weft::data {

class Lease;

namespace pool_internal {
class Core;
struct Slot;
}  // namespace pool_internal

class Pool {
public:
    Pool(std::unique_ptr<Provider> provider, const PoolOptions& options, std::string name);
    ~Pool();  // closes it; connections in use are closed when they are returned
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    // The purpose names this holder in the errors and warnings that others get; a string literal.
    // Errors: Cancelled; TimedOut by the caller's own deadline; PoolExhausted; Closed; or why no
    // connection could be opened.
    Result<Lease> acquire(std::string_view purpose);

    // Fails the waiters with Closed, closes idle connections, and waits for those in use until the
    // deadline. Idempotent.
    Result<void> close(Deadline deadline);
    bool is_closed() const;
    // Closes connections that were idle too long or are too old. In a runtime a fiber does this by
    // itself.
    void prune();

    // Whether acquire() would return a connection or its error without waiting for another holder.
    // A momentary value.
    bool has_free() const;
    std::size_t waiting() const;  // a momentary value
    // For SharedConnections: the error of a caller that has waited too long, as acquire() gives it.
    Error timed_out() const;
    PoolStats stats() const;
    const PoolOptions& options() const;
    Provider& provider() const;

private:
    std::shared_ptr<pool_internal::Core> core_;  // owners: the pool and its leases
};

// A connection in use. One fiber at a time; a moved-from or returned lease has no connection.
class Lease {
public:
    Lease(Lease&& other) noexcept;
    Lease& operator=(Lease&& other) noexcept;
    ~Lease();  // gives it back, which may wait for a rollback

    Connection& operator*() const;
    Connection* operator->() const { return &**this; }
    void give_back();  // early; idempotent

private:
    friend class pool_internal::Core;
    Lease(std::shared_ptr<pool_internal::Core> core, pool_internal::Slot* slot);

    std::shared_ptr<pool_internal::Core> core_;
    pool_internal::Slot* slot_ = nullptr;
};

}  // namespace weft::data
