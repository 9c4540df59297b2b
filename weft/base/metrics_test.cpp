#include "weft/base/metrics.h"

#include <gtest/gtest.h>

#include <thread>

namespace weft {
namespace {

TEST(Counter, it_starts_at_zero_and_adds) {
    Counter counter;
    EXPECT_EQ(counter.value(), 0u);
    counter.add();
    counter.add(41);
    counter.add_as_owner();
    EXPECT_EQ(counter.value(), 43u);
}

TEST(Counter, no_addition_of_several_threads_is_lost) {
    constexpr int rounds = 10000;
    Counter counter;
    auto add = [&] {
        for (int round = 0; round < rounds; ++round) counter.add();
    };
    std::thread first(add);
    std::thread second(add);
    first.join();
    second.join();
    EXPECT_EQ(counter.value(), 2u * rounds);
}

}  // namespace
}  // namespace weft
