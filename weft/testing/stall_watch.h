// For tests of times, which hold only while the machine lets the test's threads run: detects
// whether it has stalled them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <thread>

#include "weft/base/atomic.h"
#include "weft/base/time.h"
#include "weft/fiber/fiber.h"

namespace weft::testing {

// A thread of its own sleeps a moment at a time and records how late it woke at most. A stall of
// the machine or of the whole program shows there. Any thread; ends when destroyed.
class StallWatch {
public:
    StallWatch() : thread_([this] { watch(); }) {}
    ~StallWatch() {
        // Relaxed: nothing else is read through it; the join orders the rest.
        over_.store(true, std::memory_order_relaxed);
        thread_.join();
    }
    StallWatch(const StallWatch&) = delete;
    StallWatch& operator=(const StallWatch&) = delete;

    // Includes the moment that is not over: after a stall the caller may run before the watch does.
    Nanoseconds longest() const {
        // Acquire: pairs with the release in watch(), so that the lateness of the moment before is
        // visible.
        Instant begun = begun_.load(std::memory_order_acquire);
        return std::max(longest_.load(std::memory_order_relaxed), Clock::now() - begun - kMoment);
    }

private:
    static constexpr Nanoseconds kMoment = std::chrono::milliseconds(5);

    void watch() {
        while (!over_.load(std::memory_order_relaxed)) {
            static_cast<void>(weft::sleep_for(kMoment));
            Instant now = Clock::now();
            // Relaxed: this thread alone writes both, and begun_ publishes the other.
            Nanoseconds lateness = now - begun_.load(std::memory_order_relaxed) - kMoment;
            longest_.store(std::max(longest_.load(std::memory_order_relaxed), lateness),
                           std::memory_order_relaxed);
            begun_.store(now, std::memory_order_release);
        }
    }

    Atomic<Instant> begun_{Clock::now()};
    Atomic<Nanoseconds> longest_{Nanoseconds::zero()};
    Atomic<bool> over_{false};
    std::thread thread_;  // last: it uses the others
};

inline constexpr int kAttemptsMax = 5;

// Runs an attempt that a stall of `limit` may make fail though nothing is wrong: an attempt that
// fails during such a stall is repeated. A real fault fails every attempt, so it is found on any
// machine.
template <std::invocable Attempt>
[[nodiscard]] ::testing::AssertionResult unless_stalled(Nanoseconds limit, Attempt attempt) {
    ::testing::AssertionResult outcome = ::testing::AssertionFailure();
    for (int count = 0; count < kAttemptsMax; ++count) {
        StallWatch watch;
        outcome = attempt();
        if (outcome || watch.longest() < limit) break;
    }
    return outcome;
}

}  // namespace weft::testing
