#include "weft/fiber/os/signal.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/base/env.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/testing/scale.h"

namespace weft {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

template <class Body>
void in_runtime(unsigned workers, Body body) {
    Result<void> result = run(body, {.workers = workers});
    EXPECT_TRUE(result) << result.error().message();
}

template <class T>
ErrorKind kind_of(const Result<T>& result) {
    EXPECT_FALSE(result.has_value());
    return result ? ErrorKind::Other : result.error().kind();
}

void send(int signal) { ASSERT_EQ(::kill(::getpid(), signal), 0); }

bool is_default(int signal) {
    struct sigaction action{};
    EXPECT_EQ(::sigaction(signal, nullptr, &action), 0);
    return action.sa_handler == SIG_DFL;
}

TEST(SignalWatch, RCT_6_a_fiber_waits_for_a_signal) {
    in_runtime(1, []() -> Result<void> {
        SignalWatch watch = WEFT_TRY(SignalWatch::open({SIGUSR1, SIGUSR2}));
        auto waiter = spawn([&] { return watch.wait(Deadline::after(seconds(10))); });
        yield();
        send(SIGUSR2);
        EXPECT_EQ(WEFT_TRY(waiter.join()), SIGUSR2);
        send(SIGUSR1);
        EXPECT_EQ(WEFT_TRY(watch.wait(Deadline::after(seconds(10)))), SIGUSR1);
        return {};
    });
}

TEST(SignalWatch, RCT_6_a_plain_thread_waits_too) {
    Result<SignalWatch> watch = SignalWatch::open({SIGUSR1});
    ASSERT_TRUE(watch);
    std::thread sender([] { send(SIGUSR1); });
    EXPECT_EQ(watch->wait(Deadline::after(seconds(10))), SIGUSR1);
    sender.join();
}

TEST(SignalWatch, RCT_6_a_signal_between_two_waits_is_kept) {
    in_runtime(1, []() -> Result<void> {
        SignalWatch watch = WEFT_TRY(SignalWatch::open({SIGUSR1, SIGUSR2}));
        SignalWatch second = WEFT_TRY(SignalWatch::open({SIGUSR2}));
        send(SIGUSR2);
        // When the second watch has received the signal, so has the first, on which nobody waits.
        EXPECT_EQ(WEFT_TRY(second.wait(Deadline::after(seconds(10)))), SIGUSR2);
        EXPECT_EQ(WEFT_TRY(watch.wait()), SIGUSR2);
        EXPECT_EQ(kind_of(watch.wait(Deadline::after(milliseconds(2)))), ErrorKind::TimedOut);
        return {};
    });
}

TEST(SignalWatch, RCT_6_a_wait_times_out_and_is_cancelled) {
    in_runtime(1, []() -> Result<void> {
        EXPECT_EQ(kind_of(wait_for_signal({SIGUSR1}, Deadline::after(milliseconds(2)))),
                  ErrorKind::TimedOut);
        CancelSource source;
        auto waiter = spawn([&] {
            CancelScope scope(source.token());
            return wait_for_signal({SIGUSR1});
        });
        yield();
        source.cancel();
        EXPECT_EQ(kind_of(waiter.join()), ErrorKind::Cancelled);
        return {};
    });
}

TEST(SignalWatch, RCT_6_all_watches_hear_it) {
    in_runtime(2, []() -> Result<void> {
        std::vector<SignalWatch> watches;
        for (int i = 0; i < 10; ++i) watches.push_back(WEFT_TRY(SignalWatch::open({SIGUSR1})));
        std::vector<Future<int>> waiters;
        for (SignalWatch& watch : watches)
            waiters.push_back(spawn([&] { return watch.wait(Deadline::after(seconds(10))); }));
        send(SIGUSR1);
        for (Future<int>& waiter : waiters) EXPECT_EQ(WEFT_TRY(waiter.join()), SIGUSR1);
        return {};
    });
}

TEST(SignalWatch, RCT_6_the_former_handler_comes_back_with_the_last_watch) {
    ASSERT_TRUE(is_default(SIGUSR1));
    {
        Result<SignalWatch> first = SignalWatch::open({SIGUSR1});
        ASSERT_TRUE(first);
        EXPECT_FALSE(is_default(SIGUSR1));
        {
            Result<SignalWatch> second = SignalWatch::open({SIGUSR1, SIGUSR2});
            ASSERT_TRUE(second);
        }
        EXPECT_FALSE(is_default(SIGUSR1));
        EXPECT_TRUE(is_default(SIGUSR2));
    }
    EXPECT_TRUE(is_default(SIGUSR1));
}

TEST(SignalWatch, RCT_6_impossible_signals_are_refused) {
    EXPECT_EQ(SignalWatch::open({SIGKILL}).error().native_code(), EINVAL);
    EXPECT_EQ(SignalWatch::open({SIGUSR1, SIGSTOP}).error().native_code(), EINVAL);
    EXPECT_TRUE(is_default(SIGUSR1));
    EXPECT_EQ(SignalWatch::open({0}).error().native_code(), EINVAL);
    EXPECT_EQ(SignalWatch::open({65}).error().native_code(), EINVAL);
    EXPECT_EQ(kind_of(SignalWatch::open({})), ErrorKind::Misuse);
}

TEST(SignalWatch, RCT_6_a_second_waiter_is_refused) {
    in_runtime(1, []() -> Result<void> {
        SignalWatch watch = WEFT_TRY(SignalWatch::open({SIGUSR1}));
        auto waiter = spawn([&] { return watch.wait(Deadline::after(seconds(10))); });
        yield();
        EXPECT_EQ(kind_of(watch.wait()), ErrorKind::Misuse);
        send(SIGUSR1);
        WEFT_TRY(waiter.join());
        return {};
    });
}

TEST(SignalWatch, RCT_6_it_is_heard_though_every_thread_of_the_program_blocks_it) {
    sigset_t blocked;
    sigset_t before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
    Result<int> heard = ErrorKind::Other;
    {
        Result<SignalWatch> watch = SignalWatch::open({SIGUSR1});
        ASSERT_TRUE(watch);
        send(SIGUSR1);
        heard = watch->wait(Deadline::after(seconds(10)));
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    EXPECT_EQ(heard, SIGUSR1);
}

TEST(SignalWatch, RCT_6_none_of_many_is_lost) {
    if (testing::kThreadSanitizer) {
        GTEST_SKIP() << "the sanitizer holds signals back until a thread calls it";
    }
    in_runtime(2, []() -> Result<void> {
        SignalWatch watch = WEFT_TRY(SignalWatch::open({SIGUSR1}));
        for (int i = 0; i < 500; ++i) {
            send(SIGUSR1);
            EXPECT_EQ(WEFT_TRY(watch.wait(Deadline::after(seconds(10)))), SIGUSR1);
        }
        return {};
    });
}

TEST(SignalHook, RCT_6_a_hook_is_called_though_all_workers_are_stuck) {
    in_runtime(1, []() -> Result<void> {
        Atomic<int> called{0};
        SignalHook hook = WEFT_TRY(SignalHook::open(
            SIGUSR1, [&](int signal) { called.store(signal, std::memory_order_release); }));
        send(SIGUSR1);
        // The one worker spins here and runs nothing else.
        Instant until = Clock::now() + seconds(10);
        while (called.load(std::memory_order_acquire) == 0 && Clock::now() < until)
            env::spin_pause(100);
        EXPECT_EQ(called.load(std::memory_order_acquire), SIGUSR1);
        return {};
    });
    EXPECT_TRUE(is_default(SIGUSR1));
}

TEST(SignalHook, RCT_6_its_end_waits_for_a_call_under_way) {
    for (int round = 0; round < 50; ++round) {
        Atomic<int> begun{0};
        Atomic<int> ended{0};
        {
            Result<SignalHook> hook = SignalHook::open(SIGUSR1, [&](int) {
                begun.store(1, std::memory_order_release);
                for (unsigned i = 0; i < 100; ++i) env::spin_pause(i);
                ended.store(1, std::memory_order_release);
            });
            ASSERT_TRUE(hook);
            send(SIGUSR1);
            if (round % 2 == 0) {
                while (begun.load(std::memory_order_acquire) == 0) env::spin_pause(100);
            }
        }
        EXPECT_EQ(begun.load(std::memory_order_acquire), ended.load(std::memory_order_acquire));
    }
}

}  // namespace
}  // namespace weft
