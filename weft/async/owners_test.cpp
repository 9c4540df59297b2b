// Leaving the block of an owner, by whatever way, cancels its jobs and waits for their end.
// tidy: allow-file sleep: jobs that end slowly, so that an owner that does not wait is detected
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "weft/async/combine.h"
#include "weft/async/context.h"
#include "weft/async/group.h"
#include "weft/async/internal/async_test.h"
#include "weft/async/periodic.h"
#include "weft/async/pool.h"
#include "weft/async/shared_task.h"
#include "weft/async/supervisor.h"
#include "weft/async/task.h"
#include "weft/async/ticker.h"
#include "weft/base/atomic.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/testing/captured_log.h"

namespace weft::async {
namespace {

using namespace std::chrono_literals;
using namespace async_test;

constexpr auto kRelaxed = std::memory_order_relaxed;

enum class Way { Return, Try, Throw };

// The state that a job shares with the frame of its owner; it outlives both.
struct Probe {
    Event begun;
    Atomic<bool> saw_the_end{false};      // its context was cancelled
    Atomic<bool> frame_was_there{false};  // when it ended, some time after that
};

Result<int> fails() { return failure("config missing"); }

// A frame with an owner whose job uses the frame until it ends, some time after its cancellation.
template <class MakeOwner>
Result<void> leave(Way way, Probe& probe, MakeOwner make_owner) {
    std::vector<int> frame(1'000, 7);
    auto job = [&frame, &probe](Context& context) -> Result<void> {
        probe.begun.set();
        Result<void> ended = wait_for_end(context);
        probe.saw_the_end.store(context.is_done(), kRelaxed);
        shield(Deadline::after(kTooLong), [] { static_cast<void>(sleep_for(kShort)); });
        bool intact = std::ranges::all_of(frame, [](int number) { return number == 7; });
        probe.frame_was_there.store(intact, kRelaxed);
        return ended;
    };
    auto owner = make_owner(job);
    EXPECT_TRUE(probe.begun.wait_for(kTooLong));
    if (way == Way::Return) return {};
    if (way == Way::Throw) throw std::runtime_error("thrown");
    int limit = WEFT_TRY(fails());
    return failure(std::to_string(limit));
}

template <class MakeOwner>
void check_leaving(Way way, MakeOwner make_owner) {
    everywhere([&] {
        Probe probe;
        std::string left_with;
        try {
            left_with = text_of(leave(way, probe, make_owner));
        } catch (const std::runtime_error& error) {
            left_with = error.what();
        }
        // The frame has been left: nothing of the job may be alive.
        EXPECT_TRUE(probe.saw_the_end.load(kRelaxed));
        EXPECT_TRUE(probe.frame_was_there.load(kRelaxed));
        const char* expected = way == Way::Return ? ""
                               : way == Way::Try  ? "config missing"
                                                  : "thrown";
        EXPECT_EQ(left_with, expected);
    });
}

// ---------------------------------------------------------------- each owner, each way out

const auto a_group = [](auto& job) {
    Group group;
    EXPECT_TRUE(group.go(job));
    return group;
};

TEST(Owners, SC_10a_a_group_left_by_return_joins) { check_leaving(Way::Return, a_group); }
TEST(Owners, SC_10a_a_group_left_by_try_joins) { check_leaving(Way::Try, a_group); }
TEST(Owners, SC_10a_a_group_left_by_an_exception_joins) { check_leaving(Way::Throw, a_group); }

const auto a_task = [](auto& job) { return *async::run_task(job); };

TEST(Owners, SC_10b_a_task_left_by_return_joins) { check_leaving(Way::Return, a_task); }
TEST(Owners, SC_10b_a_task_left_by_try_joins) { check_leaving(Way::Try, a_task); }
TEST(Owners, SC_10b_a_task_left_by_an_exception_joins) { check_leaving(Way::Throw, a_task); }

const auto a_pool = [](auto& job) {
    Pool pool = *Pool::create({.workers = 1, .queue_size = 2});
    EXPECT_TRUE(pool.submit(job));
    EXPECT_TRUE(pool.submit([] {}));  // waits in the queue and still runs
    return pool;
};

TEST(Owners, SC_10c_a_pool_left_by_return_joins) { check_leaving(Way::Return, a_pool); }
TEST(Owners, SC_10c_a_pool_left_by_try_joins) { check_leaving(Way::Try, a_pool); }
TEST(Owners, SC_10c_a_pool_left_by_an_exception_joins) { check_leaving(Way::Throw, a_pool); }

const auto a_periodic_handle = [](auto& job) { return *start_every(Context::current(), 1ms, job); };

TEST(Owners, SC_10d_a_periodic_handle_left_by_return_joins) {
    check_leaving(Way::Return, a_periodic_handle);
}
TEST(Owners, SC_10d_a_periodic_handle_left_by_try_joins) {
    check_leaving(Way::Try, a_periodic_handle);
}
TEST(Owners, SC_10d_a_periodic_handle_left_by_an_exception_joins) {
    check_leaving(Way::Throw, a_periodic_handle);
}

// A ticker waits in its owner's fiber and has none of its own: its owner need not wait.
void check_leaving_a_ticker(Way way) {
    Runtime runtime(workers(1));
    runtime.spawn([&]() -> Result<void> {
        std::size_t fibers = runtime.live_fibers();
        Ticker ticker = *Ticker::create(1ms);
        EXPECT_TRUE(ticker.next());
        EXPECT_EQ(runtime.live_fibers(), fibers);
        if (way == Way::Return) return {};
        if (way == Way::Throw) throw std::runtime_error("thrown");
        WEFT_TRY(fails());
        return {};
    });
    runtime.run();
    EXPECT_EQ(runtime.live_fibers(), 0U);
}

TEST(Owners, SC_10e_a_ticker_left_by_return_leaves_nothing) { check_leaving_a_ticker(Way::Return); }
TEST(Owners, SC_10e_a_ticker_left_by_try_leaves_nothing) { check_leaving_a_ticker(Way::Try); }
TEST(Owners, SC_10e_a_ticker_left_by_an_exception_leaves_nothing) {
    check_leaving_a_ticker(Way::Throw);
}

// Its run() belongs to the fiber that called it; here that is a task in the frame.
const auto a_supervisor = [](auto& job) {
    return *async::run_task([job]() mutable -> Result<void> {
        Supervisor supervisor;
        WEFT_TRY(supervisor.add("job", job));
        return supervisor.run();
    });
};

TEST(Owners, SC_10f_a_supervisor_left_by_return_joins) { check_leaving(Way::Return, a_supervisor); }
TEST(Owners, SC_10f_a_supervisor_left_by_try_joins) { check_leaving(Way::Try, a_supervisor); }
TEST(Owners, SC_10f_a_supervisor_left_by_an_exception_joins) {
    check_leaving(Way::Throw, a_supervisor);
}

const auto a_shared_task = [](auto& job) {
    SharedTask<void> task = *run_shared(job);
    SharedTask<void> copy = task;  // dropping one of two handles does not end the job
    return task;
};

TEST(Owners, SC_10g_a_shared_task_left_by_return_joins) {
    check_leaving(Way::Return, a_shared_task);
}
TEST(Owners, SC_10g_a_shared_task_left_by_try_joins) { check_leaving(Way::Try, a_shared_task); }
TEST(Owners, SC_10g_a_shared_task_left_by_an_exception_joins) {
    check_leaving(Way::Throw, a_shared_task);
}

const auto what_follows = [](auto& job) {
    auto followed = [](auto first) { return *then(std::move(first), [] { ADD_FAILURE(); }); };
    return followed(*async::run_task(job));
};

TEST(Owners, SC_10g_what_follows_a_task_owns_it) {
    for (Way way : {Way::Return, Way::Try, Way::Throw}) check_leaving(way, what_follows);
}

TEST(Owners, SC_10g_the_last_handle_of_a_shared_task_may_be_in_its_own_job) {
    struct Shared {
        Event may_end;
        std::optional<SharedTask<void>> task;
    };
    on_workers(2, [] {
        auto shared = std::make_shared<Shared>();
        shared->task = *run_shared([shared]() -> Result<void> {
            ignore_context_until(shared->may_end);
            shared->task.reset();  // drops the last handle
            return {};
        });
        shared->may_end.set();
    });
}

// ---------------------------------------------------------------- the program of a newcomer

// A job that captures by reference, and WEFT_TRY between go() and wait(): as in the guide.
Result<void> request(Atomic<int>& corrupt) {
    std::vector<int> numbers(1'000, 7);
    Group group;
    WEFT_TRY(group.go([&] {
        static_cast<void>(sleep_for(20ms));
        for (int number : numbers) corrupt.fetch_add(number == 7 ? 0 : 1, kRelaxed);
    }));
    int limit = WEFT_TRY(fails());
    static_cast<void>(limit);
    return group.wait();
}

TEST(Owners, SC_10a_try_between_go_and_wait_is_safe) {
    everywhere([] {
        Atomic<int> corrupt{0};
        EXPECT_EQ(text_of(request(corrupt)), "config missing");
        std::vector<int> other(1'000, 9);
        static_cast<void>(sleep_for(kShort));
        EXPECT_EQ(corrupt.load(kRelaxed), 0);
        EXPECT_EQ(other.front(), 9);
    });
}

TEST(Owners, SC_10a_jobs_that_end_because_the_block_is_left_are_not_logged) {
    testing::CapturedLog log;
    on_workers(2, [] {
        Atomic<int> corrupt{0};
        EXPECT_FALSE(request(corrupt));
        Group group;
        EXPECT_TRUE(group.go([](Context& context) { return wait_for_end(context); }));
    });
    EXPECT_TRUE(log.lines().empty());
}

// ---------------------------------------------------------------- replaced owners

template <class MakeOwner>
void check_replacing(MakeOwner make_owner) {
    everywhere([&] {
        Atomic<bool> ended{false};
        Event begun;
        auto job = [&](Context& context) {
            begun.set();
            static_cast<void>(wait_for_end(context));
            shield(Deadline::after(kTooLong), [] { static_cast<void>(sleep_for(kShort)); });
            ended.store(true, kRelaxed);
        };
        auto nothing = [](Context&) {};
        auto owner = make_owner(job);
        EXPECT_TRUE(begun.wait_for(kTooLong));
        owner = make_owner(nothing);
        EXPECT_TRUE(ended.load(kRelaxed));
        auto moved = std::move(owner);
        owner = std::move(moved);  // the target owns nothing any more
    });
}

TEST(Owners, SC_10h_a_group_that_is_replaced_joins) { check_replacing(a_group); }
TEST(Owners, SC_10h_a_task_that_is_replaced_joins) { check_replacing(a_task); }
TEST(Owners, SC_10h_a_pool_that_is_replaced_joins) { check_replacing(a_pool); }
TEST(Owners, SC_10h_a_periodic_handle_that_is_replaced_joins) {
    check_replacing(a_periodic_handle);
}
TEST(Owners, SC_10h_a_shared_task_that_is_replaced_joins) { check_replacing(a_shared_task); }

// ---------------------------------------------------------------- exceptions in flight

struct Marked {
    int mark;
};

// Throws while other fibers of the same workers do, waits while unwinding, and checks that it
// catches its own exceptions.
int unwind_through_owners(int mark) {
    int wrong = 0;
    struct Witness {
        ~Witness() { wrong += std::uncaught_exceptions() == 1 ? 0 : 1; }
        int& wrong;
    };
    auto waits = [](Context& context) -> Result<void> {
        Result<void> ended = wait_for_end(context);
        for (int i = 0; i < 3; ++i) yield();
        try {
            throw Marked{-1};
        } catch (const Marked&) {
            return ended;
        }
    };
    for (int round = 0; round < 20; ++round) {
        try {
            Witness last{wrong};
            Group group;
            if (!group.go(waits)) ++wrong;
            Witness between{wrong};
            Task<void> task = *async::run_task(waits);
            if (round % 2 == 0) yield();
            throw Marked{mark + round};
        } catch (const Marked& marked) {
            wrong += marked.mark == mark + round ? 0 : 1;
            wrong += std::uncaught_exceptions() == 0 ? 0 : 1;
        }
    }
    return wrong;
}

TEST(Owners, SC_10i_an_owner_waits_while_an_exception_unwinds) {
    for (unsigned count : {1U, 2U}) {
        on_workers(count, [] {
            std::vector<Future<int>> fibers;
            for (int i = 0; i < 10; ++i)
                fibers.push_back(spawn([i] { return unwind_through_owners(1'000 * i); }));
            for (Future<int>& fiber : fibers) EXPECT_EQ(fiber.join(), 0);
        });
    }
}

TEST(Owners, SC_10i_an_exception_of_a_job_does_not_meet_the_one_that_unwinds) {
    everywhere([] {
        try {
            Group group;
            ASSERT_TRUE(group.go([](Context& context) {
                static_cast<void>(wait_for_end(context));
                throw std::logic_error("of the job");
            }));
            throw std::runtime_error("of the frame");
        } catch (const std::exception& error) {
            EXPECT_STREQ(error.what(), "of the frame");
        }
    });
}

// The end of the caller's own context does not end the wait early.
TEST(Owners, SC_10i_the_wait_of_a_destructor_cannot_be_cancelled) {
    everywhere([] {
        auto [context, source] = Context::current().with_cancel();
        Atomic<bool> ended{false};
        {
            CancelScope scope(context.token());
            Group group;
            ASSERT_TRUE(group.go([&] {
                shield(Deadline::after(kTooLong), [] { static_cast<void>(sleep_for(kShort)); });
                ended.store(true, kRelaxed);
            }));
            source.cancel();
        }
        EXPECT_TRUE(ended.load(kRelaxed));
    });
}

// An outcome that nobody takes may own jobs itself.
TEST(Owners, SC_10i_a_forgotten_outcome_ends_the_jobs_that_it_owns) {
    Atomic<bool> ended{false};
    on_workers(2, [&] {
        auto inner = [&ended](Context& context) -> Result<void> {
            Result<void> told = wait_for_end(context);
            ended.store(true, kRelaxed);
            return told;
        };
        auto outer = [inner] { return async::run_with_context(Context::background(), inner); };
        { auto dropped = async::run_task(outer); }
        EXPECT_TRUE(ended.exchange(false, kRelaxed));
        { auto dropped = spawn(outer); }
    });
    EXPECT_TRUE(ended.load(kRelaxed));
}

// ---------------------------------------------------------------- what is asserted

TEST(OwnersDeathTest, SC_10j_a_job_must_not_destroy_its_own_owner) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(on_workers(1,
                            [] {
                                auto group = std::make_unique<Group>();
                                Event done;
                                EXPECT_TRUE(group->go([&] {
                                    group.reset();
                                    done.set();
                                }));
                                EXPECT_TRUE(done.wait());
                            }),
                 "a job destroys its own owner");
}

TEST(OwnersDeathTest, SC_10j_an_owner_must_not_be_destroyed_while_somebody_waits_for_it) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(on_workers(1,
                            [] {
                                auto group = std::make_unique<Group>();
                                EXPECT_TRUE(group->go(
                                    [](Context& context) { return wait_for_end(context); }));
                                auto waiter = spawn([&] { return group->wait(); });
                                yield();
                                group.reset();
                                EXPECT_FALSE(waiter.join());
                            }),
                 "is destroyed while somebody waits");
}

TEST(OwnersDeathTest, SC_10j_the_scheduler_must_not_destroy_an_owner) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    struct Destroys : Completion {
        std::optional<Group> group;
    };
    auto destroy_there = [] {
        Runtime runtime(workers(1));
        Destroys record;
        record.group.emplace(Context::background(runtime));
        EXPECT_TRUE(record.group->go([](Context& context) { return wait_for_end(context); }));
        record.run = [](Completion& completion) {
            static_cast<Destroys&>(completion).group.reset();
        };
        EXPECT_TRUE(runtime.post(0, record));
        runtime.run();
    };
    EXPECT_DEATH(destroy_there(), "the scheduler itself must not wait");
}

TEST(OwnersDeathTest, SC_10j_an_owner_that_was_moved_from_says_so) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(on_workers(1,
                            [] {
                                Group group;
                                Group other = std::move(group);
                                static_cast<void>(group.wait());
                            }),
                 "has been moved from");
}

}  // namespace
}  // namespace weft::async
