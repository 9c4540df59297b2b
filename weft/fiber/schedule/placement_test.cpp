#include "weft/fiber/schedule/placement.h"

#include <gtest/gtest.h>
#include <sched.h>

#include "weft/fiber/io.h"
#include "weft/fiber/runtime.h"
#include "weft/testing/eventually.h"

namespace weft {
namespace {

struct Marked : Completion {
    Marked() : Completion{nullptr, mark} {}
    static void mark(Completion& completion) {
        auto& self = static_cast<Marked&>(completion);
        self.workers = workers_here().value();
        unpark(self.waiter);
    }
    FiberId waiter = current_id();
    std::vector<unsigned> workers;
};

TEST(Placement, FIB_9_a_plain_thread_has_none) {
    EXPECT_EQ(workers_here().error().kind(), ErrorKind::NoRuntime);
}

TEST(Placement, FIB_9_all_that_steal_or_just_the_pinned_one) {
    Runtime runtime({.workers = 3, .pinned_workers = 2});
    auto stealing = runtime.spawn([] { return workers_here().value(); }).join();
    EXPECT_EQ(stealing.value(), (std::vector{0U, 1U, 2U}));
    auto pinned = runtime.spawn_pinned(1, [] { return workers_here().value(); }).join();
    EXPECT_EQ(pinned.value(), std::vector{4U});
}

TEST(Placement, FIB_9_a_record_runs_on_the_worker_that_was_asked) {
    Runtime runtime({.workers = 2, .pinned_workers = 1});
    auto outcome = runtime.spawn([]() -> Result<std::vector<unsigned>> {
        Marked marked;
        EXPECT_EQ(post_here(7, marked).error().kind(), ErrorKind::Misuse);
        WEFT_TRY(post_here(2, marked));
        WEFT_TRY(park());
        return marked.workers;
    });
    EXPECT_EQ(outcome.join().value(), std::vector{2U});
}

TEST(Placement, FIB_9_a_record_is_posted_to_a_named_worker_from_any_thread) {
    EXPECT_EQ(WorkerName::of(0).error().kind(), ErrorKind::NoRuntime);
    Runtime runtime({.workers = 2, .pinned_workers = 1});
    WorkerName name = runtime.spawn([] { return WorkerName::of(2); }).join().value();
    EXPECT_FALSE(name.is_here());
    struct Told : Completion {
        const WorkerName* name = nullptr;
        bool is_here = false;
    } told;
    told.name = &name;
    told.run = [](Completion& completion) {
        auto& self = static_cast<Told&>(completion);
        self.is_here = self.name->is_here();
    };
    name.post(told);
    EXPECT_TRUE(runtime.spawn_pinned(0, [&] { return name.is_here(); }).join().value());
    EXPECT_TRUE(testing::eventually(
        [&] { return runtime.spawn_pinned(0, [&] { return told.is_here; }).join().value(); }));
}

TEST(Placement, FIB_5_fibers_that_start_in_turn_run_in_the_order_of_their_making) {
    Runtime runtime({.workers = 1});
    std::vector<int> order;
    auto outcome = runtime.spawn([&] {
        for (int number = 0; number < 4; ++number) {
            EXPECT_TRUE(spawn_detached([&order, number] { order.push_back(number); },
                                       {.start = Start::InTurn}));
        }
        while (order.size() < 4) yield();
    });
    EXPECT_TRUE(outcome.join());
    EXPECT_EQ(order, (std::vector{0, 1, 2, 3}));
}

TEST(Placement, FIB_5_a_fiber_that_starts_in_turn_runs_after_those_that_are_ready) {
    Runtime runtime({.workers = 1});
    std::string order;
    auto outcome = runtime.spawn([&] {
        Future<void> ready = spawn([&] {
            yield();
            order += 'r';
        });
        yield();  // it has begun, and waits for its next turn
        Future<void> in_turn = spawn([&] { order += 't'; }, {.start = Start::InTurn});
        Future<void> soon = spawn([&] { order += 's'; });
        yield();
        EXPECT_TRUE(ready.join());
        EXPECT_TRUE(soon.join());
        EXPECT_TRUE(in_turn.join());
    });
    EXPECT_TRUE(outcome.join());
    EXPECT_LT(order.find('r'), order.find('t')) << order;
    EXPECT_LT(order.find('s'), order.find('t')) << order;
}

TEST(Placement, FIB_9b_what_a_dormant_of_a_pinned_worker_spawns_stays_there) {
    Runtime runtime({.workers = 2, .pinned_workers = 1});
    struct Sleeper : Dormant {
        static void woken(Dormant& dormant, std::uint8_t) {
            auto& self = static_cast<Sleeper&>(dormant);
            EXPECT_TRUE(spawn_detached([&self] {
                self.workers = workers_here().value();
                unpark(self.waiter);
            }));
        }
        FiberId waiter;
        std::vector<unsigned> workers;
    };
    Sleeper sleeper;
    sleeper.on_ready = Sleeper::woken;
    auto outcome = runtime.spawn_pinned(0, [&]() -> Result<void> {
        sleeper.waiter = current_id();
        Pipe pipe = WEFT_TRY(make_pipe());
        EXPECT_TRUE(WEFT_TRY(pipe.reader.arm(sleeper, kReadable)));
        WEFT_TRY(pipe.writer.write_all(as_bytes("x")));
        return park();
    });
    EXPECT_TRUE(outcome.join());
    EXPECT_EQ(sleeper.workers, std::vector{2U});
}

TEST(Placement, FIB_6c_another_worker_takes_up_what_comes_for_a_pinned_one_that_is_kept) {
    Runtime runtime({.workers = 1, .pinned_workers = 1});
    struct Sleeper : Dormant {
        static void woken(Dormant& dormant, std::uint8_t) {
            auto& self = static_cast<Sleeper&>(dormant);
            self.worker.store(static_cast<int>(worker_here().value()), std::memory_order_release);
        }
        Atomic<int> worker{-1};
    };
    struct Look : Completion {
        Look() : Completion{nullptr, run} {}
        static void run(Completion& completion) {
            EXPECT_TRUE(look_after(1));
            static_cast<Look&>(completion).has_run.store(true, std::memory_order_release);
        }
        Atomic<bool> has_run{false};
    };
    Sleeper sleeper;
    sleeper.on_ready = Sleeper::woken;
    Look look;
    auto outcome = runtime.spawn_pinned(0, [&]() -> Result<void> {
        EXPECT_EQ(look_after(1).error().kind(), ErrorKind::Misuse);  // it is the caller's own
        Pipe pipe = WEFT_TRY(make_pipe());
        EXPECT_TRUE(WEFT_TRY(pipe.reader.arm(sleeper, kReadable)));
        WEFT_TRY(pipe.writer.write_all(as_bytes("x")));
        WEFT_TRY(runtime.post(0, look));
        // Without a wait, like a script that computes: at a wait this worker would poll itself.
        Deadline deadline = Deadline::after(testing::kEventuallyMax);
        while (sleeper.worker.load(std::memory_order_acquire) < 0) {
            if (deadline.expired(Clock::now())) return ErrorKind::TimedOut;
            sched_yield();
        }
        return {};
    });
    EXPECT_TRUE(outcome.join());
    EXPECT_TRUE(testing::eventually([&] { return look.has_run.load(std::memory_order_acquire); }));
    EXPECT_EQ(sleeper.worker.load(std::memory_order_acquire), 0);
}

}  // namespace
}  // namespace weft
