// The sanitizers know the fibers: real faults on a fiber's stack and between fibers are reported.
// That there are no false reports is shown by all the other tests in these builds.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/testing/scale.h"

namespace weft {
namespace {

RuntimeOptions with_workers(unsigned workers) {
    RuntimeOptions options;
    options.workers = workers;
    return options;
}

#ifdef WEFT_ASAN

// A pointer of which the compiler knows nothing.
template <class T>
[[gnu::noinline]] T* hide(T* pointer) {
    asm volatile("" : "+r"(pointer));
    return pointer;
}

class SanitizerDeathTest : public ::testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(SanitizerDeathTest, FIB_8a_a_write_past_an_array_on_a_fibers_stack_is_seen) {
    EXPECT_DEATH(static_cast<void>(run([] {
                     char array[16] = {};
                     yield();
                     hide(array)[16] = 1;
                 })),
                 "stack-buffer-overflow");
}

TEST_F(SanitizerDeathTest, FIB_8a_a_write_past_an_array_after_a_migration_is_seen) {
    EXPECT_DEATH(static_cast<void>(run(
                     [] {
                         char array[16] = {};
                         for (int i = 0; i < 100; ++i)
                             static_cast<void>(weft::sleep_for(std::chrono::microseconds(10)));
                         hide(array)[16] = 1;
                     },
                     with_workers(4))),
                 "stack-buffer-overflow");
}

[[gnu::noinline]] int* address_of_local() {
    int local = 1;
    return hide(&local);
}

TEST_F(SanitizerDeathTest, FIB_8a_a_use_after_return_on_a_fibers_stack_is_seen) {
    EXPECT_DEATH(static_cast<void>(run([] {
                     int* gone = address_of_local();
                     yield();
                     *gone = 2;
                 })),
                 "stack-use-after-return|stack-use-after-scope");
}

TEST_F(SanitizerDeathTest, FIB_8a_a_use_after_free_in_a_fiber_is_seen) {
    EXPECT_DEATH(static_cast<void>(run([] {
                     auto owned = std::make_unique<int>(1);
                     int* gone = hide(owned.get());
                     owned.reset();
                     yield();
                     *gone = 2;
                 })),
                 "heap-use-after-free");
}

TEST_F(SanitizerDeathTest, FIB_8a_undefined_behaviour_in_a_fiber_is_seen) {
    EXPECT_DEATH(static_cast<void>(run([] {
                     int large = INT_MAX;
                     yield();
                     int one = *hide(&large);
                     return one + 1;
                 })),
                 "signed integer overflow");
}

// Frames that are left by an exception, again and again on the same pooled stacks.
TEST(Sanitizer, FIB_8a_stacks_are_clean_for_the_next_fiber) {
    Runtime runtime(with_workers(2));
    for (int round = 0; round < 200; ++round) {
        Result<int> outcome = runtime
                                  .spawn([round] {
                                      std::vector<std::unique_ptr<int>> frames(8);
                                      char array[512];
                                      for (char& byte : array) byte = static_cast<char>(round);
                                      yield();
                                      if (round % 2) throw round;
                                      return static_cast<int>(hide(array)[round % 512]);
                                  })
                                  .join();
        EXPECT_EQ(outcome.has_value(), round % 2 == 0);
    }
}

#endif

#ifdef WEFT_TSAN

class SanitizerDeathTest : public ::testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

// Two fibers of two workers write to the same word, and nothing orders them.
TEST_F(SanitizerDeathTest, FIB_8b_a_race_between_two_fibers_is_seen) {
    EXPECT_DEATH(
        {
            int shared = 0;
            Runtime runtime(with_workers(2));
            Atomic<int> meeting{0};
            for (int i = 0; i < 2; ++i) {
                runtime.spawn([&] {
                    // Both run at the same time; relaxed orders nothing.
                    meeting.fetch_add(1, std::memory_order_relaxed);
                    while (meeting.load(std::memory_order_relaxed) < 2) {}
                    for (int j = 0; j < 1'000; ++j) {
                        shared++;
                        asm volatile("" ::: "memory");
                    }
                });
            }
            runtime.run();
        },
        "data race");
}

// What a fiber does before it ends happens before what its joiner does after: no report.
TEST(Sanitizer, FIB_8b_join_unpark_and_migration_order_memory) {
    Runtime runtime(with_workers(4));
    for (int round = 0; round < 100; ++round) {
        Result<int> outcome =
            runtime
                .spawn([]() -> Result<int> {
                    int value = 0;
                    FiberId parent = current_id();
                    Future<void> child = spawn([&] {
                        static_cast<void>(weft::sleep_for(std::chrono::microseconds(20)));
                        value = 1;
                        unpark(parent);
                    });
                    WEFT_TRY(park());
                    value++;
                    WEFT_TRY(child.join());
                    Future<void> second = spawn([&] { value++; });
                    WEFT_TRY(second.join());
                    return value;
                })
                .join();
        ASSERT_EQ(outcome, 3);
    }
}

#endif

// In every build, so that the suite is never empty.
TEST(Sanitizer, FIB_8_fibers_run_in_this_build) {
    EXPECT_EQ(run([] { return 1; }, with_workers(1)), 1);
}

}  // namespace
}  // namespace weft
