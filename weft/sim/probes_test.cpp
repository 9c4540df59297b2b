#include "weft/sim/probes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/sim/campaign.h"
#include "weft/sim/gtest.h"
#include "weft/sim/sim.h"
#include "weft/sync/channel.h"

#ifdef WEFT_ASAN
#include <sanitizer/lsan_interface.h>
#endif

namespace weft::sim {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

TEST(SimProbes, SIM_4g_what_never_happens_in_a_campaign_is_named) {
    Campaign campaign{.seeds = 100};
    CampaignOutcome outcome = run_campaign(campaign, [] {
        sometimes(coin(), "a coin came up");
        sometimes(false, "the moon fell down");
    });
    EXPECT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.text, "never true in 100 runs: the moon fell down\n");
    EXPECT_GT(outcome.coverage["a coin came up"], 20U);
    EXPECT_LT(outcome.coverage["a coin came up"], 80U);
    EXPECT_TRUE(outcome.failed.ok());
}

TEST(SimProbes, SIM_4g_sometimes_and_buggify_do_nothing_on_the_real_machine) {
    sometimes(false, "nobody asks");
    for (int i = 0; i < 1000; ++i) ASSERT_FALSE(buggify());
}

TEST(SimProbes, SIM_4g_buggify_is_true_at_some_places_in_some_seeds) {
    int seeds_with_first = 0;
    int seeds_with_both = 0;
    std::uint64_t hits = 0;
    constexpr int seeds = 2000;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        bool first = false;
        bool second = false;
        Report report = run({.seed = seed}, [&] {
            for (int i = 0; i < 40; ++i) {
                first = buggify() || first;
                second = buggify() || second;
            }
        });
        ASSERT_TRUE(report.ok());
        hits += report.injected.buggify;
        seeds_with_first += first ? 1 : 0;
        seeds_with_both += first && second ? 1 : 0;
    }
    // A sixteenth of the seeds for each place, mostly not the same ones.
    EXPECT_GT(seeds_with_first, seeds / 32);
    EXPECT_LT(seeds_with_first, seeds / 8);
    EXPECT_GT(seeds_with_both, 0);
    EXPECT_LT(seeds_with_both, seeds_with_first / 2);
    EXPECT_GT(hits, 0U);
    Report none = run({.seed = 1, .faults = Faults::none()}, [] {
        for (int i = 0; i < 1000; ++i) require(!buggify(), "it was switched off");
    });
    EXPECT_TRUE(none.ok());
}

TEST(SimProbes, SIM_4g_eventually_waits_without_faults_until_it_is_true) {
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        Report report = run({.seed = seed, .faults = Faults::all()}, [] {
            Runtime runtime({.workers = 2});
            bool arrived = false;
            Future<void> late = runtime.spawn([&] {
                static_cast<void>(weft::sleep_for(10s));
                arrived = true;
            });
            eventually([&] { return arrived; }, "the late one arrives");
            static_cast<void>(late.join());
            for (int i = 0; i < 1000; ++i) require(!buggify(), "the faults are over");
        });
        // Memory may run out before the calm.
        if (report.injected.allocation == 0) {
            ASSERT_TRUE(report.ok()) << report.text();
        }
    }
}

TEST(SimProbes, SIM_4g_eventually_fails_when_it_never_comes_true) {
#ifdef WEFT_ASAN
    __lsan::ScopedDisabler abandoned;
#endif
    Report report = run({.seed = 1}, [] {
        Runtime runtime({.workers = 1});
        static_cast<void>(
            runtime.spawn([] { eventually([] { return false; }, "the queue is empty", 5s); })
                .join());
    });
    EXPECT_EQ(report.failure, "not even without faults: the queue is empty");
}

WEFT_SIM_TEST(SimMacro, SIM_4h_a_body_runs_once_for_each_seed, {.seeds = 50}) {
    Runtime runtime({.workers = 2});
    Channel<int> channel(1);
    Future<void> sender = runtime.spawn([&] { return channel.send(5); });
    EXPECT_EQ(runtime.spawn([&] { return channel.receive(); }).join().value_or(0), 5);
    EXPECT_TRUE(sender.join().has_value());
    sometimes(coin(), "heads");
}

TEST(SimMacro, SIM_4h_an_expectation_in_vain_fails_with_its_seed) {
#ifdef WEFT_ASAN
    __lsan::ScopedDisabler abandoned;
#endif
    auto expects = [] { EXPECT_LT(random_below(10), 9U) << "too much"; };
    ::testing::TestPartResultArray results;
    {
        ::testing::ScopedFakeTestPartResultReporter reporter(
            ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
        gtest_internal::run_test("Some.test", {.seeds = 200}, expects);
    }
    ASSERT_EQ(results.size(), 1);
    std::string message = results.GetTestPartResult(0).message();
    EXPECT_THAT(message, HasSubstr("Some.test seed "));
    EXPECT_THAT(message, HasSubstr("too much"));
    EXPECT_THAT(message, HasSubstr("probes_test.cpp:"));
    EXPECT_THAT(message, HasSubstr("repeat: WEFT_SIM_SEED="));
}

}  // namespace
}  // namespace weft::sim
