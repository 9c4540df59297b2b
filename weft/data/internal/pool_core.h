// The core of a pool: its slots, the queue of waiters, and the rules (pool.h). Any fiber, any
// thread. Owned by the pool, its leases and its sweeper.
//
// A slot exists from the decision to open a connection until that connection is destroyed, so there
// are never more than the options allow. A waiter is handed either a connection or an empty slot,
// which permits it to open one. Both are handed over by claiming its wait, so a wait that ended
// otherwise has received nothing. The lock is held for a few instructions, never during a call of
// the provider.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/base/intrusive_list.h"
#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/base/time.h"
#include "weft/data/options.h"
#include "weft/data/pool.h"
#include "weft/data/provider.h"
#include "weft/fiber/waiter.h"
#include "weft/sync/event.h"

namespace weft::data::pool_internal {

// A connection, or the permission to open one. Its current holder owns the fields; the lock of the
// core protects `link`, `purpose`, `leased_at` and `leak_logged`.
struct Slot {
    std::unique_ptr<Connection> connection;
    Instant lifetime_end = Instant::max();
    Instant idle_since = {};
    Instant leased_at = {};
    std::string_view purpose;  // a literal
    bool leak_logged = false;
    ListLink link;  // in Core::idle_ or Core::in_use_
};

class Core : public std::enable_shared_from_this<Core> {
public:
    Core(std::unique_ptr<Provider> provider, const PoolOptions& options, std::string name);
    ~Core();
    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;

    Result<Lease> acquire(std::string_view purpose);
    void give_back(Slot* slot);
    Result<void> close(Deadline deadline);
    bool is_closed() const;
    // Closes expired idle connections and logs suspected leaks. Returns when it next has work.
    Deadline prune(Instant now);
    PoolStats stats() const;
    bool has_free() const;
    std::size_t waiting() const;
    Error timed_out() const;

    const PoolOptions& options() const { return options_; }
    Provider& provider() const { return *provider_; }

private:
    // A waiter; lives in the frame of wait_for_slot().
    struct Entry {
        WaitRef ref;
        Slot* slot = nullptr;  // handed over, with or without a connection
        bool closed = false;
        ListLink link;
    };
    using Waiters = IntrusiveList<Entry, &Entry::link>;

    // Takes a slot for the caller, with or without a connection in it.
    Result<Slot*> take_slot(Deadline deadline);
    Slot* take_free_slot();                          // under the lock; null: none is free
    Result<Slot*> wait_for_slot(Deadline deadline);  // called with the lock, returns without
    Result<void> connect_slot(Slot& slot, Deadline deadline);
    Result<void> pause_before_open(Deadline deadline);
    Result<void> open(Slot& slot, Deadline deadline);
    bool is_valid(Slot& slot, Deadline deadline);
    Error exhausted(std::string_view state, std::string_view why) const;
    Error closed_error() const;
    std::string holders() const;  // under the lock

    // Rolls back and resets. False: the connection cannot be used again.
    bool tidy(Slot& slot);
    // Destroys the connection and frees the slot.
    void discard(Slot* slot, std::uint64_t PoolStats::* counter);
    void free_slot(Slot* slot);
    // Gives the slot to the first waiter that can be claimed; false if there is none. Under the
    // lock; the caller resumes `claimed` after releasing it.
    bool hand_over(Slot* slot, WaitRef& claimed);
    void start_sweeper();
    void sweep();
    void stop_sweeping() { sweeping_.store(false, std::memory_order_seq_cst); }
    void warn_of_leaks(Instant now, Deadline& next);  // under the lock
    std::size_t count_idle() const;                   // under the lock

    const std::unique_ptr<Provider> provider_;
    const PoolOptions options_;
    const std::string name_;

    mutable SpinLock lock_;                  // protects everything up to stats_
    IntrusiveList<Slot, &Slot::link> idle_;  // most recently used first
    IntrusiveList<Slot, &Slot::link> in_use_;
    Waiters waiters_;
    std::size_t waiting_ = 0;
    std::vector<std::unique_ptr<Slot>> slots_;
    bool closed_ = false;
    int open_failures_in_a_row_ = 0;
    Instant open_not_before_ = Instant::min();
    std::optional<Error> open_error_;  // of the latest failed attempt
    PoolStats stats_;

    Event drained_;  // set when closed and the last slot is gone
    Event wake_sweeper_;
    Atomic<bool> sweeping_{false};
};

}  // namespace weft::data::pool_internal
