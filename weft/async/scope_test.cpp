#include "weft/async/scope.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <memory_resource>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "weft/async/group.h"
#include "weft/async/internal/async_test.h"
#include "weft/async/recurring_scope.h"
#include "weft/async/task.h"
#include "weft/async/timeout.h"
#include "weft/base/atomic.h"
#include "weft/fiber/runtime.h"
#include "weft/sync/event.h"
#include "weft/testing/captured_log.h"
#include "weft/testing/eventually.h"
#include "weft/testing/scale.h"

namespace weft::async {
namespace {

using namespace std::chrono_literals;

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kRelease = std::memory_order_release;

using async_test::everywhere;
using async_test::text_of;
using async_test::workers;

// ---------------------------------------------------------------- the end

TEST(Scope, SCP_1a_a_scope_gives_the_result_of_its_function) {
    everywhere([] {
        for (ScopeKind kind : {ScopeKind::Request, ScopeKind::Worker, ScopeKind::App}) {
            Result<int> value = run_scope(kind, [&](Scope& scope) {
                EXPECT_EQ(scope.kind(), kind);
                EXPECT_EQ(Context::current(), scope.context());
                return 7;
            });
            EXPECT_EQ(value, 7);
        }
        Result<void> failed = run_scope(ScopeKind::Request, [](Scope&) -> Result<void> {
            return Error(ErrorKind::Refused, "no");
        });
        EXPECT_EQ(failed.error().message(), "no");
    });
}

TEST(Scope, SCP_1a_a_function_that_throws_when_it_is_moved_is_no_job) {
    everywhere([] {
        EXPECT_TRUE(run_scope(ScopeKind::Request, [&](Scope& scope) {
            async_test::ThrowsOnCopy job;
            EXPECT_THROW(static_cast<void>(scope.spawn("job", job)), std::runtime_error);
        }));
    });
}

TEST(Scope, SCP_1a_what_the_function_throws_is_its_error_and_the_scope_ends) {
    everywhere([] {
        bool cleaned = false;
        Result<void> thrown = run_scope(ScopeKind::Request, [&](Scope& scope) {
            scope.defer([&] { cleaned = true; });
            throw std::runtime_error("boom");
        });
        EXPECT_EQ(thrown.error().kind(), ErrorKind::Exception);
        EXPECT_EQ(thrown.error().message(), "boom");
        EXPECT_TRUE(cleaned);
    });
}

TEST(Scope, SCP_1a_below_a_context_that_has_ended_nothing_is_called) {
    everywhere([] {
        auto [context, source] = Context::current().with_cancel();
        source.cancel();
        Result<void> refused = run_scope(ScopeKind::Request, context, [](Scope&) { FAIL(); });
        EXPECT_EQ(refused.error().message(), "context canceled");
    });
}

TEST(Scope, SCP_1a_jobs_cannot_outlive_the_scope) {
    everywhere([] {
        Atomic<int> ended{0};
        EXPECT_TRUE(run_scope(ScopeKind::Request, [&](Scope& scope) -> Result<void> {
            for (int i = 0; i < 3; ++i) {
                WEFT_TRY(scope.spawn("sleeper", [&](Context& context) -> Result<void> {
                    EXPECT_EQ(Context::current(), context);
                    Result<void> slept = weft::sleep_for(1h);
                    ended.fetch_add(1, kRelaxed);
                    return slept;
                }));
            }
            return {};
        }));
        EXPECT_EQ(ended.load(kRelaxed), 3);
    });
}

TEST(Scope, SCP_1a_join_lets_the_jobs_finish) {
    everywhere([] {
        Atomic<int> finished{0};
        EXPECT_TRUE(run_scope(ScopeKind::Request, [&](Scope& scope) -> Result<void> {
            for (int i = 0; i < 3; ++i) {
                WEFT_TRY(scope.spawn("job", [&]() -> Result<void> {
                    WEFT_TRY(weft::sleep_for(100us));
                    finished.fetch_add(1, kRelaxed);
                    return {};
                }));
            }
            scope.join();
            EXPECT_EQ(finished.load(kRelaxed), 3);
            scope.join();  // nothing to wait for
            return {};
        }));
    });
}

TEST(Scope, SCP_1a_the_first_error_of_a_job_is_the_scopes) {
    everywhere([] {
        Result<void> outcome = run_scope(ScopeKind::Request, [](Scope& scope) {
            EXPECT_TRUE(scope.spawn(
                "failing", []() -> Result<void> { return Error(ErrorKind::Reset, "the job's"); }));
            EXPECT_TRUE(scope.spawn("waiting", [] { return weft::sleep_for(1ms); }));
            scope.join();
        });
        EXPECT_EQ(outcome.error().message(), "the job's");
    });
}

TEST(Scope, SC_6b_a_jobs_error_beside_the_functions_is_logged_and_counted) {
    testing::CapturedLog log;
    Runtime runtime(workers(1));
    Result<void> outcome = run_scope(
        ScopeKind::Request, Context::background(runtime), [](Scope& scope) -> Result<void> {
            EXPECT_TRUE(scope.spawn("failing", [] { throw std::runtime_error("the job's"); }));
            scope.join();
            return Error(ErrorKind::Refused, "the function's");
        });
    EXPECT_EQ(outcome.error().message(), "the function's");
    EXPECT_TRUE(log.contains("the job's"));
    EXPECT_EQ(runtime.counters().dropped_errors.value(), 1u);
}

TEST(Scope, SCP_1a_no_job_is_taken_once_the_end_has_begun) {
    everywhere([] {
        EXPECT_TRUE(run_scope(ScopeKind::Request, [](Scope& scope) {
            scope.defer([&scope] {
                Result<void> refused = scope.spawn("late", [] {});
                EXPECT_EQ(refused.error().message(), "async: scope has ended");
            });
            using Empty = std::function<void()>;
            EXPECT_EQ(scope.spawn("nil", Empty()).error().message(), kNilJob.text);
        }));
    });
}

// ---------------------------------------------------------------- cleanups

struct Recorder {
    std::vector<int>& order;
    int number;
    ~Recorder() { order.push_back(number); }
};

TEST(Scope, SCP_1b_cleanups_and_destructors_run_in_reverse_order) {
    everywhere([] {
        std::vector<int> order;
        EXPECT_TRUE(run_scope(ScopeKind::Request, [&](Scope& scope) {
            scope.defer([&] { order.push_back(1); });
            scope.make<Recorder>(order, 2);
            scope.defer([&]() -> Result<void> {
                order.push_back(3);
                scope.defer([&] { order.push_back(4); });  // the newest, so the next
                return {};
            });
            EXPECT_TRUE(scope.spawn("job", [&](Context&) { return weft::sleep_for(1h); }));
            scope.defer([&] { order.push_back(5); });
            EXPECT_TRUE(order.empty());
        }));
        EXPECT_EQ(order, (std::vector<int>{5, 3, 4, 2, 1}));
    });
}

TEST(Scope, SCP_1b_cleanups_run_after_the_last_job_has_ended) {
    everywhere([] {
        Atomic<bool> job_ended{false};
        EXPECT_TRUE(run_scope(ScopeKind::Request, [&](Scope& scope) {
            scope.defer([&] { EXPECT_TRUE(job_ended.load(kAcquire)); });
            EXPECT_TRUE(scope.spawn("slow to end", [&] {
                EXPECT_FALSE(weft::sleep_for(1h));
                EXPECT_TRUE(shield(Deadline::after(10s), [] { return weft::sleep_for(1ms); }));
                job_ended.store(true, kRelease);
            }));
        }));
    });
}

TEST(Scope, SCP_1b_a_job_may_add_cleanups) {
    Atomic<int> run_count{0};
    EXPECT_TRUE(weft::run(
        [&] {
            return run_scope(ScopeKind::Request, [&](Scope& scope) {
                for (int i = 0; i < 20; ++i) {
                    EXPECT_TRUE(scope.spawn("job", [&scope, &run_count] {
                        scope.defer([&run_count] { run_count.fetch_add(1, kRelaxed); });
                    }));
                }
                scope.join();
            });
        },
        workers(2)));
    EXPECT_EQ(run_count.load(kRelaxed), 20);
}

TEST(Scope, SC_6b_the_error_of_a_cleanup_is_logged_and_the_others_run) {
    testing::CapturedLog log;
    Runtime runtime(workers(1));
    bool other = false;
    EXPECT_TRUE(run_scope(ScopeKind::App, Context::background(runtime), [&](Scope& scope) {
        scope.defer([&] { other = true; });
        scope.defer([] { throw std::runtime_error("cleanup threw"); });
        scope.defer([]() -> Result<void> { return Error(ErrorKind::Other, "cleanup failed"); });
    }));
    EXPECT_TRUE(other);
    EXPECT_TRUE(log.contains("cleanup threw"));
    EXPECT_TRUE(log.contains("cleanup failed"));
    EXPECT_EQ(runtime.counters().dropped_errors.value(), 2u);
}

enum class EndedBy { Return, OwnCancel, ParentCancel, Deadline, Shutdown };

// Whatever ends the scope, each cleanup runs once.
void expect_one_cleanup(EndedBy by) {
    Atomic<int> cleanups{0};
    Atomic<bool> waiting{false};
    Runtime runtime(workers(2));
    auto [parent, source] = Context::background(runtime).with_deadline(
        by == EndedBy::Deadline ? Deadline::after(10ms) : Deadline::never());
    Future<void> owner = runtime.spawn([&, context = parent] {
        static_cast<void>(run_scope(ScopeKind::Request, context, [&](Scope& scope) {
            scope.defer([&] { cleanups.fetch_add(1, kRelaxed); });
            EXPECT_TRUE(scope.spawn("job", [] { return weft::sleep_for(1h); }));
            if (by == EndedBy::OwnCancel) scope.cancel();
            waiting.store(true, kRelease);
            if (by == EndedBy::Return) return;
            EXPECT_FALSE(park());
            scope.cancel();  // a second call has no effect
        }));
    });
    EXPECT_TRUE(testing::eventually([&] { return waiting.load(kAcquire) || owner.is_done(); }));
    if (by == EndedBy::ParentCancel) source.cancel();
    if (by == EndedBy::Shutdown) {
        EXPECT_TRUE(runtime.shutdown());
    }
    EXPECT_TRUE(owner.join());
    // On a slow machine the deadline may come before the scope.
    bool begun = by != EndedBy::Deadline || waiting.load(kAcquire);
    EXPECT_EQ(cleanups.load(kRelaxed), begun ? 1 : 0);
}

TEST(Scope, SCP_1c_a_cleanup_runs_once_after_return) { expect_one_cleanup(EndedBy::Return); }
TEST(Scope, SCP_1c_a_cleanup_runs_once_after_cancel) { expect_one_cleanup(EndedBy::OwnCancel); }
TEST(Scope, SCP_1c_a_cleanup_runs_once_after_the_parents_cancel) {
    expect_one_cleanup(EndedBy::ParentCancel);
}
TEST(Scope, SCP_1c_a_cleanup_runs_once_after_a_deadline) { expect_one_cleanup(EndedBy::Deadline); }
TEST(Scope, SCP_1c_a_cleanup_runs_once_after_shutdown) { expect_one_cleanup(EndedBy::Shutdown); }

TEST(Scope, SCP_1c_end_cancel_and_shutdown_at_the_same_time_clean_up_once) {
    for (std::size_t i = 0; i < testing::repeats(100); ++i) {
        Atomic<int> cleanups{0};
        Runtime runtime(workers(2));
        auto [parent, source] = Context::background(runtime).with_cancel();
        Event inside;
        Future<void> owner = runtime.spawn([&, context = parent] {
            static_cast<void>(run_scope(ScopeKind::Request, context, [&](Scope& scope) {
                scope.defer([&] { cleanups.fetch_add(1, kRelaxed); });
                EXPECT_TRUE(scope.spawn("job", [] { return checkpoint(); }));
                inside.set();
            }));
        });
        // The three ends race once the cleanup is registered; one of them is the scope's return.
        EXPECT_TRUE(inside.wait());
        Future<void> canceller = runtime.spawn([&, cancel = source]() mutable { cancel.cancel(); });
        EXPECT_TRUE(runtime.shutdown());
        EXPECT_EQ(cleanups.load(kRelaxed), 1);
        static_cast<void>(owner.join());
        static_cast<void>(canceller.join());
    }
}

// ---------------------------------------------------------------- parents, and what was left alone

TEST(Scope, SCP_1d_a_parent_ends_after_its_children) {
    everywhere([] {
        std::vector<std::string> order;
        EXPECT_TRUE(run_scope(ScopeKind::App, [&](Scope& app) {
            app.defer([&] { order.push_back("app"); });
            Event opened;
            EXPECT_TRUE(app.spawn("owner of the child", [&] {
                return run_scope(ScopeKind::Request, [&](Scope& request) {
                    request.defer([&] { order.push_back("request"); });
                    opened.set();
                    EXPECT_FALSE(park());  // the end of the parent
                });
            }));
            EXPECT_TRUE(opened.wait());
        }));
        EXPECT_EQ(order, (std::vector<std::string>{"request", "app"}));
    });
}

TEST(Scope, SC_5e_a_job_that_ignores_its_timeout_belongs_to_the_scope) {
    everywhere([] {
        Atomic<bool> job_ended{false};
        EXPECT_TRUE(run_scope(ScopeKind::Request, [&](Scope& scope) {
            scope.defer([&] { EXPECT_TRUE(job_ended.load(kAcquire)); });
            Result<void> outcome = with_timeout(1ms, [&job_ended] {
                EXPECT_TRUE(shield(Deadline::after(10s), [] { return weft::sleep_for(5ms); }));
                job_ended.store(true, kRelease);
            });
            EXPECT_EQ(outcome.error().message(), kTimeout.text);
        }));
        EXPECT_TRUE(job_ended.load(kAcquire));
    });
}

TEST(Scope, SCP_1d_jobs_of_a_dropped_task_or_group_belong_to_the_scope) {
    testing::CapturedLog log;
    everywhere([] {
        Atomic<int> ended{0};
        auto slow = [&ended] {
            EXPECT_TRUE(shield(Deadline::after(10s), [] { return weft::sleep_for(2ms); }));
            ended.fetch_add(1, kRelaxed);
        };
        EXPECT_TRUE(run_scope(ScopeKind::Request, [&](Scope&) -> Result<void> {
            WEFT_TRY(async::run_task(slow));  // dropped at once
            Group group;
            WEFT_TRY(group.go(slow));
            WEFT_TRY(group.go(slow));
            return {};
        }));
        EXPECT_EQ(ended.load(kRelaxed), 3);
    });
}

// ---------------------------------------------------------------- plain fibers

// The fiber of each test: it ends slowly after its cancellation.
Result<void> end_slowly(Atomic<int>& ended) {
    Result<void> told = async_test::wait_for_end(Context::current());
    shield(Deadline::after(10s), [] { static_cast<void>(weft::sleep_for(2ms)); });
    ended.fetch_add(1, kRelaxed);
    return told;
}

TEST(Scope, SC_10k_a_plain_spawn_belongs_to_the_scope_around_it) {
    for (unsigned count : {1U, 2U}) {
        async_test::on_workers(count, [] {
            Atomic<int> ended{0};
            std::optional<Future<void>> kept;
            EXPECT_TRUE(run_scope(ScopeKind::Request, [&](Scope&) {
                auto dropped = spawn([&] { return end_slowly(ended); });
                kept = spawn([&] { return end_slowly(ended); });
            }));
            EXPECT_EQ(ended.load(kRelaxed), 2);
            EXPECT_EQ(kept->join().error().kind(), ErrorKind::Cancelled);
        });
    }
}

TEST(Scope, SC_10k_also_when_it_is_spawned_by_a_job_or_a_fiber_of_the_scope) {
    async_test::on_workers(2, [] {
        Atomic<int> ended{0};
        EXPECT_TRUE(run_scope(ScopeKind::Request, [&](Scope& scope) -> Result<void> {
            auto deep = [&ended] {
                spawn([&ended] { spawn([&ended] { return end_slowly(ended); }); });
            };
            WEFT_TRY(scope.spawn("job", deep));
            Group group;
            WEFT_TRY(group.go(deep));
            return group.wait();
        }));
        EXPECT_EQ(ended.load(kRelaxed), 2);
    });
}

TEST(Scope, SC_10k_the_innermost_scope_waits) {
    async_test::on_workers(2, [] {
        EXPECT_TRUE(run_scope(ScopeKind::App, [&](Scope&) {
            Atomic<int> ended{0};
            EXPECT_TRUE(run_scope(ScopeKind::Request,
                                  [&](Scope&) { spawn([&] { return end_slowly(ended); }); }));
            EXPECT_EQ(ended.load(kRelaxed), 1);
        }));
    });
}

TEST(Scope, SC_10k_a_fiber_that_cannot_be_started_is_not_waited_for) {
    Runtime runtime(workers(1));
    auto outcome = runtime.spawn([&] {
        return run_scope(ScopeKind::Request, [&](Scope&) {
            runtime.cancel_all();
            EXPECT_FALSE(spawn([] {}));
        });
    });
    EXPECT_TRUE(outcome.join());
}

TEST(Scope, SC_10k_without_a_scope_the_runtime_waits) {
    Runtime runtime(workers(1));
    Event go_on;
    Atomic<bool> ended{false};
    runtime.spawn([&] {
        Group group;
        EXPECT_TRUE(group.go([&] {
            spawn([&] {
                async_test::ignore_context_until(go_on);
                ended.store(true, kRelaxed);
            });
        }));
        EXPECT_TRUE(group.wait());
        EXPECT_FALSE(ended.load(kRelaxed));
        go_on.set();
    });
    runtime.run();
    EXPECT_TRUE(ended.load(kRelaxed));
}

TEST(Scope, SC_10l_detach_moves_a_fiber_to_the_runtime) {
    for (unsigned count : {1U, 2U}) {
        Event go_on;
        Atomic<bool> went_on{false};
        async_test::on_workers(count, [&] {
            EXPECT_TRUE(run_scope(ScopeKind::Request, [&](Scope&) {
                Event running;
                auto detached = spawn([&, here = &running] {
                    here->set();
                    // Neither the end of the scope nor its deadline reaches this wait.
                    EXPECT_TRUE(go_on.wait());
                    EXPECT_TRUE(Context::current().check());
                    EXPECT_EQ(text_of(defer([] {})), kNoScope.text);
                    // A fiber that it spawns belongs to the runtime, too.
                    Group group;
                    EXPECT_TRUE(group.go([] { return checkpoint(); }));
                    EXPECT_TRUE(group.wait());
                    auto child = spawn([] { return checkpoint(); });
                    EXPECT_TRUE(child.join());
                    went_on.store(true, kRelaxed);
                });
                EXPECT_TRUE(running.wait());
                detached.detach();
            }));
            EXPECT_FALSE(went_on.load(kRelaxed));
            go_on.set();
        });
        EXPECT_TRUE(went_on.load(kRelaxed));
    }
}

TEST(Scope, SC_10l_what_a_detached_fiber_has_started_before_goes_with_it) {
    async_test::on_workers(2, [] {
        auto go_on = std::make_shared<Event>();
        auto ended = std::make_shared<Event>();
        EXPECT_TRUE(run_scope(ScopeKind::Request, [&](Scope&) {
            Event running;
            auto detached = spawn([&running, go_on, ended] {
                spawn([&running, go_on, ended] {
                    running.set();
                    EXPECT_TRUE(go_on->wait());
                    ended->set();
                });
            });
            EXPECT_TRUE(running.wait());
            detached.detach();
        }));
        go_on->set();
        EXPECT_TRUE(ended->wait_for(60s));
    });
}

TEST(Scope, SC_10l_the_deadline_of_the_scope_does_not_reach_a_detached_fiber) {
    async_test::on_workers(1, [] {
        auto late = Context::current().with_timeout(200ms);  // not over yet when it begins
        auto done = std::make_shared<Event>();
        EXPECT_FALSE(run_scope(ScopeKind::Request, late.context, [&](Scope&) {
            spawn([done] {
                EXPECT_TRUE(weft::sleep_for(300ms));
                EXPECT_TRUE(Context::current().deadline().is_never());
                done->set();
            }).detach();
            return async_test::wait_for_end(Context::current());
        }));
        EXPECT_TRUE(done->wait_for(60s));
    });
}

TEST(Scope, SC_10l_shutdown_still_ends_a_detached_fiber) {
    Runtime runtime(workers(2));
    Event waits;
    auto outcome = std::make_shared<Atomic<bool>>(false);
    EXPECT_TRUE(runtime
                    .spawn([&] {
                        return run_scope(ScopeKind::Request, [&](Scope&) {
                            spawn([&, outcome] {
                                waits.set();
                                bool ended = !Event().wait();
                                outcome->store(ended && !Context::current().check(), kRelaxed);
                            }).detach();
                        });
                    })
                    .join());
    EXPECT_TRUE(waits.wait());
    EXPECT_TRUE(runtime.shutdown());
    EXPECT_TRUE(outcome->load(kRelaxed));
}

TEST(Scope, SC_10l_detach_at_any_moment_neither_hangs_nor_cancels_others) {
    async_test::on_workers(2, [] {
        for (int round = 0; round < 200; ++round) {
            Result<void> outcome = run_scope(ScopeKind::Request, [&](Scope& scope) {
                std::vector<Future<void>> fibers;
                for (int i = 0; i < 4; ++i)
                    fibers.push_back(spawn([] { static_cast<void>(weft::sleep_for(1us)); }));
                if (round % 2 == 0) scope.cancel();
                for (auto& fiber : fibers) fiber.detach();
            });
            EXPECT_TRUE(outcome);
            EXPECT_TRUE(Context::current().check());
        }
    });
}

TEST(Scope, SCP_1e_defer_finds_the_innermost_scope) {
    everywhere([] {
        std::vector<int> order;
        EXPECT_EQ(text_of(defer([] {})), kNoScope.text);
        EXPECT_TRUE(run_scope(ScopeKind::App, [&](Scope&) {
            EXPECT_TRUE(defer([&] { order.push_back(1); }));
            EXPECT_TRUE(run_scope(ScopeKind::Request, [&](Scope&) {
                EXPECT_TRUE(defer([&] { order.push_back(2); }));
                EXPECT_TRUE(defer([&] { order.push_back(3); }));
            }));
        }));
        EXPECT_EQ(order, (std::vector<int>{3, 2, 1}));
    });
}

TEST(RecurringScope, SCP_1e_a_round_ends_what_was_begun_in_it) {
    async_test::on_workers(2, [] {
        RecurringScope scope(Context::current().token().state());
        CancelScope ambient(scope.token());
        for (int round = 0; round < 3; ++round) {
            EXPECT_FALSE(scope.has_round());
            Atomic<int> ended{0};
            int cleaned = 0;
            spawn([&] { return end_slowly(ended); });
            EXPECT_TRUE(defer([&] { cleaned = ended.load(kRelaxed); }));
            EXPECT_TRUE(scope.has_round());
            scope.end_round();
            EXPECT_EQ(ended.load(kRelaxed), 1);
            EXPECT_EQ(cleaned, 1);
            EXPECT_TRUE(Context::current().check());  // it goes on itself
        }
    });
}

// ---------------------------------------------------------------- the arena

TEST(Scope, SCP_5a_what_is_made_lives_as_long_as_the_scope) {
    everywhere([] {
        std::vector<int> order;
        EXPECT_TRUE(run_scope(ScopeKind::Request, [&](Scope& scope) {
            int& number = scope.make<int>(41);
            scope.make<Recorder>(order, 1);
            struct alignas(64) Wide {
                char bytes[64] = {};
            };
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&scope.make<Wide>()) % 64, 0u);
            scope.defer([&] { EXPECT_EQ(++number, 42); });
            EXPECT_TRUE(order.empty());
        }));
        EXPECT_EQ(order, std::vector<int>{1});
    });
}

TEST(Scope, SCP_5a_a_constructor_that_throws_leaves_nothing_to_destroy) {
    struct Throwing {
        Throwing() { throw std::runtime_error("not made"); }
        ~Throwing() { ADD_FAILURE() << "it was never made"; }
    };
    everywhere([] {
        Result<void> outcome =
            run_scope(ScopeKind::Request, [](Scope& scope) { scope.make<Throwing>(); });
        EXPECT_EQ(outcome.error().message(), "not made");
    });
}

TEST(Arena, SCP_5a_containers_of_pmr_live_in_it) {
    Arena arena;
    std::pmr::vector<std::pmr::string> words(&arena);
    for (int i = 0; i < 1000; ++i) words.emplace_back("a word that is too long to be in place");
    EXPECT_EQ(words.back(), "a word that is too long to be in place");
    EXPECT_GT(arena.reserved_bytes(), 1000u * 32);
}

TEST(Arena, SCP_5b_everything_is_given_back_in_one_step) {
    Arena arena;
    for (std::size_t bytes : {1u, 100u, 5'000u, 200'000u, 8u}) {
        auto* piece = static_cast<std::byte*>(arena.allocate(bytes, 8));
        piece[0] = piece[bytes - 1] = std::byte{1};
    }
    EXPECT_GE(arena.reserved_bytes(), 205'109u);
    arena.release();
    EXPECT_EQ(arena.reserved_bytes(), 0u);
    EXPECT_NE(arena.allocate(16, 16), nullptr);  // usable again
}

TEST(Arena, SCP_5b_many_fibers_allocate_at_the_same_time) {
    EXPECT_TRUE(weft::run(
        [] {
            return run_scope(ScopeKind::App, [](Scope& scope) {
                for (int i = 0; i < 8; ++i) {
                    EXPECT_TRUE(scope.spawn("allocating", [&scope, i] {
                        std::vector<int*> mine;
                        for (int j = 0; j < 200; ++j) {
                            mine.push_back(&scope.make<int>(i));
                            yield();
                        }
                        for (int* number : mine) EXPECT_EQ(*number, i);
                    }));
                }
                scope.join();
            });
        },
        workers(2)));
}

}  // namespace
}  // namespace weft::async
