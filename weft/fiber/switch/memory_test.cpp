// Fibers when memory is short: an error to the caller, never an abort. Each case in a process of
// its own, whose address space is limited.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/testing/scale.h"
#include "weft/testing/short_memory.h"

namespace weft {
namespace {

using testing::end_with;
using testing::lift_limit;
using testing::limit_address_space;

constexpr auto kRelaxed = std::memory_order_relaxed;

RuntimeOptions with_workers(unsigned workers) {
    RuntimeOptions options;
    options.workers = workers;
    return options;
}

class MemoryDeathTest : public ::testing::Test {
protected:
    void SetUp() override {
        GTEST_FLAG_SET(death_test_style, "threadsafe");
        if (testing::kSanitizer) GTEST_SKIP() << "the sanitizer itself needs the address space";
        testing::use_one_heap();
    }
};

// Parks fibers on large stacks until the address space is used up.
[[noreturn]] void spawn_until_refused(SpawnOptions options, bool by_fiber) {
    Runtime runtime(with_workers(1));
    static_cast<void>(runtime.spawn([] {}).join());
    limit_address_space(64 << 20);
    constexpr int count = 400;
    int parked = 0;
    std::vector<Future<void>> fibers;
    auto spawn_all = [&] {
        fibers.reserve(count);
        for (int i = 0; i < count; ++i) {
            auto body = [&]() -> Result<void> {
                parked++;
                return park();
            };
            fibers.push_back(by_fiber ? spawn(body, options) : runtime.spawn(body, options));
        }
    };
    if (by_fiber) {
        if (!runtime.spawn(spawn_all).join()) end_with("the parent failed");
    } else {
        spawn_all();
    }
    // Those that were refused have ended; the others wait to be woken.
    int refused = 0;
    int other = 0;
    for (Future<void>& fiber : fibers) {
        unpark(fiber.id());
        Result<void> outcome = fiber.join();
        if (outcome) continue;
        (outcome.error().kind() == ErrorKind::OutOfMemory ? refused : other)++;
    }
    bool sums = parked + refused == count && other == 0;
    end_with("ran some: " + std::to_string(parked > 10) + ", refused some: " +
             std::to_string(refused > 10) + ", others: " + std::to_string(!sums));
}

TEST_F(MemoryDeathTest, FIB_4d_a_fiber_without_memory_for_its_stack_ends_as_out_of_memory) {
    EXPECT_EXIT(spawn_until_refused({.stack_bytes = 1 << 20}, true), ::testing::ExitedWithCode(0),
                "ran some: 1, refused some: 1, others: 0");
}

TEST_F(MemoryDeathTest, FIB_4d_so_does_one_that_a_plain_thread_has_spawned) {
    EXPECT_EXIT(spawn_until_refused({.stack_bytes = 1 << 20}, false), ::testing::ExitedWithCode(0),
                "ran some: 1, refused some: 1, others: 0");
}

// A fiber that never ran takes its name and its captures with it.
TEST_F(MemoryDeathTest, FIB_4d_what_a_refused_fiber_owned_is_given_back) {
    EXPECT_EXIT(
        {
            Runtime runtime(with_workers(1));
            static_cast<void>(runtime.spawn([] {}).join());
            auto witness = std::make_shared<int>(0);
            limit_address_space(8 << 20);
            int refused = 0;
            for (int i = 0; i < 50; ++i) {
                Result<void> outcome = runtime
                                           .spawn([witness] { static_cast<void>(*witness); },
                                                  {.name = "refused", .stack_bytes = 32 << 20})
                                           .join();
                if (!outcome && outcome.error().kind() == ErrorKind::OutOfMemory) refused++;
            }
            lift_limit();
            int misnamed = 0;
            for (int i = 0; i < 200; ++i) {
                auto name = runtime.spawn([] { return current_name().empty(); }).join();
                misnamed += name.value_or(false) ? 0 : 1;
            }
            end_with("refused: " + std::to_string(refused) +
                     ", misnamed: " + std::to_string(misnamed) +
                     ", kept: " + std::to_string(witness.use_count() - 1));
        },
        ::testing::ExitedWithCode(0), "refused: 50, misnamed: 0, kept: 0");
}

TEST_F(MemoryDeathTest, FIB_4d_the_runtime_goes_on_when_there_is_memory_again) {
    EXPECT_EXIT(
        {
            Runtime runtime(with_workers(2));
            static_cast<void>(runtime.spawn([] {}).join());
            limit_address_space(4 << 20);
            std::vector<Future<void>> fibers;
            for (int i = 0; i < 20; ++i)
                fibers.push_back(runtime.spawn([] { return park(); }, {.stack_bytes = 8 << 20}));
            for (Future<void>& fiber : fibers) {
                unpark(fiber.id());
                static_cast<void>(fiber.join());
            }
            lift_limit();
            int ran = 0;
            for (int i = 0; i < 20; ++i)
                ran += runtime.spawn([] {}, {.stack_bytes = 8 << 20}).join() ? 1 : 0;
            end_with("ran: " + std::to_string(ran));
        },
        ::testing::ExitedWithCode(0), "ran: 20");
}

TEST_F(MemoryDeathTest, FIB_4d_a_runtime_whose_threads_cannot_start_says_so) {
    EXPECT_EXIT(
        {
            limit_address_space(16 << 20);  // a few threads
            Runtime runtime(with_workers(32));
            Result<void> started = runtime.start();
            lift_limit();
            end_with(std::string("started: ") + (started ? "yes" : "no"));
        },
        ::testing::ExitedWithCode(0), "started: no");
}

// Not even the control blocks fit: the error comes from the spawn itself.
TEST_F(MemoryDeathTest, FIB_4d_a_spawn_without_memory_for_the_fiber_is_refused) {
    EXPECT_EXIT(
        {
            Runtime runtime(with_workers(1));
            static_cast<void>(runtime.spawn([] {}).join());
            limit_address_space(0);
            // A long queue of fibers that do not run yet: the only worker computes.
            Atomic<bool> refused{false};
            Future<void> parent = runtime.spawn([&] {
                for (int i = 0; i < 200'000 && !refused.load(kRelaxed); ++i) {
                    if (!spawn_detached([] {})) refused.store(true, kRelaxed);
                }
            });
            static_cast<void>(parent.join());
            lift_limit();
            runtime.run();
            end_with("refused: " + std::to_string(refused.load(kRelaxed)));
        },
        ::testing::ExitedWithCode(0), "refused: 1");
}

TEST_F(MemoryDeathTest, FIB_4j_a_fiber_takes_a_larger_stack_before_it_goes_without) {
    EXPECT_EXIT(
        {
            Runtime runtime(with_workers(1));
            static_cast<void>(runtime.spawn([] {}).join());
            limit_address_space(16 << 20);
            auto park_until_refused = [&](std::size_t stack_bytes) {
                std::vector<Future<void>> parked;
                for (;;) {
                    Future<void> fiber =
                        runtime.spawn([] { return park(); }, {.stack_bytes = stack_bytes});
                    // Those of one worker run in turn: when this one has run, so has the other.
                    if (!runtime.spawn([] {}).join() || fiber.is_done()) return parked;
                    parked.push_back(std::move(fiber));
                }
            };
            std::vector<Future<void>> large = park_until_refused(1 << 20);
            std::vector<Future<void>> small = park_until_refused(128 << 10);
            for (Future<void>& fiber : large) {
                unpark(fiber.id());
                static_cast<void>(fiber.join());
            }
            Result<void> ran = runtime.spawn([] {}, {.stack_bytes = 128 << 10}).join();
            lift_limit();
            end_with(std::string("large: ") + (large.empty() ? "none" : "some") +
                     ", then: " + (ran ? "ran" : ran.error().message()));
        },
        ::testing::ExitedWithCode(0), "large: some, then: ran");
}

// Of a body with a fallback exactly one is called: the body or the fallback.
TEST_F(MemoryDeathTest, FIB_4h_a_duty_without_a_stack_is_told_of) {
    EXPECT_EXIT(
        {
            Runtime runtime(with_workers(1));
            static_cast<void>(runtime.spawn([] {}).join());
            limit_address_space(16 << 20);
            constexpr int kDuties = 200;
            int ran = 0;
            int told = 0;
            Future<void> parent = runtime.spawn([&] {
                for (int i = 0; i < kDuties; ++i) {
                    Result<void> started = spawn_detached(
                        [&ran] {
                            ++ran;
                            static_cast<void>(park());
                        },
                        [&told](const Error& error) {
                            told += error.kind() == ErrorKind::OutOfMemory ? 1 : 0;
                        },
                        {.stack_bytes = 1 << 20});
                    if (!started) ++told;
                }
                while (ran + told < kDuties) yield();
            });
            static_cast<void>(parent.join());
            std::uint64_t dropped = runtime.counters().dropped_errors.value();
            lift_limit();
            end_with("ran some: " + std::to_string(ran > 5) + ", told of the rest: " +
                     std::to_string(told > 5) + ", dropped: " + std::to_string(dropped));
        },
        ::testing::ExitedWithCode(0), "ran some: 1, told of the rest: 1, dropped: 0");
}

TEST_F(MemoryDeathTest, FIB_4h_a_duty_that_is_not_started_is_not_told_of) {
    EXPECT_EXIT(
        {
            Runtime runtime(with_workers(1));
            static_cast<void>(runtime.shutdown());
            int calls = 0;
            Result<void> started =
                runtime.spawn_detached([&] { ++calls; }, [&](const Error&) { ++calls; }, {});
            end_with(std::string("refused: ") + (started ? "no" : "yes") +
                     ", calls: " + std::to_string(calls));
        },
        ::testing::ExitedWithCode(0), "refused: yes, calls: 0");
}

}  // namespace
}  // namespace weft
