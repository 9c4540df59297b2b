// tidy: allow-file sleep: fibers that sleep are what is looked at
#include "weft/fiber/report/dump.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <string>

#include "weft/base/sanitizer.h"
#include "weft/fiber/runtime.h"
#include "weft/testing/eventually.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

const FiberReport* find(const std::vector<FiberReport>& fibers, std::string_view name) {
    auto found = std::ranges::find(fibers, name, &FiberReport::name);
    return found == fibers.end() ? nullptr : &*found;
}

// Lists until the fiber is there in that state; the test's own time limit bounds it.
FiberReport await_state(std::string_view name, FiberState state) {
    for (;;) {
        std::vector<FiberReport> fibers = list_fibers();
        const FiberReport* found = find(fibers, name);
        if (found && found->state == state) return *found;
    }
}

[[gnu::noinline]] Result<void> wait_in_a_function_of_its_own() {
    Result<void> ended = park();
    asm volatile("");  // keeps the call from becoming a jump
    return ended;
}

TEST(Dump, FIB_11c_a_waiting_fiber_shows_what_it_waits_on_and_for_how_long) {
    Runtime runtime({.workers = 2});
    Future<void> sleeper = runtime.spawn([] { return sleep_for(1h); }, {.name = "sleeper"});
    FiberReport first = await_state("sleeper", FiberState::Waiting);
    EXPECT_EQ(first.reason, WaitReason::Sleep);
    EXPECT_LT(first.waited, 1min);  // also when it parked after the listing began
    FiberReport later = first;
    while (later.waited < first.waited + 20ms) later = await_state("sleeper", FiberState::Waiting);
    EXPECT_GE(later.waited, 20ms);
    EXPECT_TRUE(runtime.shutdown());
    EXPECT_EQ(sleeper.join().error(), ErrorKind::Cancelled);
}

TEST(Dump, FIB_11c_a_waiting_fiber_shows_its_frames) {
    Runtime runtime({.workers = 1});
    Future<void> parked = runtime.spawn(wait_in_a_function_of_its_own, {.name = "parked"});
    FiberReport report = await_state("parked", FiberState::Waiting);
    EXPECT_EQ(report.reason, WaitReason::Park);
#if defined(__x86_64__)
    EXPECT_TRUE(std::ranges::any_of(report.frames, [](const std::string& frame) {
        return frame.find("wait_in_a_function_of_its_own") != std::string::npos;
    })) << dump_fibers();
#endif
    unpark(parked.id());
    EXPECT_TRUE(parked.join());
}

TEST(Dump, FIB_11c_a_running_fiber_is_shown_as_running) {
    Runtime runtime({.workers = 1});
    Atomic<bool> stop{false};
    Future<void> busy = runtime.spawn(
        [&] {
            while (!stop.load(std::memory_order_relaxed)) {}
        },
        {.name = "busy"});
    EXPECT_EQ(await_state("busy", FiberState::Running).reason, WaitReason::None);
    std::string text = dump_fibers(Backtraces::No);
    EXPECT_NE(text.find("fiber 'busy': running"), std::string::npos) << text;
    stop.store(true, std::memory_order_relaxed);
    EXPECT_TRUE(busy.join());
}

// The NDEBUG build has no debug information, the cross builds have neither unwinder.
constexpr bool has_lines() {
#if defined(NDEBUG) || !defined(__x86_64__)
    return false;
#else
    return true;
#endif
}

bool names(const FiberReport& report, std::string_view text) {
    return std::ranges::any_of(report.frames, [&](const std::string& frame) {
        return frame.find(text) != std::string::npos;
    });
}

std::string text_of(const FiberReport& report) {
    std::string text;
    for (const std::string& frame : report.frames) text += frame + '\n';
    return text;
}

TEST(Dump, FIB_11c_the_frames_of_a_waiting_fiber_have_file_and_line) {
    if (!has_lines()) GTEST_SKIP() << "this build has no line numbers";
    Runtime runtime({.workers = 1});
    Future<void> parked = runtime.spawn(wait_in_a_function_of_its_own, {.name = "parked"});
    FiberReport report = await_state("parked", FiberState::Waiting);
    EXPECT_TRUE(names(report, "(weft/fiber/report/dump_test.cpp:")) << text_of(report);
    // The runtime's own frames are left out at both ends.
    EXPECT_FALSE(names(report, "weft::Worker::")) << text_of(report);
    EXPECT_FALSE(names(report, "weft_context_start")) << text_of(report);
    unpark(parked.id());
    EXPECT_TRUE(parked.join());
}

[[gnu::noinline]] void compute_until(const Atomic<bool>& stop) {
    while (!stop.load(std::memory_order_relaxed)) {}
    asm volatile("");  // keeps the call from becoming a jump
}

TEST(Dump, FIB_11c_a_running_fiber_shows_its_frames) {
    if (!has_lines()) GTEST_SKIP() << "this build has no line numbers";
#ifdef WEFT_TSAN
    GTEST_SKIP() << "the sanitizer holds back the signal that asks a thread for its frames";
#endif
    Runtime runtime({.workers = 2});
    Atomic<bool> stop{false};
    Future<void> busy = runtime.spawn([&] { compute_until(stop); }, {.name = "busy"});
    FiberReport report = await_state("busy", FiberState::Running);
    // On a loaded machine the thread may not answer in time: the next dump asks again.
    for (int tries = 0; tries < 100 && report.frames.empty(); ++tries)
        report = await_state("busy", FiberState::Running);
    stop.store(true, std::memory_order_relaxed);
    EXPECT_TRUE(names(report, "compute_until")) << text_of(report);
    EXPECT_TRUE(names(report, "(weft/fiber/report/dump_test.cpp:")) << text_of(report);
    EXPECT_TRUE(busy.join());
}

// Blocks the thread, which no fiber should; a dump must not end the wait early.
[[gnu::noinline]] int wait_in_the_kernel(int pipe) {
    pollfd end{pipe, POLLIN, 0};
    int ready = ::poll(&end, 1, -1);
    asm volatile("");  // keeps the call from becoming a jump
    return ready;
}

bool waits_in_the_kernel(int thread, int call) {
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/syscall");
    std::string first;
    return file >> first && first == std::to_string(call);
}

TEST(Dump, FIB_11c_a_fiber_that_blocks_its_thread_shows_its_frames_and_goes_on_waiting) {
    if (!has_lines()) GTEST_SKIP() << "this build has no line numbers";
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    Runtime runtime({.workers = 1});
    Atomic<int> thread{0};
    Future<int> blocked = runtime.spawn(
        [&] {
            thread.store(::gettid(), std::memory_order_relaxed);
            return wait_in_the_kernel(ends[0]);
        },
        {.name = "blocked"});
    while (!waits_in_the_kernel(thread.load(std::memory_order_relaxed), SYS_poll)) {}
    FiberReport report = await_state("blocked", FiberState::Running);
    EXPECT_TRUE(names(report, "wait_in_the_kernel")) << text_of(report);
    EXPECT_TRUE(names(report, "(weft/fiber/report/dump_test.cpp:")) << text_of(report);
    ASSERT_EQ(::write(ends[1], "x", 1), 1);
    EXPECT_EQ(blocked.join(), 1);  // a signal would have made it -1
    ::close(ends[0]);
    ::close(ends[1]);
}

[[gnu::noinline]] int sleep_until_told(const Atomic<bool>& told) {
    int sleeps = 0;
    for (; !told.load(std::memory_order_relaxed); ++sleeps) {
        timespec moment{.tv_sec = 0, .tv_nsec = 20'000'000};
        ::nanosleep(&moment, nullptr);
    }
    return sleeps;
}

// nanosleep() keeps what was in the base pointer, which the kernel does not tell.
TEST(Dump, FIB_11c_a_fiber_that_puts_its_thread_to_sleep_shows_who_called_that) {
    if (!has_lines()) GTEST_SKIP() << "this build has no line numbers";
    Runtime runtime({.workers = 1});
    Atomic<int> thread{0};
    Atomic<bool> told{false};
    Future<int> sleeper = runtime.spawn(
        [&] {
            thread.store(::gettid(), std::memory_order_relaxed);
            return sleep_until_told(told);
        },
        {.name = "sleeper"});
    while (!waits_in_the_kernel(thread.load(std::memory_order_relaxed), SYS_clock_nanosleep)) {}
    FiberReport report;
    // Between two sleeps a thread that gets no cpu does not tell its frames in time.
    EXPECT_TRUE(testing::eventually([&] {
        report = await_state("sleeper", FiberState::Running);
        return !report.frames.empty();
    }));
    told.store(true, std::memory_order_relaxed);
    EXPECT_TRUE(names(report, "sleep_until_told")) << text_of(report);
    EXPECT_TRUE(names(report, "operator()")) << text_of(report);
    EXPECT_TRUE(sleeper.join());
}

TEST(Dump, FIB_11c_fibers_that_are_looked_at_all_the_time_still_get_on) {
    Runtime runtime({.workers = 2});
    constexpr int kFibers = 8;
    constexpr int kRounds = 300;
    std::vector<Future<int>> fibers;
    for (int i = 0; i < kFibers; ++i) {
        fibers.push_back(runtime.spawn(
            [] {
                int rounds = 0;
                while (rounds < kRounds && sleep_for(10us)) ++rounds;
                return rounds;
            },
            {.name = "watched"}));
    }
    while (std::ranges::any_of(fibers, [](auto& fiber) { return !fiber.is_done(); }))
        static_cast<void>(list_fibers());
    for (Future<int>& fiber : fibers) EXPECT_EQ(fiber.join(), kRounds);
}

TEST(Dump, FIB_11c_a_fiber_that_ended_is_not_shown) {
    Runtime runtime({.workers = 1});
    EXPECT_TRUE(runtime.spawn([] {}, {.name = "gone"}).join());
    EXPECT_EQ(find(list_fibers(), "gone"), nullptr);
}

}  // namespace
}  // namespace weft
