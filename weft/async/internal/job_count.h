// JobCount: how many jobs are under way, and the one who waits for the last of them.
//
// It closes once: by the wait, or by an owner that goes away without one, which then waits as well.
// From then on no job is added. One word holds the count and what became of the owner. Any fiber,
// any thread.
#pragma once

#include <cstdint>

#include "weft/base/atomic.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/waiter.h"

namespace weft::async_internal {

class JobCount {
public:
    explicit JobCount(std::uint64_t count = 0) : word_(count * kOne) {}

    // False once it is closed.
    bool add();
    // After add(); the job's outcome is stored. True if the owner has gone: nobody will ask for it.
    bool done();

    // Closes, and waits until no job is left. This is a join: it cannot be cancelled, but the end
    // of the ambient token cancels `jobs`, the token of the jobs. False if it was closed before.
    bool close_and_wait(CancelState& jobs);

    // Awaited: it was closed by a wait before. Joined: every job has ended, and its outcome is for
    // the caller to report. Left: the caller must not wait here, and done() tells each job.
    enum class End : std::uint8_t { Awaited, Joined, Left };
    // For an owner that goes away: closes, cancels `jobs`, the token of the jobs, and waits until
    // none is left. Where nobody can wait, the scope around `jobs` waits instead.
    End end(CancelState& jobs);

private:
    enum Flag : std::uint64_t { kClosed = 1, kWaiting = 2, kDropped = 4 };
    static constexpr std::uint64_t kOne = 8;
    static constexpr std::uint64_t kFlags = kOne - 1;

    void wait_for_last();
    End leave_to_scope(CancelState& jobs);

    Atomic<std::uint64_t> word_;
    WaitRef waiter_;                 // published by kWaiting
    CancelState* keeper_ = nullptr;  // published by kDropped; above in the tree, so it lives
};

}  // namespace weft::async_internal
