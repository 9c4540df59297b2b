// A fiber that needs more stack than it has is named, and the process ends: nothing is overwritten.
#include "weft/fiber/switch/overflow.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/testing/recurse.h"
#include "weft/testing/scale.h"

#if defined(__GNUC__) && !defined(__clang__)
#define PROBED gnu::optimize("stack-clash-protection")
#else
#define PROBED gnu::used
#endif

namespace weft {
namespace {

RuntimeOptions with_workers(unsigned workers) {
    RuntimeOptions options;
    options.workers = workers;
    return options;
}

class OverflowDeathTest : public ::testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

// A frame many times larger than the guard; the compiler touches it page by page.
[[PROBED, gnu::noinline]] int huge_frame(int at) {
    volatile char frame[40 * kGuardBytes];
    frame[at] = 1;
    return frame[at / 2];
}

TEST_F(OverflowDeathTest, FIB_4b_an_overflow_names_the_fiber_and_aborts) {
    EXPECT_EXIT(
        {
            Runtime runtime(with_workers(1));
            static_cast<void>(
                runtime
                    .spawn([] { return weft::testing::recurse(1'000'000); }, {.name = "bottomless"})
                    .join());
        },
        ::testing::KilledBySignal(SIGABRT), "overflow.*'bottomless'");
}

TEST_F(OverflowDeathTest, FIB_4e_an_overflow_shows_its_frames_and_the_option_to_raise) {
#ifndef __x86_64__
    GTEST_SKIP() << "only on x86_64 are frames found from a signal";
#endif
    if (testing::kThreadSanitizer) GTEST_SKIP() << "beside the thread sanitizer none are shown";
    EXPECT_EXIT(
        {
            Runtime runtime(with_workers(1));
            static_cast<void>(
                runtime.spawn([] { return weft::testing::recurse(1'000'000); }).join());
        },
        ::testing::KilledBySignal(SIGABRT), "SpawnOptions::stack_bytes.*\n.*recurse.*\n.*recurse");
}

TEST_F(OverflowDeathTest, FIB_4b_an_overflow_of_an_unnamed_fiber_is_told_as_well) {
    EXPECT_EXIT(
        {
            Runtime runtime(with_workers(1));
            static_cast<void>(
                runtime.spawn([] { return weft::testing::recurse(1'000'000); }).join());
        },
        ::testing::KilledBySignal(SIGABRT), "overflow");
}

TEST_F(OverflowDeathTest, FIB_4b_an_overflow_after_a_migration_names_the_right_fiber) {
    EXPECT_EXIT(
        {
            Runtime runtime(with_workers(2));
            for (int i = 0; i < 50; ++i) {
                runtime.spawn(
                    [] {
                        for (int j = 0; j < 1'000; ++j) yield();
                    },
                    {.name = "innocent"});
            }
            static_cast<void>(runtime
                                  .spawn(
                                      [] {
                                          for (int j = 0; j < 100; ++j) yield();
                                          return weft::testing::recurse(1'000'000);
                                      },
                                      {.name = "guilty"})
                                  .join());
        },
        ::testing::KilledBySignal(SIGABRT), "overflow.*'guilty'");
}

TEST_F(OverflowDeathTest, FIB_4b_a_frame_larger_than_the_guard_does_not_jump_over_it) {
#ifdef __clang__
    GTEST_SKIP() << "Clang probes frames by an option only, not by an attribute";
#endif
    EXPECT_EXIT(
        {
            Runtime runtime(with_workers(1));
            static_cast<void>(
                runtime.spawn([] { return huge_frame(1); }, {.name = "too wide"}).join());
        },
        ::testing::KilledBySignal(SIGABRT), "overflow.*'too wide'");
}

TEST_F(OverflowDeathTest, FIB_4b_a_large_stack_overflows_in_its_own_guard) {
    EXPECT_EXIT(
        {
            Runtime runtime(with_workers(1));
            static_cast<void>(runtime
                                  .spawn([] { return weft::testing::recurse(10'000'000); },
                                         {.name = "large", .stack_bytes = 4 << 20})
                                  .join());
        },
        ::testing::KilledBySignal(SIGABRT), "overflow.*'large'");
}

TEST_F(OverflowDeathTest, FIB_4b_another_fault_is_not_called_an_overflow) {
    if (testing::kSanitizer) GTEST_SKIP() << "the sanitizer reports the fault itself";
    EXPECT_EXIT(
        {
            Runtime runtime(with_workers(1));
            static_cast<void>(runtime
                                  .spawn([] {
                                      volatile int* nowhere = nullptr;
                                      asm volatile("" : "+r"(nowhere));
                                      *nowhere = 1;
                                  })
                                  .join());
        },
        ::testing::KilledBySignal(SIGSEGV), "^$");
}

void on_signal(int) {
    static const char text[] = "the program's own handler\n";
    static_cast<void>(!write(2, text, sizeof text - 1));
    _exit(3);
}

TEST_F(OverflowDeathTest, FIB_4b_another_fault_goes_to_the_programs_own_handler) {
    if (testing::kSanitizer) GTEST_SKIP() << "the sanitizer keeps the handler to itself";
    EXPECT_EXIT(
        {
            std::signal(SIGSEGV, on_signal);
            Runtime runtime(with_workers(1));
            static_cast<void>(runtime
                                  .spawn([] {
                                      volatile int* nowhere = nullptr;
                                      asm volatile("" : "+r"(nowhere));
                                      *nowhere = 1;
                                  })
                                  .join());
        },
        ::testing::ExitedWithCode(3), "own handler");
}

}  // namespace
}  // namespace weft
