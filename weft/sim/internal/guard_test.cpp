// tidy: allow-file sleep: it is what the guard notices
// tidy: allow-file clock: as above
#include "weft/sim/internal/guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <mutex>
#include <random>
#include <string>
#include <thread>

#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/sim/determinism.h"
#include "weft/sim/sim.h"
#include "weft/testing/scale.h"

#ifdef WEFT_ASAN
#include <sanitizer/lsan_interface.h>
#endif

namespace weft::sim {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string failure_of(const std::function<void()>& body) {
#ifdef WEFT_ASAN
    __lsan::ScopedDisabler abandoned;
#endif
    return run({.seed = 1},
               [&] {
                   Runtime runtime({.workers = 2});
                   static_cast<void>(runtime.spawn([&] { body(); }).join());
               })
        .failure;
}

constexpr const char* kNotWatched = "beside a sanitizer nothing is watched";

TEST(SimGuard, SIM_4e_real_clocks_are_noticed) {
    if (testing::kSanitizer) GTEST_SKIP() << kNotWatched;
    auto steady = [] { static_cast<void>(std::chrono::steady_clock::now()); };
    auto system = [] { static_cast<void>(std::chrono::system_clock::now()); };
    for (const std::function<void()>& body : {std::function<void()>(steady), {system}}) {
        std::string failure = failure_of(body);
        EXPECT_THAT(failure, StartsWith("the real clock was read"));
        EXPECT_THAT(failure, HasSubstr("weft::Clock::now()"));
    }
    EXPECT_THAT(failure_of([] { static_cast<void>(std::time(nullptr)); }),
                StartsWith("the real clock was read"));
}

TEST(SimGuard, SIM_4e_real_randomness_is_noticed) {
    if (testing::kSanitizer) GTEST_SKIP() << kNotWatched;
    EXPECT_THAT(failure_of([] {
                    std::random_device device;
                    static_cast<void>(device());
                }),
                HasSubstr("sim::random_below()"));
    EXPECT_THAT(failure_of([] { static_cast<void>(std::rand()); }), StartsWith("rand()"));
}

TEST(SimGuard, SIM_4e_real_threads_and_sleeps_are_noticed) {
    if (testing::kSanitizer) GTEST_SKIP() << kNotWatched;
    EXPECT_THAT(failure_of([] { std::thread([] {}).join(); }), StartsWith("a real thread"));
    EXPECT_THAT(failure_of([] { std::this_thread::sleep_for(1ms); }), StartsWith("a real sleep"));
}

TEST(SimGuard, SIM_4e_a_real_lock_over_a_wait_is_noticed) {
    if (testing::kSanitizer) GTEST_SKIP() << kNotWatched;
    std::mutex mutex;
    std::string failure = failure_of([&mutex] {
        auto work = [&mutex] {
            std::lock_guard guard(mutex);
            static_cast<void>(weft::sleep_for(1ms));
        };
        Future<void> one = spawn(work);
        Future<void> two = spawn(work);
        static_cast<void>(one.join());
        static_cast<void>(two.join());
    });
    EXPECT_THAT(failure, StartsWith("a std::mutex"));
    mutex.unlock();  // the run was abandoned with it
}

TEST(SimGuard, SIM_4e_what_is_not_part_of_the_machine_may_use_the_real_one) {
    Report report = run({.seed = 1}, [] {
        env::Unseen real;
        static_cast<void>(std::chrono::steady_clock::now());
        std::thread([] {}).join();
    });
    EXPECT_TRUE(report.ok()) << report.text();
    EXPECT_GT(std::chrono::steady_clock::now().time_since_epoch().count(), 0);
}

TEST(SimGuard, SIM_4e_an_assertion_fails_the_run_and_not_the_process) {
    EXPECT_THAT(failure_of([] { WEFT_ASSERT(1 + 1 == 3, "sums"); }),
                HasSubstr("assertion failed: 1 + 1 == 3: sums"));
    Report thrown = run({.seed = 1}, [] { throw std::runtime_error("thrown away"); });
    EXPECT_THAT(thrown.failure, HasSubstr("thrown away"));
}

TEST(SimDeterminism, SIM_4f_the_first_event_that_differs_is_shown) {
    int runs = 0;
    auto fickle = [&runs] {
        Runtime runtime({.workers = 1});
        int sleeps = ++runs == 1 ? 1 : 2;
        static_cast<void>(runtime
                              .spawn([sleeps] {
                                  for (int i = 0; i < sleeps; ++i)
                                      static_cast<void>(weft::sleep_for(1ms));
                              })
                              .join());
    };
    std::optional<Divergence> divergence = find_divergence({.seed = 1}, fickle);
    ASSERT_TRUE(divergence.has_value());
    EXPECT_GT(divergence->event, 1U);
    EXPECT_NE(divergence->first, divergence->second);
    EXPECT_THAT(divergence->text(), HasSubstr("is not the same again"));
    EXPECT_THAT(divergence->text(), HasSubstr(divergence->first));
}

TEST(SimDeterminism, SIM_4f_a_deterministic_run_is_called_so) {
    auto steady = [] {
        Runtime runtime({.workers = 3});
        auto work = [] {
            for (int i = 0; i < 5; ++i) static_cast<void>(weft::sleep_for(1ms));
        };
        Future<void> one = runtime.spawn(work);
        Future<void> two = runtime.spawn(work);
        require(one.join() && two.join(), "a fiber failed");
    };
    for (std::uint64_t seed = 1; seed <= 20; ++seed)
        EXPECT_FALSE(find_divergence({.seed = seed}, steady).has_value());
}

}  // namespace
}  // namespace weft::sim
