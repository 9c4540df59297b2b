#include "weft/sim/internal/chooser.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace weft::sim {
namespace {

const std::vector<unsigned> kAll{0, 1, 2, 3};

// How often each of four threads that could always run was the running one.
std::map<unsigned, int> turns(Chooser chooser, std::uint64_t seed, int steps = 10'000) {
    Strategy choice(chooser, seed);
    std::map<unsigned, int> counts;
    unsigned current = 0;
    for (int i = 0; i < steps; ++i) {
        if (choice.interrupts(current)) current = choice.pick(kAll, -1);
        ++counts[current];
    }
    return counts;
}

TEST(Chooser, SIM_1a_random_and_round_robin_let_everybody_run) {
    for (Chooser chooser : {Chooser::Random, Chooser::RoundRobin}) {
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            std::map<unsigned, int> counts = turns(chooser, seed);
            for (unsigned thread : kAll) EXPECT_GT(counts[thread], 1000) << thread;
        }
    }
}

TEST(Chooser, SIM_1a_round_robin_goes_round) {
    Strategy choice(Chooser::RoundRobin, 1);
    unsigned first = choice.pick(kAll, -1);
    for (unsigned i = 1; i <= 8; ++i) EXPECT_EQ(choice.pick(kAll, -1), (first + i) % 4);
}

TEST(Chooser, SIM_1a_priorities_change_at_few_points) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        Strategy choice(Chooser::Priorities, seed);
        unsigned current = choice.pick(kAll, -1);
        int changes = 0;
        for (int i = 0; i < 10'000; ++i) {
            EXPECT_EQ(choice.pick(kAll, -1), current);  // the highest, as long as nothing changes
            if (!choice.interrupts(current)) continue;
            ++changes;
            unsigned next = choice.pick(kAll, -1);
            EXPECT_NE(next, current);
            current = next;
        }
        EXPECT_GE(changes, 1);
        EXPECT_LE(changes, 5);
    }
}

TEST(Chooser, SIM_1a_one_is_starved) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        std::map<unsigned, int> counts = turns(Chooser::StarveOne, seed);
        int starved = 0;
        for (unsigned thread : kAll) starved += counts[thread] < 500 ? 1 : 0;
        EXPECT_EQ(starved, 1) << "seed " << seed;
        // Alone it may run.
        EXPECT_EQ(Strategy(Chooser::StarveOne, seed).pick({2}, -1), 2U);
    }
}

TEST(Chooser, SIM_1a_who_spins_lets_the_others_go_first) {
    for (Chooser chooser : {Chooser::Random, Chooser::Priorities, Chooser::StarveOne}) {
        Strategy choice(chooser, 9);
        for (int i = 0; i < 100; ++i) EXPECT_NE(choice.pick(kAll, 1), 1U);
        EXPECT_EQ(choice.pick({1}, 1), 1U);
    }
}

TEST(Chooser, SIM_1a_the_seed_decides_which_one) {
    std::set<Chooser> chosen;
    for (std::uint64_t seed = 0; seed < 100; ++seed)
        chosen.insert(Strategy(Chooser::BySeed, seed).chooser());
    EXPECT_EQ(chosen, (std::set<Chooser>{Chooser::Random, Chooser::Priorities, Chooser::RoundRobin,
                                         Chooser::StarveOne}));
}

}  // namespace
}  // namespace weft::sim
