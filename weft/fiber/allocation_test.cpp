// What a fiber allocates.
#include "weft/testing/counted_allocations.h"

#ifdef WEFT_COUNTS_ALLOCATIONS

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"

namespace weft {
namespace {

using testing::allocations_so_far;
using testing::refused_allocation;

// The most that one spawn and join of `body` allocates, when nothing else runs.
template <class Body, class Check>
int allocations_of(const Body& body, const Check& check) {
    RuntimeOptions options;
    options.workers = 1;
    Result<int> most = run(
        [&]() -> Result<int> {
            int worst = 0;
            for (int i = 0; i < 50; ++i) {
                int before = allocations_so_far();
                auto outcome = spawn(body).join();
                int after = allocations_so_far();
                EXPECT_TRUE(outcome);
                if (outcome) check(*outcome);
                if (i > 0) worst = std::max(worst, after - before);  // the first one warms up
            }
            return worst;
        },
        options);
    return most.value_or(1'000);
}

TEST(FiberAllocation, FIB_2f_a_small_body_and_a_small_result_need_none) {
    int captured = 3;
    EXPECT_EQ(allocations_of([=] { return captured + 1; }, [](int sum) { EXPECT_EQ(sum, 4); }), 0);
}

struct Large {
    std::array<std::uint64_t, 64> words{};
};

TEST(FiberAllocation, FIB_2f_a_large_result_needs_one) {
    auto make = [] {
        Large large;
        large.words.fill(7);
        return large;
    };
    EXPECT_LE(allocations_of(make, [](const Large& large) { EXPECT_EQ(large.words[63], 7u); }), 1);
}

TEST(FiberAllocation, FIB_2f_large_captures_need_one) {
    Large large;
    large.words.fill(9);
    EXPECT_LE(allocations_of([=] { return large.words[63]; },
                             [](std::uint64_t word) { EXPECT_EQ(word, 9u); }),
              1);
}

TEST(FiberAllocation, FIB_2f_a_result_that_can_only_be_moved_needs_its_own_and_one) {
    // One is the unique_ptr's own.
    EXPECT_LE(allocations_of([] { return std::make_unique<int>(5); },
                             [](const std::unique_ptr<int>& five) { EXPECT_EQ(*five, 5); }),
              2);
}

struct alignas(64) Aligned {
    std::uint64_t word = 11;
};

TEST(FiberAllocation, FIB_2f_an_over_aligned_result_keeps_its_alignment) {
    EXPECT_LE(allocations_of([] { return Aligned(); },
                             [](const Aligned& aligned) {
                                 EXPECT_EQ(aligned.word, 11u);
                                 EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&aligned) % 64, 0u);
                             }),
              1);
}

TEST(FiberAllocation, FIB_2f_a_body_that_can_only_be_moved_is_moved) {
    RuntimeOptions options;
    options.workers = 1;
    Result<int> outcome = run(
        []() -> Result<int> {
            auto owned = std::make_unique<int>(13);
            return spawn([owned = std::move(owned)] { return *owned; }).join();
        },
        options);
    EXPECT_EQ(outcome, 13);
}

// Each allocation in turn fails, whichever thread makes it: an error of start(), never the end of
// the process. The join makes sure that the worker's thread has begun.
TEST(FiberAllocation, a_runtime_without_memory_to_start_says_so) {
    RuntimeOptions options;
    options.workers = 1;
    bool reached = true;
    int failures = 0;
    for (int number = 0; reached && number < 1'000; ++number) {
        Runtime runtime(options);
        // Relaxed: nothing else runs yet, and the threads begin after it.
        int number_refused = allocations_so_far() + number;
        refused_allocation.store(number_refused, std::memory_order_relaxed);
        Result<void> started = runtime.start();
        if (started) static_cast<void>(runtime.spawn([] {}).join());
        refused_allocation.store(-1, std::memory_order_relaxed);
        reached = allocations_so_far() > number_refused;
        if (started) continue;
        ++failures;
        EXPECT_EQ(started.error().kind(), ErrorKind::OutOfMemory) << "allocation " << number;
    }
    EXPECT_FALSE(reached);
    EXPECT_GT(failures, 3);  // the worker, its fault stack, the reactor, the thread
}

}  // namespace
}  // namespace weft

#endif
