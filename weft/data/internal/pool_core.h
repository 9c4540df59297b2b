// The core of a pool: its slots, the line of those who wait, and the rules. See pool.h.
//
// Slots are counted from the decision to open a connection until that is destroyed, so there are
// never more than the options allow. One who waits is handed either a connection or the permission
// to open one; both are given by claiming the wait, so that a wait which ended otherwise has got
// nothing. The lock is held for a few instructions, never over a call of the provider.
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

// A connection, or the place of one that is being opened.
struct Slot {
    std::unique_ptr<Connection> connection;
    Instant lifetime_end = Instant::max();
    Instant idle_since = {};
    Instant leased_at = {};
    std::string_view purpose;  // a literal
    bool leak_told = false;
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
    // Also warns of leaks. Until when there is nothing to do.
    Deadline prune(Instant now);
    PoolStats stats() const;
    bool has_free() const;
    std::size_t waiting() const;

    const PoolOptions& options() const { return options_; }
    Provider& provider() const { return *provider_; }

private:
    // One who waits; in its frame.
    struct Entry {
        WaitRef ref;
        Slot* slot = nullptr;  // handed over: with a connection, or as the permission to open one
        bool closed = false;
        ListLink link;
    };
    using Waiters = IntrusiveList<Entry, &Entry::link>;

    // A slot for the caller, with or without a connection in it.
    Result<Slot*> take_slot(Deadline deadline);
    Slot* take_free_slot();                          // under the lock; null: wait
    Result<Slot*> wait_for_slot(Deadline deadline);  // the lock is held, and released in it
    Result<void> fill(Slot& slot, Deadline deadline);
    Result<void> pause_before_open(Deadline deadline);
    Result<void> open(Slot& slot, Deadline deadline);
    bool is_valid(Slot& slot, Deadline deadline);
    Error exhausted(std::string_view state, std::string_view why) const;
    Error closed_error() const;
    std::string holders() const;  // under the lock

    // Whether the connection can be used by another.
    bool tidy(Slot& slot);
    // Destroys the connection; the slot is free then, and goes to whoever waits.
    void discard(Slot* slot, std::uint64_t PoolStats::* counter);
    void free_slot(Slot* slot);
    // To the first who waits; false if nobody does. Under the lock; resume outside.
    bool hand_over(Slot* slot, WaitRef& claimed);
    void start_sweeper();
    void sweep();
    void stop_sweeping() { sweeping_.store(false, std::memory_order_seq_cst); }
    void warn_of_leaks(Instant now, Deadline& next);  // under the lock
    std::size_t count_idle() const;                   // under the lock

    const std::unique_ptr<Provider> provider_;
    const PoolOptions options_;
    const std::string name_;

    mutable SpinLock lock_;                  // everything from here to stats_
    IntrusiveList<Slot, &Slot::link> idle_;  // the one used last is the first
    IntrusiveList<Slot, &Slot::link> in_use_;
    Waiters waiters_;
    std::size_t waiting_ = 0;
    std::vector<std::unique_ptr<Slot>> slots_;
    bool closed_ = false;
    int open_failures_in_a_row_ = 0;
    Instant open_not_before_ = Instant::min();
    std::optional<Error> open_error_;  // of the last that failed
    PoolStats stats_;

    Event drained_;  // closed, and no slot exists
    Event wake_sweeper_;
    Atomic<bool> sweeping_{false};
};

}  // namespace weft::data::pool_internal
