// Scenarios as GoogleTests. Header only: the library knows nothing of GoogleTest.
//
//     WEFT_SIM_TEST(Bank, no_money_is_lost, {.seeds = 1000}) {
//         Bank bank;
//         ...
//         EXPECT_EQ(bank.total(), 400);
//     }
//
// The body runs once for each seed on a simulated machine. A failed expectation, a failed
// sim::require() and an uncaught exception all fail the seed, which is shortened and shown with its
// interleaving and the line that repeats it: WEFT_SIM_SEED=17 in the environment runs that seed
// alone, WEFT_SIM_SEEDS=100000 runs that many. A condition of sometimes() that was never true fails
// the test as well.
#pragma once

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "weft/sim/campaign.h"

namespace weft::sim::gtest_internal {

// Makes the failed expectations of the body a failure of the run.
inline void run_body(const std::function<void()>& body) {
    ::testing::TestPartResultArray results;
    {
        ::testing::ScopedFakeTestPartResultReporter reporter(
            ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
        body();
    }
    for (int i = 0; i < results.size(); ++i) {
        const ::testing::TestPartResult& result = results.GetTestPartResult(i);
        if (!result.failed()) continue;
        std::string file = result.file_name() ? result.file_name() : "?";
        fail(std::string(result.message()) + "\n  at " + file + ":" +
             std::to_string(result.line_number()));
    }
}

inline void run_test(const std::string& name, Campaign campaign,
                     const std::function<void()>& body) {
    campaign.name = name;
    CampaignOutcome outcome = run_campaign(campaign, [&body] { run_body(body); });
    if (!outcome.ok()) GTEST_NONFATAL_FAILURE_(outcome.text.c_str());
}

}  // namespace weft::sim::gtest_internal

#define WEFT_SIM_TEST(suite, name, ...)                                                            \
    static void weft_sim_body_##suite##_##name();                                                  \
    TEST(suite, name) {                                                                            \
        ::weft::sim::gtest_internal::run_test(#suite "." #name, ::weft::sim::Campaign __VA_ARGS__, \
                                              weft_sim_body_##suite##_##name);                     \
    }                                                                                              \
    static void weft_sim_body_##suite##_##name()
