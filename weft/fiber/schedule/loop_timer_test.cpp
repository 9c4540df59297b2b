#include "weft/fiber/schedule/loop_timer.h"

#include <gtest/gtest.h>

#include <vector>

#include "weft/fiber/runtime.h"
#include "weft/fiber/waiter.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

// A record that notes when it has run.
struct Noted : Completion {
    LoopTimer timer{*this};
    std::vector<Instant> runs;
    bool was_in_fiber = false;
    WaitRef waiter;

    Noted() {
        run = [](Completion& record) {
            auto& self = static_cast<Noted&>(record);
            self.timer.begin_run();
            self.runs.push_back(Clock::now());
            self.was_in_fiber = current() != nullptr;
            if (self.waiter.cell() && self.waiter.try_claim(Wake::Ready)) self.waiter.resume();
        };
    }

    // The fiber and the loop take turns on one thread: the record cannot run in between.
    bool has_run() {
        if (!runs.empty()) return true;
        Waiter wait(WaitReason::Job, this);
        waiter = wait.ref();
        return wait.wait(Deadline::after(10s)) == Wake::Ready;
    }
};

template <class Function>
void on_pinned_worker(Function function) {
    Runtime runtime({.workers = 1, .pinned_workers = 1});
    ASSERT_TRUE(runtime.spawn_pinned(0, function).join());
}

TEST(LoopTimer, RCT_3_a_record_runs_in_the_loop_and_never_before_its_time) {
    on_pinned_worker([] {
        Noted noted;
        Instant due = Clock::now() + 5ms;
        noted.timer.set(due);
        ASSERT_TRUE(noted.has_run());
        ASSERT_EQ(noted.runs.size(), 1U);
        EXPECT_GE(noted.runs[0], due);
        EXPECT_FALSE(noted.was_in_fiber);
        EXPECT_FALSE(noted.timer.is_set());
    });
}

TEST(LoopTimer, RCT_3_setting_again_replaces_the_deadline) {
    on_pinned_worker([] {
        Noted noted;
        noted.timer.set(Clock::now() + 1h);
        noted.timer.set(Clock::now() + 1ms);
        ASSERT_TRUE(noted.has_run());
        EXPECT_EQ(noted.runs.size(), 1U);
    });
}

TEST(LoopTimer, RCT_3_a_cancelled_timer_does_not_run) {
    on_pinned_worker([] {
        Noted cancelled;
        Noted later;
        cancelled.timer.set(Clock::now() + 1ms);
        cancelled.timer.cancel();
        later.timer.set(Clock::now() + 3ms);
        ASSERT_TRUE(later.has_run());
        EXPECT_TRUE(cancelled.runs.empty());
    });
}

TEST(LoopTimer, RCT_3_a_deadline_in_the_past_runs_once_and_does_not_spin) {
    on_pinned_worker([] {
        Noted noted;
        noted.timer.set(Clock::now() - 1s);
        ASSERT_TRUE(noted.has_run());
        yield();
        EXPECT_EQ(noted.runs.size(), 1U);
    });
}

}  // namespace
}  // namespace weft
