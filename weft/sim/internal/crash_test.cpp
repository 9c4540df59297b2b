#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>

#include "weft/fiber/runtime.h"
#include "weft/sim/campaign.h"
#include "weft/sim/scenario.h"
#include "weft/sim/sim.h"
#include "weft/sim/tool.h"
#include "weft/testing/scale.h"

namespace weft::sim {
namespace {

// In a fiber, as most crashes of a program are.
void in_fiber(void (*crash)()) {
    static_cast<void>(weft::run([crash]() -> Result<void> {
        crash();
        return {};
    }));
}

void write_nowhere() {
    int* volatile nowhere = nullptr;
    // A sanitizer would report it before the signal comes.
    if (!testing::kSanitizer) *nowhere = 1;
    raise(SIGSEGV);
}

void crash() { in_fiber(write_nowhere); }
void give_up() { in_fiber(std::abort); }
void end_in_main() { std::abort(); }

[[gnu::noinline]] int recurse(int levels) {
    volatile char frame[1024];
    frame[levels % 1024] = static_cast<char>(levels);
    return levels == 0 ? frame[0] : recurse(levels - 1) + frame[levels % 1024];
}
void recurse_in_main() { static_cast<void>(recurse(1'000'000)); }

constexpr Scenario kScenarios[] = {{"calm", "ends well", [] {}}, {"crash", "does not", crash}};

TEST(SimCrashDeathTest, SIM_4l_a_signal_tells_the_seed) {
    EXPECT_DEATH(run({.seed = 17}, crash), "SIGSEGV in a simulated run: seed 17\nreplay: .*17\n");
    EXPECT_DEATH(run({.seed = 18}, give_up), "SIGABRT in a simulated run: seed 18\n");
    EXPECT_DEATH(run({.seed = 19}, end_in_main), "SIGABRT in a simulated run: seed 19\n");
}

TEST(SimCrashDeathTest, SIM_4l_also_a_stack_overflow_of_a_plain_thread) {
    if (testing::kSanitizer) GTEST_SKIP() << "the sanitizer tells it";
    EXPECT_DEATH(run({.seed = 20}, recurse_in_main), " in a simulated run: seed 20\n");
}

TEST(SimCrashDeathTest, SIM_4l_the_tool_tells_how_to_repeat_it) {
    char program[] = "shop_sim", seeds[] = "--seeds", number[] = "4", faults[] = "--no-faults";
    char* words[] = {program, seeds, number, faults};
    EXPECT_DEATH(run_tool("shop_sim", kScenarios, words),
                 "seed 2\nreplay: shop_sim --scenario crash --seed 2 --no-faults\n");
}

TEST(SimCrashDeathTest, SIM_4l_a_campaign_tells_how_to_repeat_it) {
    EXPECT_DEATH(run_campaign({.first_seed = 5, .name = "Shop.sells"}, crash),
                 "seed 5\nShop.sells repeat: WEFT_SIM_SEED=5\n");
}

// Outside a run the signal is passed on without a report.
TEST(SimCrashDeathTest, SIM_4l_what_ends_the_process_stays_the_same) {
    if (testing::kSanitizer) GTEST_SKIP() << "the sanitizer ends the process";
    EXPECT_EXIT(run({.seed = 1}, crash), ::testing::KilledBySignal(SIGSEGV), "seed 1\n");
    EXPECT_EXIT(
        {
            EXPECT_TRUE(run({.seed = 1}, [] {}).ok());
            std::abort();
        },
        ::testing::KilledBySignal(SIGABRT), "^$");
}

}  // namespace
}  // namespace weft::sim
