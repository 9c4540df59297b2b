// JobCount: counts the jobs under way, and lets one owner wait for the last of them.
//
// It is closed once: by the wait, or by an owner that is destroyed without one and then waits as
// well. No job is added after that. One atomic word holds the count and the state of the owner.
// add() and done(): any fiber, any thread. Closing: one fiber or thread.
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
    // Once for each add(), when the job's outcome is stored. True if the owner has left without
    // waiting: then nobody will take the outcome.
    bool done();

    // Whether a job is under way; a snapshot.
    bool has_jobs() const {
        // Relaxed: for assertions, made by a caller that has seen the end of the jobs.
        return word_.load(std::memory_order_relaxed) >= kOne;
    }

    // Closes, and waits until no job is left. This is a join: it cannot be cancelled, but the end
    // of the ambient token cancels `jobs`, the token of the jobs. False if it was closed before.
    bool close_and_wait(CancelState& jobs);

    // Awaited: a wait has closed it before. Joined: every job has ended, and the caller reports the
    // outcomes. Left: the caller could not wait here; done() returns true to each job still
    // running.
    enum class End : std::uint8_t { Awaited, Joined, Left };
    // For the destructor of the owner: closes, cancels `jobs`, the token of the jobs, and waits
    // until none is left. Where no wait is possible, the scope around `jobs` waits instead.
    End end(CancelState& jobs);

private:
    enum Flag : std::uint64_t { kClosed = 1, kWaiting = 2, kDropped = 4 };
    static constexpr std::uint64_t kOne = 8;
    static constexpr std::uint64_t kFlags = kOne - 1;

    void wait_for_last();
    End leave_to_scope(CancelState& jobs);

    Atomic<std::uint64_t> word_;
    WaitRef waiter_;                 // published by kWaiting
    CancelState* keeper_ = nullptr;  // published by kDropped; an ancestor, so it outlives this
};

}  // namespace weft::async_internal
