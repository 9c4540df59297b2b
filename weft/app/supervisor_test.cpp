#include "weft/app/supervisor.h"

#include <gtest/gtest.h>

#include <chrono>

namespace weft::app {
namespace {

using namespace std::chrono_literals;

TEST(Supervisor, HST_5_a_child_is_told_its_descriptors) {
    Supervised given{.ready = 3, .listeners = {{4, 5}, {6, 7}}};
    EXPECT_EQ(given.text(), "3;4,5;6,7");
    EXPECT_EQ(Supervised::parse("3;4,5;6,7"), given);
    for (const char* wrong : {"", "3", "3;", "3;4,", "3,4;5", "x", "3;4 ", "-1;4", "3;4;;5"})
        EXPECT_EQ(Supervised::parse(wrong), std::nullopt) << wrong;
}

TEST(Supervisor, HST_5_children_that_die_young_are_started_ever_more_slowly) {
    EXPECT_EQ(restart_pause(0), 0ns);
    EXPECT_EQ(restart_pause(3), 0ns);
    EXPECT_EQ(restart_pause(4), 50ms);
    EXPECT_EQ(restart_pause(6), 200ms);
    EXPECT_EQ(restart_pause(1000), 5s);
}

}  // namespace
}  // namespace weft::app
