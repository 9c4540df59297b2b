// Short histories of calls on channels, made on simulated machines under many seeds, each checked
// against the specification (testing/channel_history.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/sim/floor/crew.h"
#include "weft/base/planted.h"
#include "weft/fiber/runtime.h"
#include "weft/sim/sim.h"
#include "weft/testing/channel_history.h"
#include "weft/testing/channel_players.h"
#include "weft/testing/scale.h"

namespace weft::sim {
namespace {

using testing::ChannelHistory;
using testing::ChannelPlayer;
using testing::ChannelRound;
using testing::PlayerRandom;

void play(std::uint64_t seed, bool selects, std::size_t& calls) {
    Runtime runtime({.workers = scenarios::some_workers()});
    PlayerRandom random(seed);
    ChannelRound round(random);
    std::vector<std::unique_ptr<ChannelPlayer>> players;
    auto count = static_cast<std::size_t>(scenarios::between(2, 4));
    for (std::size_t i = 0; i < count; ++i)
        players.push_back(std::make_unique<ChannelPlayer>(i, selects));
    {
        scenarios::Crew crew(runtime);
        for (auto& player : players) crew.add([&, seed] { player->play(round, seed); });
    }
    ChannelHistory history(round.capacities);
    for (auto& player : players) {
        for (const testing::Call& one : player->calls()) history.add(one);
    }
    testing::drain(round, history);
    calls += history.size();
    if (!history.is_linearizable()) fail("not linearizable\n" + history.describe());
}

void play_seeds(bool selects) {
    std::uint64_t seeds = testing::is_long() ? 100'000 : testing::repeats(2'000);
    std::size_t calls = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        Report report = run({.seed = seed}, [&] { play(seed, selects, calls); });
        ASSERT_TRUE(report.ok()) << report.text();
    }
    EXPECT_GT(calls, seeds * 4);
}

TEST(SimLinearizability, SYN_1_channels_behave_as_if_called_one_after_the_other) {
    play_seeds(false);
}

TEST(SimLinearizability, SYN_2e_selects_behave_as_if_called_one_after_the_other) {
    play_seeds(true);
}

#ifdef WEFT_CHECKED
TEST(SimLinearizability, SYN_2e_histories_show_a_lost_item) {
    planted::enable("channel.drops_the_waiting_item");
    std::string failure;
    std::size_t calls = 0;
    for (std::uint64_t seed = 1; seed <= 2'000 && failure.empty(); ++seed)
        failure = run({.seed = seed}, [&] { play(seed, false, calls); }).failure;
    planted::enable("");
    EXPECT_THAT(failure, ::testing::StartsWith("not linearizable"));
}
#endif

}  // namespace
}  // namespace weft::sim
