#include "weft/base/log_limit.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "weft/testing/captured_log.h"

namespace weft {
namespace {

Instant at(Nanoseconds time) { return Instant(time); }

TEST(LogLimit, lines_beyond_the_limit_are_left_out_and_counted) {
    LogLimit limit;
    for (unsigned i = 0; i < LogLimit::kLines; ++i) EXPECT_EQ(limit.admit("a", at({})), 0U);
    for (int i = 0; i < 1000; ++i) EXPECT_FALSE(limit.admit("a", at(Nanoseconds(i))));
    EXPECT_EQ(limit.admit("a", at(LogLimit::kWindow)), 1000U);
    EXPECT_EQ(limit.admit("a", at(LogLimit::kWindow)), 0U);
}

TEST(LogLimit, a_cause_does_not_use_up_the_lines_of_another) {
    LogLimit limit;
    for (int i = 0; i < 100; ++i) static_cast<void>(limit.admit("a", at({})));
    EXPECT_EQ(limit.admit("b", at({})), 0U);
}

TEST(LogLimit, however_many_causes_there_are_the_lines_are_bounded) {
    LogLimit limit;
    unsigned lines = 0;
    for (int i = 0; i < 100'000; ++i) lines += limit.admit(std::to_string(i), at({})).has_value();
    EXPECT_LE(lines, 16 * LogLimit::kLines);
}

TEST(LogLimit, the_log_says_how_many_are_missing) {
    testing::CapturedLog captured;
    LogLimit limit;
    Instant past = Clock::now() - LogLimit::kWindow;
    for (unsigned i = 0; i < LogLimit::kLines + 3; ++i) static_cast<void>(limit.admit("a", past));
    log_limited(limit, LogLevel::Error, "a", "it failed: {}", 7);
    ASSERT_EQ(captured.lines().size(), 2U);
    EXPECT_EQ(captured.lines()[0], "weft: error: 3 lines like the next one were left out");
    EXPECT_EQ(captured.lines()[1], "weft: error: it failed: 7");
}

}  // namespace
}  // namespace weft
