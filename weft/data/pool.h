// Pool: the connections of a database, at most so many, each used by one at a time.
//
//     Lease lease = WEFT_TRY(pool.acquire("query"));
//     Result<Outcome> outcome = lease->run(statement, rows_max);
//     // given back by its destructor
//
// Connections are opened when they are needed. Who finds none free waits in a line, first come
// first served; a newcomer never overtakes. A wait that is cancelled or times out leaves the line
// and takes nothing along: a connection that was meant for it goes to the next. After a connect has
// failed, those who wait are told at once, and nobody tries again until a pause is over that grows
// with each failure, by chance more or less.
//
// What comes back is looked at before another gets it: one in the middle of a transaction is rolled
// back, a broken one closed. Idle ones are closed after a while, old ones when nobody uses them.
// Any fiber, any thread. A Lease keeps its pool.
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
    ~Pool();  // closes it; what is still in use is closed when it comes back
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    // The purpose is what the errors and warnings of others say about who has it: a literal.
    // Cancelled, TimedOut by the caller's own deadline; PoolExhausted; Closed; why there is no
    // connection.
    Result<Lease> acquire(std::string_view purpose);

    // Those who wait fail with Closed; idle connections are closed; waits for those in use until
    // the deadline. Idempotent.
    Result<void> close(Deadline deadline);
    bool is_closed() const;
    // Closes what has idled too long or is too old. Done by itself while a runtime is there.
    void prune();

    // Whether acquire() would give a connection, or its error, without a wait for another's. A
    // moment's value.
    bool has_free() const;
    std::size_t waiting() const;  // a moment's value
    PoolStats stats() const;
    const PoolOptions& options() const;
    Provider& provider() const;

private:
    std::shared_ptr<pool_internal::Core> core_;  // shared with the leases
};

// A connection in use.
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
