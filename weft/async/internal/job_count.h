// JobCount: how many jobs are under way, and the one who waits for the last of them.
//
// It closes once: by the wait, or by an owner that goes away without one. From then on no job is
// added. One word holds the count and what became of the owner. Any fiber, any thread.
#pragma once

#include <cstdint>

#include "weft/base/atomic.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/waiter.h"

namespace weft::async_internal {

class ScopeCore;

class JobCount {
public:
    explicit JobCount(std::uint64_t count = 0) : word_(count * kOne) {}

    // False once it is closed.
    bool add();
    // After add(); the job's outcome is stored. True if the owner has gone: nobody will ask for it.
    bool done();
    bool is_closed() const;
    bool is_dropped() const;

    // Closes, and waits until no job is left. This is a join: it cannot be cancelled, but the end
    // of the ambient token cancels `jobs`, the token of the jobs. False if it was closed before.
    bool close_and_wait(CancelState& jobs);

    enum class Drop { WasClosed, Idle, Running };
    // Closes, and nobody waits, but the scope around `jobs`.
    Drop drop(CancelState& jobs);

private:
    enum Flag : std::uint64_t { kClosed = 1, kWaiting = 2, kDropped = 4 };
    static constexpr std::uint64_t kOne = 8;
    static constexpr std::uint64_t kFlags = kOne - 1;

    void wait_for_last();

    Atomic<std::uint64_t> word_;
    WaitRef waiter_;               // published by kWaiting
    ScopeCore* keeper_ = nullptr;  // published by kDropped; above in the tree, so it lives
};

}  // namespace weft::async_internal
