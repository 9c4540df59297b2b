// tidy: allow-file sleep: fibers that sleep are what is looked at
#include "weft/fiber/graceful_stop.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "weft/fiber/blocking.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/io.h"
#include "weft/fiber/runtime.h"
#include "weft/testing/captured_log.h"
#include "weft/testing/eventually.h"
#include "weft/testing/scale.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

// What a fiber or the test waits for. An Event is not to be had down here.
struct Flag {
    void set() { value.store(true, std::memory_order_release); }
    bool is_set() const { return value.load(std::memory_order_acquire); }
    bool wait() const {
        return testing::eventually([this] { return is_set(); });
    }
    Atomic<bool> value{false};
};

// A service in small: it serves until its listener, a pipe, is closed.
struct Service {
    explicit Service(Runtime& runtime) : pipe(make_pipe().value()) {
        serving = runtime.spawn([this] {
            std::byte buffer[16];
            while (pipe.reader.read(buffer)) {}
            closed.store(true, std::memory_order_seq_cst);
        });
    }
    Pipe pipe;
    Atomic<bool> closed{false};
    Future<void> serving;
};

TEST(GracefulStop, FIB_14e_a_signal_closes_the_listeners_and_lets_the_rest_finish) {
    Runtime runtime({.workers = 2});
    GracefulStop stop = GracefulStop::on_signals(runtime, {.drain = 60s}).value();
    Service service(runtime);
    DrainHook drain = stop.on_drain([&] { service.pipe.reader.close(); });
    Future<bool> in_flight = runtime.spawn([&] {
        while (!service.closed.load(std::memory_order_seq_cst)) yield();
        return sleep_for(20ms).has_value();  // a request that is still being answered
    });
    kill(getpid(), SIGTERM);
    runtime.run();
    EXPECT_TRUE(stop.has_begun());
    EXPECT_EQ(in_flight.join(), true);
    EXPECT_TRUE(service.serving.join());
    EXPECT_TRUE(runtime.shutdown());
}

TEST(GracefulStop, FIB_14e_what_does_not_end_in_time_is_cancelled) {
    Runtime runtime({.workers = 2});
    GracefulStop stop = GracefulStop::on_signals(runtime, {.drain = 10ms}).value();
    Future<void> stubborn = runtime.spawn([] { return sleep_for(1h); });
    kill(getpid(), SIGINT);
    runtime.run();
    EXPECT_EQ(stubborn.join().error(), ErrorKind::Cancelled);
}

TEST(GracefulStop, FIB_14e_to_begin_again_cancels_at_once) {
    Runtime runtime({.workers = 2});
    GracefulStop stop = GracefulStop::on_signals(runtime, {.drain = 1h}).value();
    Atomic<bool> draining{false};
    DrainHook drain = stop.on_drain([&] { draining.store(true, std::memory_order_seq_cst); });
    Future<void> stubborn = runtime.spawn([] { return sleep_for(2h); });
    stop.begin();
    while (!draining.load(std::memory_order_seq_cst)) usleep(100);
    stop.begin();
    runtime.run();
    EXPECT_EQ(stubborn.join().error(), ErrorKind::Cancelled);
}

TEST(GracefulStop, FIB_14e_hooks_are_called_newest_first_on_a_fiber_and_late_ones_as_well) {
    Runtime runtime({.workers = 1});
    GracefulStop stop = GracefulStop::on_signals(runtime).value();
    std::string order;
    Flag called;
    DrainHook first = stop.on_drain([&] {
        EXPECT_TRUE(sleep_for(1ms));  // it may wait
        order += 'a';
        called.set();
    });
    DrainHook second = stop.on_drain([&] {
        EXPECT_NE(current(), nullptr);
        EXPECT_EQ(current_name(), "drain");
        order += 'b';
    });
    stop.begin();
    ASSERT_TRUE(called.wait());
    DrainHook late = stop.on_drain([&] { order += 'c'; });
    runtime.run();
    EXPECT_EQ(order, "bac");
}

TEST(GracefulStop, FIB_14e_a_hook_that_was_taken_back_is_not_called) {
    Runtime runtime({.workers = 1});
    GracefulStop stop = GracefulStop::on_signals(runtime).value();
    bool dropped_called = false;
    bool kept_called = false;
    DrainHook kept = stop.on_drain([&] { kept_called = true; });
    {
        DrainHook dropped = stop.on_drain([&] { dropped_called = true; });
    }
    stop.begin();
    runtime.run();
    EXPECT_TRUE(kept_called);
    EXPECT_FALSE(dropped_called);
}

TEST(GracefulStop, FIB_14e_taking_back_waits_for_a_call_that_is_under_way) {
    Runtime runtime({.workers = 2});
    GracefulStop stop = GracefulStop::on_signals(runtime).value();
    Flag entered;
    Flag may_end;
    bool ended = false;
    auto owner = runtime.spawn([&] {
        DrainHook hook = stop.on_drain([&] {
            entered.set();
            EXPECT_TRUE(may_end.wait());
            for (int i = 0; i < 100; ++i) yield();
            ended = true;
        });
        stop.begin();
        EXPECT_TRUE(entered.wait());
        may_end.set();
        hook.take_back();
        EXPECT_TRUE(ended);
    });
    EXPECT_TRUE(owner.join());
}

TEST(GracefulStop, FIB_14e_a_function_may_take_itself_back) {
    Runtime runtime({.workers = 1});
    GracefulStop stop = GracefulStop::on_signals(runtime).value();
    std::optional<DrainHook> hook;
    auto captured = std::make_shared<int>(1);
    std::weak_ptr<int> alive = captured;
    hook.emplace(stop.on_drain([&, captured = std::move(captured)] {
        hook.reset();
        EXPECT_EQ(*captured, 1);
    }));
    stop.begin();
    runtime.run();
    EXPECT_FALSE(hook);
    EXPECT_TRUE(alive.expired());
}

TEST(GracefulStop, FIB_14e_a_function_that_fails_or_throws_does_not_keep_the_others_from_it) {
    testing::CapturedLog log;
    Runtime runtime({.workers = 1});
    GracefulStop stop = GracefulStop::on_signals(runtime).value();
    bool called = false;
    DrainHook oldest = stop.on_drain([&] { called = true; });
    DrainHook failing = stop.on_drain([]() -> Result<void> { return ErrorKind::Unavailable; });
    DrainHook throwing = stop.on_drain([] { throw std::runtime_error("no luck"); });
    stop.begin();
    runtime.run();
    EXPECT_TRUE(called);
    EXPECT_TRUE(log.contains("a function of on_drain() failed: no luck"));
}

TEST(GracefulStop, FIB_14e_one_call_does_it_within_run) {
    bool in_flight_ended = false;
    Result<int> outcome = run([&]() -> Result<int> {
        Pipe pipe = WEFT_TRY(make_pipe());
        DrainHook drain = WEFT_TRY(on_drain([&] { pipe.reader.close(); }));
        Future<void> in_flight = spawn([&]() -> Result<void> {
            WEFT_TRY(sleep_for(20ms));
            in_flight_ended = true;
            return {};
        });
        kill(getpid(), SIGTERM);
        std::byte buffer[16];
        EXPECT_EQ(pipe.reader.read(buffer).error().kind(), ErrorKind::Closed);
        WEFT_TRY(in_flight.join());
        return 7;
    });
    EXPECT_EQ(outcome, 7);
    EXPECT_TRUE(in_flight_ended);
}

TEST(GracefulStop, FIB_14e_a_runtime_has_one_stop_at_a_time) {
    Result<void> outcome = run([]() -> Result<void> {
        EXPECT_FALSE(WEFT_TRY(GracefulStop::current()).has_begun());
        GracefulStop stop = WEFT_TRY(GracefulStop::on_signals({.drain = 1h}));
        EXPECT_EQ(GracefulStop::on_signals().error().kind(), ErrorKind::Misuse);
        WEFT_TRY(GracefulStop::current())
        .begin();
        EXPECT_TRUE(stop.has_begun());
        return {};
    });
    EXPECT_TRUE(outcome);
    EXPECT_EQ(GracefulStop::current().error().kind(), ErrorKind::NoRuntime);
    EXPECT_EQ(on_drain([] {}).error().kind(), ErrorKind::NoRuntime);
}

class GracefulStopDeathTest : public ::testing::Test {
protected:
    GracefulStopDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(GracefulStopDeathTest, FIB_14e_a_second_signal_ends_the_process_at_once) {
    auto twice = [] {
        static_cast<void>(run([]() -> Result<void> {
            Flag draining;
            {
                DrainHook drain = WEFT_TRY(on_drain([&] { draining.set(); }));
                kill(getpid(), SIGTERM);
                EXPECT_TRUE(draining.wait());
            }
            kill(getpid(), SIGINT);
            return sleep_for(1h);
        }));
    };
    EXPECT_EXIT(twice(), ::testing::KilledBySignal(SIGINT), "");
}

// A program that begins its own drain is not killed by the signal that it was about to get.
TEST(GracefulStop, FIB_14e_a_first_signal_after_begin_ends_nothing) {
    Runtime runtime({.workers = 2});
    GracefulStop stop = GracefulStop::on_signals(runtime, {.drain = 1h}).value();
    Future<bool> in_flight = runtime.spawn([&] {
        stop.begin();
        kill(getpid(), SIGTERM);
        return sleep_for(20ms).has_value();
    });
    runtime.run();
    EXPECT_EQ(in_flight.join(), true);
}

// Whatever does not end when it is cancelled is named, and keeps the process no longer. `stuck`
// sends the signal itself, when it is where it never returns from.
void end_with(std::function<void()> stuck) {
    Runtime runtime({.workers = 1});
    GracefulStop stop =
        GracefulStop::on_signals(runtime, {.drain = 10ms, .unwinding = 500ms}).value();
    auto fiber = runtime.spawn(std::move(stuck), {.name = "the stuck one"});
    runtime.run();
}

TEST_F(GracefulStopDeathTest, FIB_14e_a_blocking_call_that_never_returns_is_named_and_left) {
    auto sleeps = [] {
        static_cast<void>(blocking([] {
            kill(getpid(), SIGTERM);
            for (;;) ::sleep(3600);
        }));
    };
    EXPECT_EXIT(end_with(sleeps), ::testing::ExitedWithCode(1),
                "[0-9]+ fibers and 1 blocking calls did not end(.|\n)*the stuck one");
}

TEST_F(GracefulStopDeathTest, FIB_14e_a_fiber_that_never_lets_go_of_its_worker_is_named_and_left) {
    auto computes = [] {
        kill(getpid(), SIGTERM);
        for (Atomic<bool> never{false}; !never.load(std::memory_order_relaxed);) {}
    };
    EXPECT_EXIT(end_with(computes), ::testing::ExitedWithCode(1),
                "fibers and 0 blocking calls did not end(.|\n)*the stuck one");
}

TEST_F(GracefulStopDeathTest, FIB_14e_a_hook_that_never_returns_is_left_as_well) {
    auto hook = [] {
        Runtime runtime({.workers = 2});
        GracefulStop stop =
            GracefulStop::on_signals(runtime, {.drain = 10ms, .unwinding = 10ms}).value();
        DrainHook drain =
            stop.on_drain([] { return shield(Deadline::never(), [] { return sleep_for(1h); }); });
        auto serving = runtime.spawn([] { return sleep_for(1h); });
        kill(getpid(), SIGTERM);
        runtime.run();
    };
    EXPECT_EXIT(hook(), ::testing::ExitedWithCode(1), "did not end");
}

// Whatever a hook names may be destroyed as soon as the hook is: the two never meet.
TEST(GracefulStop, FIB_14e_a_drain_never_meets_the_end_of_what_it_names) {
    for (std::size_t i = 0; i < testing::repeats(3000); ++i) {
        Runtime runtime({.workers = 2});
        GracefulStop stop = GracefulStop::on_signals(runtime).value();
        Atomic<bool> up{false};
        Future<void> serving = runtime.spawn([&]() -> Result<void> {
            Pipe pipe = WEFT_TRY(make_pipe());
            DrainHook drain = stop.on_drain([&] { pipe.reader.close(); });
            up.store(true, std::memory_order_release);
            std::byte buffer[16];
            EXPECT_EQ(pipe.reader.read(buffer).error().kind(), ErrorKind::Closed);
            return {};
        });
        while (!up.load(std::memory_order_acquire)) sched_yield();
        stop.begin();
        EXPECT_TRUE(serving.join());
    }
}

TEST(GracefulStop, FIB_11d_sigusr1_writes_the_dump) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    int saved = dup(STDERR_FILENO);
    Runtime runtime({.workers = 1});
    GracefulStop stop = GracefulStop::on_signals(runtime).value();
    // The worker is stuck in a fiber; the dump comes all the same.
    Atomic<bool> release{false};
    Future<void> stuck = runtime.spawn(
        [&] {
            while (!release.load(std::memory_order_relaxed)) {}
        },
        {.name = "stuck one"});
    dup2(ends[1], STDERR_FILENO);
    kill(getpid(), SIGUSR1);
    std::string text;
    char buffer[512];
    while (text.find("stuck one") == std::string::npos) {
        ssize_t count = read(ends[0], buffer, sizeof buffer);
        ASSERT_GT(count, 0);
        text.append(buffer, static_cast<std::size_t>(count));
    }
    dup2(saved, STDERR_FILENO);
    release.store(true, std::memory_order_relaxed);
    EXPECT_TRUE(stuck.join());
    for (int fd : {ends[0], ends[1], saved}) close(fd);
    EXPECT_NE(text.find("weft: 1 fibers"), std::string::npos) << text;
}

}  // namespace
}  // namespace weft
