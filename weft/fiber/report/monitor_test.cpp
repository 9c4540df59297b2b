// tidy: allow-file sleep: fibers that sleep, and time in which nothing may happen, are the matter
#include "weft/fiber/report/monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "weft/base/env.h"
#include "weft/base/sanitizer.h"
#include "weft/fiber/blocking.h"
#include "weft/fiber/io.h"
#include "weft/fiber/os/signal.h"
#include "weft/fiber/report/dump.h"
#include "weft/fiber/runtime.h"
#include "weft/testing/captured_log.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
using testing::CapturedLog;
using ::testing::HasSubstr;

// Until it is so; the test's own time limit bounds it.
void await(const std::function<bool()>& condition) {
    while (!condition()) std::this_thread::yield();
}

void await_stalls(Runtime& runtime, std::uint64_t count) {
    await([&] { return runtime.counters().stalls.value() >= count; });
}

[[gnu::noinline]] void compute_until(const Atomic<bool>& stop) {
    while (!stop.load(std::memory_order_relaxed)) {}
    asm volatile("");  // keeps the call from becoming a jump
}

// A runtime with a fiber that computes until it is told to stop.
class Computing {
public:
    explicit Computing(RuntimeOptions options, unsigned fibers = 1) : runtime(options) {
        for (unsigned i = 0; i < fibers; ++i)
            fibers_.push_back(runtime.spawn([this] { compute_until(stop_); }, {.name = "busy"}));
    }
    void stop() {
        stop_.store(true, std::memory_order_relaxed);
        for (Future<void>& fiber : fibers_) EXPECT_TRUE(fiber.join());
    }
    Runtime runtime;

private:
    Atomic<bool> stop_{false};
    std::vector<Future<void>> fibers_;
};

std::string text_of(CapturedLog& log) {
    std::string text;
    for (const std::string& line : log.lines()) text += line + '\n';
    return text;
}

// The NDEBUG build has no debug information, the cross builds no unwinder.
constexpr bool has_lines() {
#if defined(NDEBUG) || !defined(__x86_64__)
    return false;
#else
    return true;
#endif
}

std::string report_of_a_computing_fiber() {
    CapturedLog log;
    Computing computing({.workers = 1, .stall_report = 20ms});
    await_stalls(computing.runtime, 1);
    await([&] { return text_of(log).find("has not let go") != std::string::npos; });
    computing.stop();
    EXPECT_TRUE(computing.runtime.shutdown());  // the monitor has written all of it
    return text_of(log);
}

TEST(Stall, FIB_16b_a_fiber_that_computes_too_long_is_named_with_its_frames) {
    std::string report = report_of_a_computing_fiber();
    EXPECT_THAT(report, HasSubstr("fiber 'busy' has not let go of its worker for "));
    EXPECT_THAT(report, HasSubstr("checkpoint()"));
#ifdef WEFT_TSAN
    GTEST_SKIP() << "the sanitizer holds back the signal that asks a thread for its frames";
#endif
    if (!has_lines()) GTEST_SKIP() << "this build has no line numbers";
    // A thread that gets no cpu does not tell its frames in time.
    for (int i = 0; i < 5 && !report.contains("compute_until"); ++i)
        report = report_of_a_computing_fiber();
    EXPECT_THAT(report, HasSubstr("compute_until"));
    EXPECT_THAT(report, HasSubstr("(weft/fiber/report/monitor_test.cpp:"));
}

[[gnu::noinline]] int wait_in_the_kernel(int pipe) {
    pollfd end{pipe, POLLIN, 0};
    int ready = ::poll(&end, 1, -1);
    asm volatile("");  // keeps the call from becoming a jump
    return ready;
}

TEST(Stall, FIB_16b_a_fiber_that_blocks_its_thread_is_named_and_not_disturbed) {
    CapturedLog log;
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    Runtime runtime({.workers = 1, .stall_report = 20ms});
    Future<int> blocked =
        runtime.spawn([&] { return wait_in_the_kernel(ends[0]); }, {.name = "blocked"});
    await_stalls(runtime, 1);
    await([&] { return text_of(log).find("has not let go") != std::string::npos; });
    ASSERT_EQ(::write(ends[1], "x", 1), 1);
    EXPECT_EQ(blocked.join(), 1);  // a signal would have made it -1
    EXPECT_TRUE(runtime.shutdown());
    EXPECT_THAT(text_of(log), HasSubstr("fiber 'blocked' has not let go of its worker for "));
    EXPECT_THAT(text_of(log), HasSubstr("put the call into blocking()"));
    if (has_lines()) {
        EXPECT_THAT(text_of(log), HasSubstr("wait_in_the_kernel"));
    }
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST(Stall, FIB_16b_each_stall_is_counted_once_and_at_most_one_a_second_is_reported) {
    CapturedLog log;
    std::int64_t begin_ns = env::now_ns();
    Computing computing({.workers = 2, .stall_report = 10ms}, 2);
    await_stalls(computing.runtime, 2);
    std::int64_t seconds = (env::now_ns() - begin_ns) / 1'000'000'000;
    Computing witness({.workers = 1, .stall_report = 60ms});
    await_stalls(witness.runtime, 1);
    EXPECT_EQ(computing.runtime.counters().stalls.value(), 2U);
    computing.stop();
    witness.stop();
    EXPECT_TRUE(computing.runtime.shutdown());  // the monitors have written all of it
    EXPECT_TRUE(witness.runtime.shutdown());
    std::string text = text_of(log);
    std::int64_t reports = 0;
    for (std::size_t at = 0; (at = text.find("has not let go", at)) != std::string::npos; ++at)
        ++reports;
    EXPECT_GE(reports, 2) << text;  // one of each runtime
    EXPECT_LE(reports, 2 + seconds) << text;
}

TEST(Stall, FIB_16b_a_loop_with_checkpoints_is_no_stall_and_none_is_told_where_it_is_off) {
    CapturedLog log;
    Runtime fair({.workers = 1, .stall_report = 20ms});
    Atomic<bool> stop{false};
    Future<void> loop = fair.spawn([&] {
        while (!stop.load(std::memory_order_relaxed) && checkpoint()) {}
    });
    Computing unwatched({.workers = 1, .stall_report = 0ms});
    Computing witness({.workers = 1, .stall_report = 60ms});
    await_stalls(witness.runtime, 1);
    EXPECT_EQ(fair.counters().stalls.value(), 0U);
    EXPECT_EQ(unwatched.runtime.counters().stalls.value(), 0U);
    stop.store(true, std::memory_order_relaxed);
    EXPECT_TRUE(loop.join());
    unwatched.stop();
    witness.stop();
}

std::set<std::string> threads_of_the_process() {
    std::set<std::string> threads;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
        threads.insert(entry.path().string());
    return threads;
}

// How often each thread of the process went to sleep, except those given.
std::string switches_of_threads_beside(const std::set<std::string>& others) {
    std::string all;
    for (const std::string& folder : threads_of_the_process()) {
        if (others.contains(folder)) continue;
        std::ifstream status(folder + "/status");
        for (std::string line; std::getline(status, line);) {
            if (line.find("ctxt_switches") != std::string::npos) all += folder + line + '\n';
        }
    }
    return all;
}

TEST(Stall, FIB_16b_an_idle_program_is_not_woken) {
    std::set<std::string> others = threads_of_the_process();
    Runtime runtime({.workers = 2});
    std::vector<Future<void>> parked;
    for (int i = 0; i < 1000; ++i) parked.push_back(runtime.spawn([] { return park(); }));
    // Soon all threads sleep: then for longer than the monitor's interval nothing runs.
    bool quiet = false;
    std::string before;
    std::string after;
    for (int tries = 0; tries < 30 && !quiet; ++tries) {
        before = switches_of_threads_beside(others);
        std::this_thread::sleep_for(400ms);
        after = switches_of_threads_beside(others);
        quiet = !before.empty() && after == before;
    }
    EXPECT_TRUE(quiet) << before << after;
    EXPECT_TRUE(runtime.shutdown());
}

// ---------------------------------------------------------------- hangs

constexpr auto kSubjectHang = 20ms;
constexpr auto kWitnessHang = 150ms;

// A runtime that hangs, and the thread that waits for it.
class Hanging {
public:
    explicit Hanging(std::chrono::milliseconds report, std::string_view name = "witness")
        : runtime({.workers = 1, .hang_report = report}) {
        fiber_ = runtime.spawn([] { return park(); }, {.name = name});
        id_ = fiber_.id();
        thread_ = std::thread([this] { EXPECT_TRUE(fiber_.join()); });
    }
    void await_report() {
        await([&] { return runtime.counters().hangs.value() != 0; });
    }
    void end() {
        unpark(id_);
        thread_.join();
        EXPECT_TRUE(runtime.shutdown());
    }
    Runtime runtime;

private:
    Future<void> fiber_;
    FiberId id_;
    std::thread thread_;
};

TEST(Hang, FIB_16c_a_program_that_can_never_go_on_is_told_who_waits_on_what) {
    CapturedLog log;
    Hanging hanging(kSubjectHang, "forgotten");
    hanging.await_report();
    hanging.end();
    EXPECT_THAT(text_of(log), HasSubstr("no fiber can run: 1 wait"));
    EXPECT_THAT(text_of(log), HasSubstr("unless another thread wakes one"));
    EXPECT_THAT(text_of(log), HasSubstr("fiber 'forgotten': waiting on park for "));
    if (has_lines()) {
        EXPECT_THAT(text_of(log), HasSubstr("weft/fiber/report/monitor_test.cpp:"));
    }
    EXPECT_EQ(hanging.runtime.counters().hangs.value(), 1U);
}

// What still has something to come is not reported while another runtime, that hangs for longer,
// is.
void expect_no_report(Runtime& subject) {
    Hanging witness(kWitnessHang);
    witness.await_report();
    EXPECT_EQ(subject.counters().hangs.value(), 0U);
    witness.end();
}

TEST(Hang, FIB_16c_a_timer_a_descriptor_or_a_blocking_call_is_hope) {
    CapturedLog log;
    Runtime sleeping({.workers = 1, .hang_report = kSubjectHang});
    Future<void> sleeper = sleeping.spawn([] { return sleep_for(1h); });
    Runtime reading({.workers = 1, .hang_report = kSubjectHang});
    Future<void> reader = reading.spawn([]() -> Result<void> {
        Pipe pipe = WEFT_TRY(make_pipe());
        char byte = 0;
        WEFT_TRY(pipe.reader.read(std::as_writable_bytes(std::span(&byte, 1))));
        return {};
    });
    Runtime blocking_one({.workers = 1, .hang_report = kSubjectHang});
    Atomic<bool> stop{false};
    Future<void> blocked = blocking_one.spawn([&] {
        return blocking([&] { await([&] { return stop.load(std::memory_order_relaxed); }); });
    });
    expect_no_report(sleeping);
    EXPECT_EQ(reading.counters().hangs.value(), 0U);
    EXPECT_EQ(blocking_one.counters().hangs.value(), 0U);
    stop.store(true, std::memory_order_relaxed);
    EXPECT_TRUE(blocked.join());
    EXPECT_TRUE(sleeping.shutdown());
    EXPECT_TRUE(reading.shutdown());
}

TEST(Hang, FIB_16c_a_program_whose_threads_wake_its_fibers_is_left_alone) {
    CapturedLog log;
    Runtime fed({.workers = 1, .hang_report = kSubjectHang});
    Atomic<bool> woken{false};
    Future<void> fiber = fed.spawn(
        [&]() -> Result<void> {
            WEFT_TRY(park());
            woken.store(true, std::memory_order_relaxed);
            return park();
        },
        {.name = "fed"});
    await([] {
        std::vector<FiberReport> fibers = list_fibers(Backtraces::No);
        return std::ranges::any_of(fibers, [](const FiberReport& report) {
            return report.name == "fed" && report.state == FiberState::Waiting;
        });
    });
    unpark(fiber.id());
    await([&] { return woken.load(std::memory_order_relaxed); });
    expect_no_report(fed);
    EXPECT_TRUE(fed.shutdown());
}

TEST(Hang, FIB_16c_a_program_that_waits_for_a_signal_is_left_alone) {
    CapturedLog log;
    Result<SignalHook> hook = SignalHook::open(SIGUSR2, [](int) {});
    ASSERT_TRUE(hook);
    Hanging subject(kSubjectHang);
    Computing witness({.workers = 1, .stall_report = 200ms});
    await_stalls(witness.runtime, 1);
    EXPECT_EQ(subject.runtime.counters().hangs.value(), 0U);
    witness.stop();
    subject.end();
}

}  // namespace
}  // namespace weft
