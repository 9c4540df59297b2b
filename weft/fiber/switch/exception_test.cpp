// Exceptions in flight, and floating-point control state: what a fiber takes along when it switches
// and when it goes on in another thread.
#include <gtest/gtest.h>

#include <cfenv>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/fiber/schedule/worker.h"
#include "weft/testing/scale.h"

namespace weft {
namespace {

RuntimeOptions with_workers(unsigned workers) {
    RuntimeOptions options;
    options.workers = workers;
    return options;
}

// A different exception for each fiber, so that a mix-up is seen.
struct Marked {
    int mark;
};

int mark_of_current() {
    try {
        throw;
    } catch (const Marked& marked) {
        return marked.mark;
    } catch (...) {
        return -1;
    }
}

// Counts what is wrong with the exceptions of one fiber that switches at every point.
int yield_in_catch_blocks(int mark) {
    int wrong = 0;
    for (int round = 0; round < 20; ++round) {
        try {
            throw Marked{mark};
        } catch (const Marked& marked) {
            for (int i = 0; i < 3; ++i) {
                yield();
                wrong += marked.mark == mark && mark_of_current() == mark ? 0 : 1;
                wrong += std::uncaught_exceptions() == 0 ? 0 : 1;
            }
            try {  // a second one within the first
                throw Marked{mark + 1'000};
            } catch (...) {
                yield();
                wrong += mark_of_current() == mark + 1'000 ? 0 : 1;
            }
            yield();
            wrong += mark_of_current() == mark ? 0 : 1;
        }
        wrong += std::current_exception() == nullptr ? 0 : 1;
    }
    return wrong;
}

// Yields in its destructor, while an exception is on its way through.
struct YieldsAtEnd {
    int& wrong;
    ~YieldsAtEnd() {
        for (int i = 0; i < 3; ++i) {
            wrong += std::uncaught_exceptions() == 1 ? 0 : 1;
            yield();
        }
    }
};

int yield_during_unwinding(int mark) {
    int wrong = 0;
    for (int round = 0; round < 20; ++round) {
        try {
            YieldsAtEnd first{wrong};
            YieldsAtEnd second{wrong};
            throw Marked{mark};
        } catch (const Marked& marked) {
            wrong += marked.mark == mark ? 0 : 1;
        }
        wrong += std::uncaught_exceptions() == 0 ? 0 : 1;
        yield();
    }
    return wrong;
}

// Some without exceptions in between: they must never see one.
int see_no_exception(int) {
    int wrong = 0;
    for (int round = 0; round < 200; ++round) {
        wrong += std::current_exception() == nullptr ? 0 : 1;
        wrong += std::uncaught_exceptions() == 0 ? 0 : 1;
        yield();
    }
    return wrong;
}

int run_mixed(unsigned workers) {
    Runtime runtime(with_workers(workers));
    std::vector<Future<int>> fibers;
    for (int i = 0; i < 90; ++i) {
        int (*body)(int) = i % 3 == 0   ? yield_in_catch_blocks
                           : i % 3 == 1 ? yield_during_unwinding
                                        : see_no_exception;
        fibers.push_back(runtime.spawn([=] { return body(i); }));
    }
    int wrong = 0;
    for (Future<int>& fiber : fibers) wrong += fiber.join().value_or(1'000);
    return wrong;
}

TEST(Exception, FIB_7e_exceptions_in_flight_survive_a_switch) { EXPECT_EQ(run_mixed(1), 0); }
TEST(Exception, FIB_7e_exceptions_in_flight_survive_migration) {
    EXPECT_EQ(run_mixed(2), 0);
    EXPECT_EQ(run_mixed(4), 0);
}

// Not only yields: sleeps and parks move fibers between threads for certain.
TEST(Exception, FIB_7e_an_exception_is_caught_on_another_thread_than_it_was_thrown_on) {
    Runtime runtime(with_workers(4));
    std::vector<Future<int>> fibers;
    Atomic<unsigned> moved{0};
    for (int i = 0; i < 100; ++i) {
        fibers.push_back(runtime.spawn([&, i] {
            int wrong = 0;
            for (int round = 0; round < 20; ++round) {
                try {
                    throw Marked{i};
                } catch (...) {
                    unsigned before = this_worker()->index();
                    static_cast<void>(weft::sleep_for(std::chrono::microseconds(50)));
                    if (this_worker()->index() != before)
                        moved.fetch_add(1, std::memory_order_relaxed);
                    wrong += mark_of_current() == i ? 0 : 1;
                }
            }
            return wrong;
        }));
    }
    int wrong = 0;
    for (Future<int>& fiber : fibers) wrong += fiber.join().value_or(1'000);
    EXPECT_EQ(wrong, 0);
    EXPECT_GT(moved.load(std::memory_order_relaxed), 0u) << "nothing has moved, nothing was tested";
}

TEST(Exception, FIB_7e_an_exception_pointer_passes_from_fiber_to_fiber) {
    Result<std::string> outcome = run([]() -> Result<std::string> {
        Future<std::exception_ptr> thrower = spawn([] {
            try {
                throw std::runtime_error("passed on");
            } catch (...) {
                yield();
                return std::current_exception();
            }
        });
        std::exception_ptr exception = WEFT_TRY(thrower.join());
        Future<void> rethrower = spawn([=] { std::rethrow_exception(exception); });
        return rethrower.join().error().message();
    });
    EXPECT_NE(outcome.value_or("").find("passed on"), std::string::npos);
}

TEST(Exception, FIB_7e_a_fiber_begins_without_the_exceptions_of_the_one_before) {
    Runtime runtime(with_workers(1));
    Result<int> wrong =
        runtime
            .spawn([]() -> Result<int> {
                try {
                    throw Marked{1};
                } catch (...) {
                    // Its child runs on this worker, right from here.
                    return spawn([] { return std::current_exception() ? 1 : 0; }).join();
                }
            })
            .join();
    EXPECT_EQ(wrong, 0);
}

// ---------------------------------------------------------------- floating-point control state

// One third in the rounding mode: tells which one is in force.
[[gnu::noinline]] double third() {
    volatile double one = 1.0;
    volatile double three = 3.0;
    return one / three;
}

int rounds_as(int mode) {
    double got = third();
    int before = std::fegetround();
    std::fesetround(mode);
    double wanted = third();
    std::fesetround(before);
    return got == wanted && before == mode ? 0 : 1;
}

TEST(FloatState, FIB_7f_a_fiber_that_says_so_keeps_its_rounding_over_switches) {
    for (unsigned workers : {1U, 2U}) {
        Runtime runtime(with_workers(workers));
        std::vector<Future<int>> fibers;
        for (int i = 0; i < 60; ++i) {
            constexpr int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
            int mode = modes[i % 3];
            SpawnOptions options;
            options.float_state = FloatState::Keep;
            fibers.push_back(runtime.spawn(
                [=] {
                    int wrong = rounds_as(FE_TONEAREST);  // it begins with the default
                    std::fesetround(mode);
                    for (int j = 0; j < 50; ++j) {
                        yield();
                        wrong += rounds_as(mode);
                    }
                    static_cast<void>(weft::sleep_for(std::chrono::milliseconds(1)));
                    return wrong + rounds_as(mode);
                },
                options));
            // In between others that have said nothing: they see the default.
            fibers.push_back(runtime.spawn([] {
                int wrong = 0;
                for (int j = 0; j < 50; ++j) {
                    wrong += rounds_as(FE_TONEAREST);
                    yield();
                }
                return wrong;
            }));
        }
        int wrong = 0;
        for (Future<int>& fiber : fibers) wrong += fiber.join().value_or(1'000);
        EXPECT_EQ(wrong, 0) << workers << " workers";
    }
}

TEST(FloatState, FIB_7f_what_a_fiber_leaves_behind_at_its_end_does_not_reach_the_next_one) {
    Runtime runtime(with_workers(1));
    SpawnOptions keep;
    keep.float_state = FloatState::Keep;
    for (int i = 0; i < 10; ++i) {
        EXPECT_TRUE(runtime.spawn([] { std::fesetround(FE_UPWARD); }, keep).join());
        EXPECT_EQ(runtime.spawn([] { return rounds_as(FE_TONEAREST); }).join(), 0);
        EXPECT_EQ(runtime.spawn([] { return rounds_as(FE_TONEAREST); }, keep).join(), 0);
    }
}

}  // namespace
}  // namespace weft
