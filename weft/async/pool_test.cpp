#include "weft/async/pool.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

#include "weft/async/group.h"
#include "weft/async/internal/async_test.h"
#include "weft/async/task.h"
#include "weft/base/atomic.h"
#include "weft/fiber/fiber.h"
#include "weft/sync/channel.h"
#include "weft/sync/event.h"
#include "weft/sync/semaphore.h"
#include "weft/testing/captured_log.h"
#include "weft/testing/eventually.h"

namespace weft::async {
namespace {

using namespace async_test;
using namespace std::chrono_literals;

// A pool of one worker whose only job runs until release() and whose queue has `free` places left.
class BusyPool {
public:
    explicit BusyPool(int free, const Context& parent = Context::current())
        : pool(*Pool::create(parent, {.workers = 1, .queue_size = free + 1})) {
        EXPECT_TRUE(pool.try_submit([this](Context&) { ignore_context_until(released_); }));
        EXPECT_TRUE(pool.try_submit([] {}));  // the worker may not have taken its job yet
    }
    void release() { released_.set(); }

    Pool pool;

private:
    Event released_;
};

TEST(Pool, SC_3a_options_must_be_positive_and_workers_are_checked_first) {
    auto create = [](int workers, int queue_size) {
        return text_of(Pool::create({.workers = workers, .queue_size = queue_size}));
    };
    EXPECT_EQ(create(0, 1), "async: pool worker count must be positive");
    EXPECT_EQ(create(-1, 0), "async: pool worker count must be positive");
    EXPECT_EQ(create(1, 0), "async: pool queue size must be positive");
    EXPECT_EQ(create(1, -1), "async: pool queue size must be positive");
    EXPECT_EQ(create(1, 1), "");
}

TEST(Pool, SC_3b_no_more_than_workers_run_at_once) {
    everywhere([] {
        constexpr int kJobs = 40;
        Pool pool = *Pool::create({.workers = 3, .queue_size = kJobs});
        Atomic<int> running{0};
        Atomic<int> too_many{0};
        Semaphore go_on(0);
        Channel<int> entered(kJobs);
        for (int i = 0; i < kJobs; ++i) {
            ASSERT_TRUE(pool.try_submit([&]() -> Result<void> {
                // Each job counts the jobs that run beside it, so one too many is detected.
                if (running.fetch_add(1, std::memory_order_relaxed) >= 3)
                    too_many.fetch_add(1, std::memory_order_relaxed);
                WEFT_TRY(entered.send(1));
                WEFT_TRY(go_on.acquire());
                running.fetch_sub(1, std::memory_order_relaxed);
                return {};
            }));
        }
        // Three are held inside, then each one that ends lets the next one start.
        for (int i = 0; i < 3; ++i) EXPECT_TRUE(entered.receive());
        for (int i = 0; i < 100; ++i) yield();
        EXPECT_EQ(running.load(std::memory_order_relaxed), 3);
        go_on.release(kJobs);
        EXPECT_TRUE(pool.close());
        EXPECT_EQ(too_many.load(std::memory_order_relaxed), 0);
    });
}

TEST(Pool, SC_3b_as_many_as_workers_do_run_at_once) {
    everywhere([] {
        Pool pool = *Pool::create({.workers = 2, .queue_size = 2});
        Channel<int> started(4);
        Event release;
        for (int i = 0; i < 4; ++i) {
            ASSERT_TRUE(pool.try_submit([&]() -> Result<void> {
                WEFT_TRY(started.send(1));
                return release.wait();
            }));
        }
        EXPECT_TRUE(started.receive());
        EXPECT_TRUE(started.receive());
        EXPECT_EQ(started.size(), 0U);
        release.set();
        EXPECT_TRUE(pool.close());
        EXPECT_EQ(started.size(), 2U);
    });
}

TEST(Pool, SC_3b_jobs_start_in_the_order_of_their_acceptance) {
    everywhere([] {
        Pool pool = *Pool::create({.workers = 1, .queue_size = 50});
        std::vector<int> order;
        for (int i = 0; i < 50; ++i) ASSERT_TRUE(pool.submit([&, i] { order.push_back(i); }));
        EXPECT_TRUE(pool.close());
        ASSERT_EQ(order.size(), 50U);
        for (int i = 0; i < 50; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
    });
}

TEST(Pool, SC_3c_a_full_pool_refuses_at_once) {
    everywhere([] {
        BusyPool busy(0);
        EXPECT_EQ(text_of(busy.pool.try_submit([] {})), "async: pool queue is full");
        busy.release();
        EXPECT_TRUE(busy.pool.close());
    });
}

TEST(Pool, SC_3c_a_refused_function_is_left_as_it_was) {
    everywhere([] {
        BusyPool busy(0);
        auto kept = std::make_unique<int>(1);
        auto job = [mine = std::move(kept)] { EXPECT_EQ(*mine, 1); };
        EXPECT_FALSE(busy.pool.try_submit(std::move(job)));
        busy.release();
        EXPECT_TRUE(busy.pool.submit(std::move(job)));
        EXPECT_TRUE(busy.pool.close());
    });
}

TEST(Pool, SC_3c_nil_is_checked_before_closed_and_closed_before_full) {
    everywhere([] {
        std::function<void(Context&)> empty;
        BusyPool busy(0);
        auto closer = async::run_task([&] { return busy.pool.close(); });
        ASSERT_TRUE(closer);
        // The pool stays full until it is closed.
        EXPECT_TRUE(testing::eventually(
            [&] { return text_of(busy.pool.try_submit([] {})) == "async: pool is closed"; }));
        EXPECT_EQ(text_of(busy.pool.try_submit(empty)), "async: job function is nil");
        EXPECT_EQ(text_of(busy.pool.submit(empty)), "async: job function is nil");
        EXPECT_EQ(text_of(busy.pool.submit_for(1s, empty)), "async: job function is nil");
        busy.release();
        EXPECT_TRUE(closer->wait());
    });
}

TEST(Pool, SC_3d_submit_waits_for_room) {
    everywhere([] {
        BusyPool busy(0);
        Event ran;
        auto submitter =
            async::run_task([&] { return busy.pool.submit([&](Context&) { ran.set(); }); });
        ASSERT_TRUE(submitter);
        busy.release();
        EXPECT_TRUE(submitter->wait());
        EXPECT_TRUE(ran.wait());
        EXPECT_TRUE(busy.pool.close());
    });
}

TEST(Pool, SC_3d_submit_ends_with_its_context_and_has_taken_no_place) {
    everywhere([] {
        BusyPool busy(0);
        auto [context, source] = Context::current().with_cancel();
        auto submitter =
            async::run_task([&] { return busy.pool.submit(context, [] { ADD_FAILURE(); }); });
        ASSERT_TRUE(submitter);
        source.cancel();
        EXPECT_EQ(text_of(submitter->wait()), "context canceled");
        busy.release();
        EXPECT_TRUE(busy.pool.close());
    });
}

TEST(Pool, SC_3d_submit_below_an_ended_context_is_refused_before_closed) {
    everywhere([] {
        Pool pool = *Pool::create({.workers = 1, .queue_size = 1});
        auto [context, source] = Context::current().with_cancel();
        source.cancel();
        EXPECT_EQ(text_of(pool.submit(context, [] {})), "context canceled");
        EXPECT_TRUE(pool.close());
        EXPECT_EQ(text_of(pool.submit(context, [] {})), "context canceled");
        EXPECT_EQ(text_of(pool.submit([] {})), "async: pool is closed");
    });
}

TEST(Pool, SC_3d_the_context_of_submit_bounds_the_admission_only) {
    everywhere([] {
        Pool pool = *Pool::create({.workers = 1, .queue_size = 1});
        auto [context, source] = Context::current().with_cancel();
        Event cancelled;
        ASSERT_TRUE(pool.submit(context, [&](Context& mine) {
            EXPECT_TRUE(cancelled.wait());
            EXPECT_FALSE(mine.is_done());
        }));
        source.cancel();
        cancelled.set();
        EXPECT_TRUE(pool.close());
    });
}

TEST(Pool, SC_3d_submit_honours_the_ambient_context_as_well) {
    everywhere([] {
        BusyPool busy(0);
        auto [ambient, source] = Context::current().with_cancel();
        auto submitter = run_with_context(ambient, [&] {
            return busy.pool.submit(Context::background(), [] { ADD_FAILURE(); });
        });
        ASSERT_TRUE(submitter);
        source.cancel();
        EXPECT_EQ(text_of(submitter->wait()), "context canceled");
        busy.release();
        EXPECT_TRUE(busy.pool.close());
    });
}

TEST(Pool, SC_3d_submit_for_times_out_and_has_taken_no_place) {
    everywhere([] {
        BusyPool busy(1);
        EXPECT_TRUE(busy.pool.submit_for(kTooLong, [] {}));
        for (auto timeout : {kShort, 0ms, -1ms})
            EXPECT_EQ(text_of(busy.pool.submit_for(timeout, [] {})), "async: timeout");
        busy.release();
        EXPECT_TRUE(testing::eventually([&] { return busy.pool.try_submit([] {}).has_value(); }));
        EXPECT_TRUE(busy.pool.close());
    });
}

TEST(Pool, SC_3d_close_wakes_those_who_wait_for_room) {
    everywhere([] {
        BusyPool busy(0);
        std::vector<Task<void>> submitters;
        Atomic<int> arrived{0};
        for (int i = 0; i < 4; ++i) {
            submitters.push_back(*async::run_task([&, i]() -> Result<void> {
                arrived.fetch_add(1, std::memory_order_relaxed);
                auto job = [] { ADD_FAILURE(); };
                return i % 2 == 0 ? busy.pool.submit(job) : busy.pool.submit_for(kTooLong, job);
            }));
        }
        EXPECT_TRUE(
            testing::eventually([&] { return arrived.load(std::memory_order_relaxed) == 4; }));
        auto closer = async::run_task([&] { return busy.pool.close(); });
        ASSERT_TRUE(closer);
        for (auto& submitter : submitters)
            EXPECT_EQ(text_of(submitter.wait()), "async: pool is closed");
        busy.release();
        EXPECT_TRUE(closer->wait());
    });
}

TEST(Pool, SC_3e_close_waits_for_accepted_jobs) {
    everywhere([] {
        Pool pool = *Pool::create({.workers = 3, .queue_size = 9});
        Atomic<int> finished{0};
        Event release;
        for (int i = 0; i < 12; ++i) {
            ASSERT_TRUE(pool.try_submit([&]() -> Result<void> {
                WEFT_TRY(release.wait());
                finished.fetch_add(1, std::memory_order_relaxed);
                return {};
            }));
        }
        auto closer = async::run_task([&] {
            Result<void> closed = pool.close();
            EXPECT_EQ(finished.load(std::memory_order_relaxed), 12);
            return closed;
        });
        ASSERT_TRUE(closer);
        EXPECT_TRUE(testing::eventually(
            [&] { return text_of(pool.try_submit([] {})) == "async: pool is closed"; }));
        EXPECT_EQ(finished.load(std::memory_order_relaxed), 0);
        release.set();
        EXPECT_TRUE(closer->wait());
    });
}

TEST(Pool, SC_3e_close_and_wait_are_one_and_one_shot) {
    everywhere([] {
        Pool pool = *Pool::create({.workers = 1, .queue_size = 1});
        EXPECT_TRUE(pool.wait());
        EXPECT_EQ(text_of(pool.wait()), "async: pool wait was already called");
        EXPECT_EQ(text_of(pool.close()), "async: pool wait was already called");
        EXPECT_EQ(text_of(pool.try_submit([] {})), "async: pool is closed");
    });
}

TEST(Pool, SC_3e_close_gives_the_first_error_and_ends_the_context) {
    testing::CapturedLog log;
    everywhere([] {
        Pool pool = *Pool::create({.workers = 1, .queue_size = 2});
        Context context = pool.context();
        auto fail = [](const char* text) {
            return [text](Context&) -> Result<void> { return failure(text); };
        };
        ASSERT_TRUE(pool.try_submit(fail("first pool failure")));
        ASSERT_TRUE(pool.try_submit(fail("second pool failure")));
        EXPECT_EQ(text_of(pool.close()), "first pool failure");
        EXPECT_TRUE(context.is_done());
    });
    EXPECT_TRUE(log.contains("second pool failure"));
}

TEST(Pool, SC_3f_an_error_neither_cancels_nor_drops_other_jobs) {
    testing::CapturedLog log;
    everywhere([] {
        Pool pool = *Pool::create({.workers = 4, .queue_size = 8});
        Atomic<int> undisturbed{0};
        for (int i = 0; i < 4; ++i) {
            ASSERT_TRUE(pool.try_submit(
                [](Context&) -> Result<void> { return failure("pool concurrent failure"); }));
        }
        for (int i = 0; i < 8; ++i) {
            ASSERT_TRUE(pool.try_submit([&](Context& context) {
                yield();
                if (!context.is_done()) undisturbed.fetch_add(1, std::memory_order_relaxed);
            }));
        }
        EXPECT_EQ(text_of(pool.close()), "pool concurrent failure");
        EXPECT_EQ(undisturbed.load(std::memory_order_relaxed), 8);
    });
}

TEST(Pool, SC_3g_queued_jobs_still_run_after_the_end_of_the_parent) {
    everywhere([] {
        auto [parent, source] = Context::current().with_cancel();
        Pool pool = *Pool::create(parent, {.workers = 1, .queue_size = 3});
        Atomic<int> ran_ended{0};
        for (int i = 0; i < 4; ++i) {
            ASSERT_TRUE(pool.try_submit([&](Context& context) {
                static_cast<void>(wait_for_end(context));
                if (context.is_done()) ran_ended.fetch_add(1, std::memory_order_relaxed);
            }));
        }
        source.cancel();
        EXPECT_TRUE(pool.close());
        EXPECT_EQ(ran_ended.load(std::memory_order_relaxed), 4);
    });
}

TEST(Pool, SC_3g_a_job_sees_the_end_of_the_parent) {
    everywhere([] {
        auto [parent, source] = Context::current().with_cancel();
        Pool pool = *Pool::create(parent, {.workers = 1, .queue_size = 1});
        Event started;
        ASSERT_TRUE(pool.try_submit([&](Context& context) -> Result<void> {
            started.set();
            static_cast<void>(wait_for_end(context));
            return context.check();
        }));
        EXPECT_TRUE(started.wait());
        source.cancel();
        EXPECT_EQ(text_of(pool.close()), "context canceled");
    });
}

TEST(Pool, SC_3g_a_job_that_ignores_it_ends_naturally) {
    everywhere([] {
        auto [parent, source] = Context::current().with_cancel();
        Pool pool = *Pool::create(parent, {.workers = 1, .queue_size = 1});
        Event release;
        bool finished = false;
        ASSERT_TRUE(pool.try_submit([&] {
            ignore_context_until(release);
            finished = true;
        }));
        source.cancel();
        release.set();
        EXPECT_TRUE(pool.close());
        EXPECT_TRUE(finished);
    });
}

TEST(Pool, SC_3h_jobs_may_use_the_pool_when_they_run_are_moved_and_are_destroyed) {
    everywhere([] {
        Pool pool = *Pool::create({.workers = 2, .queue_size = 200});
        Atomic<int> uses{0};
        auto use = [&] {
            static_cast<void>(pool.try_submit([] {}));
            uses.fetch_add(1, std::memory_order_relaxed);
        };
        struct Uses {
            std::function<void()> use;
            explicit Uses(std::function<void()> given) : use(std::move(given)) {}
            Uses(Uses&& other) noexcept : use(other.use) { use(); }
            ~Uses() { use(); }
            void operator()() const { use(); }
        };
        ASSERT_TRUE(pool.try_submit(Uses(use)));
        EXPECT_TRUE(testing::eventually([&] { return uses.load(std::memory_order_relaxed) >= 4; }));
        EXPECT_TRUE(pool.close());
    });
}

TEST(Pool, SC_3h_a_function_that_throws_when_it_is_moved_takes_no_place) {
    everywhere([] {
        Pool pool = *Pool::create({.workers = 1, .queue_size = 1});
        struct Throws {
            Throws() = default;
            Throws(const Throws&) { throw std::runtime_error("not to be copied"); }
            void operator()() const {}
        } job;
        for (int i = 0; i < 5; ++i)
            EXPECT_THROW(static_cast<void>(pool.try_submit(job)), std::runtime_error);
        EXPECT_TRUE(pool.try_submit([] {}));
        EXPECT_TRUE(pool.close());
    });
}

TEST(Pool, SC_3b_many_jobs_from_many_submitters_run_once_each) {
    everywhere([] {
        constexpr int kSubmitters = 8;
        constexpr int kJobs = 200;
        Pool pool = *Pool::create({.workers = 4, .queue_size = 3});
        std::vector<Atomic<int>> ran(kSubmitters * kJobs);
        Group submitters;
        for (int s = 0; s < kSubmitters; ++s) {
            ASSERT_TRUE(submitters.go([&, s](Context&) -> Result<void> {
                for (int i = 0; i < kJobs; ++i) {
                    auto& mine = ran[static_cast<std::size_t>(s * kJobs + i)];
                    WEFT_TRY(pool.submit([&] { mine.fetch_add(1, std::memory_order_relaxed); }));
                }
                return {};
            }));
        }
        EXPECT_TRUE(submitters.wait());
        EXPECT_TRUE(pool.close());
        for (auto& count : ran) EXPECT_EQ(count.load(std::memory_order_relaxed), 1);
    });
}

TEST(Pool, SC_6a_what_a_job_throws_is_the_error) {
    everywhere([] {
        Pool pool = *Pool::create({.workers = 1, .queue_size = 1});
        ASSERT_TRUE(pool.try_submit([](Context&) { throw std::runtime_error("thrown"); }));
        EXPECT_EQ(text_of(pool.close()), "thrown");
    });
}

TEST(Pool, SC_6b_a_dropped_pool_cancels_its_jobs_and_reports_their_errors) {
    testing::CapturedLog log;
    Runtime runtime(workers(1));
    {
        auto pool = Pool::create(Context::background(runtime), {.workers = 1, .queue_size = 4});
        ASSERT_TRUE(pool);
        for (int i = 0; i < 3; ++i) {
            ASSERT_TRUE(pool->try_submit([](Context& context) -> Result<void> {
                static_cast<void>(wait_for_end(context));
                return failure("unseen");
            }));
        }
    }
    runtime.run();
    EXPECT_EQ(runtime.counters().dropped_errors.value(), 3U);
    EXPECT_TRUE(log.contains("unseen"));
}

TEST(Pool, SC_3e_jobs_that_get_no_fiber_fail_instead_of_waiting_for_ever) {
    Runtime runtime(workers(1));
    ASSERT_TRUE(runtime.start());
    auto pool = Pool::create(Context::background(runtime), {.workers = 1, .queue_size = 4});
    ASSERT_TRUE(pool);
    ASSERT_TRUE(runtime.shutdown());
    EXPECT_TRUE(pool->try_submit([] { ADD_FAILURE(); }));
    EXPECT_EQ(pool->close().error().kind(), ErrorKind::Closed);
}

}  // namespace
}  // namespace weft::async
