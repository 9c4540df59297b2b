// What the tests of this folder share.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/atomic.h"
#include "weft/base/env.h"
#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/fiber/waiter.h"

namespace weft::sync_test {

// Long enough never to be reached by a test that passes, short enough to end one that hangs.
inline constexpr std::chrono::seconds kTooLong{60};
// The time limit for waits that a test expects to time out.
inline constexpr std::chrono::milliseconds kShort{2};

template <class T>
ErrorKind kind_of(const Result<T>& result) {
    WEFT_ASSERT(!result.has_value(), "an error was expected");
    return result.error().kind();
}

// Runs the function on a fiber of a runtime with so many workers.
template <class Function>
void on_workers(unsigned workers, Function&& function) {
    RuntimeOptions options;
    options.workers = workers;
    Result<void> outcome = run(std::forward<Function>(function), options);
    WEFT_ASSERT(outcome.has_value(), "the test's own fiber failed");
}

// On a single worker: lets the other fibers run until each of them waits or has ended.
inline void settle() {
    for (int i = 0; i < 16; ++i) yield();
}

// Atomically sets `most` to the larger of both.
inline void raise_to(Atomic<int>& most, int value) {
    int seen = most.load(std::memory_order_relaxed);
    // Relaxed: a statistic, read when all have ended.
    while (seen < value && !most.compare_exchange_weak(seen, value, std::memory_order_relaxed,
                                                       std::memory_order_relaxed)) {}
}

// Lets other threads see when the fiber or thread that called here() waits.
class Watched {
public:
    // By the fiber or thread that will wait.
    void here() { cell_.store(&current_cell(), std::memory_order_release); }
    // By the others.
    void await_waiting() const {
        Deadline deadline = Deadline::after(kTooLong);
        for (unsigned attempt = 0; !is_waiting(); ++attempt) {
            WEFT_ASSERT(!deadline.expired(Clock::now()), "nobody came to wait");
            yield();
            env::spin_pause(attempt);
        }
    }

private:
    bool is_waiting() const {
        // Acquire: the cell is initialised.
        WaitCell* cell = cell_.load(std::memory_order_acquire);
        return cell && cell->word.peek() != 0;
    }

    Atomic<WaitCell*> cell_{nullptr};
};

}  // namespace weft::sync_test
