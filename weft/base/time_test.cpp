#include "weft/base/time.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>

namespace weft {
namespace {

using namespace std::chrono_literals;

constexpr Instant kNoon{Nanoseconds(1'000'000'000)};

TEST(Clock, it_is_a_standard_clock_and_does_not_go_back) {
    static_assert(std::chrono::is_clock_v<Clock>);
    Instant first = Clock::now();
    Instant second = Clock::now();
    EXPECT_LE(first, second);
}

TEST(Deadline, the_default_is_never) {
    EXPECT_TRUE(Deadline().is_never());
    EXPECT_EQ(Deadline(), Deadline::never());
    EXPECT_FALSE(Deadline::never().expired(Instant::max()));
    EXPECT_EQ(Deadline::never().remaining(kNoon), Nanoseconds::max());
}

TEST(Deadline, it_expires_at_its_instant_and_not_before) {
    Deadline deadline = Deadline::at(kNoon);
    EXPECT_FALSE(deadline.expired(kNoon - 1ns));
    EXPECT_TRUE(deadline.expired(kNoon));
    EXPECT_EQ(deadline.remaining(kNoon - 5ns), 5ns);
    EXPECT_EQ(deadline.remaining(kNoon + 5ns), 0ns);
    EXPECT_EQ(deadline.instant(), kNoon);
}

TEST(Deadline, after_adds_to_now) {
    EXPECT_EQ(Deadline::after(3ms, kNoon).instant(), kNoon + 3ms);
    EXPECT_TRUE(Deadline::after(0s, kNoon).expired(kNoon));
    EXPECT_TRUE(Deadline::after(-1h, kNoon).expired(kNoon));
    Instant before = Clock::now();
    EXPECT_GE(Deadline::after(1s).instant(), before + 1s);
}

TEST(Deadline, a_duration_too_long_for_the_clock_is_never) {
    EXPECT_TRUE(Deadline::after(Nanoseconds::max(), kNoon).is_never());
    EXPECT_TRUE(Deadline::after(Nanoseconds::max(), Instant(-1s)).is_never());
    EXPECT_TRUE(Deadline::after(Nanoseconds::max() - 1ns, kNoon).is_never());
    EXPECT_TRUE(Deadline::after(std::chrono::hours::max(), kNoon).is_never());
    EXPECT_TRUE(Deadline::after(std::chrono::years::max(), kNoon).is_never());
    EXPECT_TRUE(Deadline::after(std::chrono::seconds::max()).is_never());
}

TEST(Deadline, a_negative_duration_too_long_for_the_clock_is_long_past) {
    Instant early(Nanoseconds::min() + 1s);
    EXPECT_EQ(Deadline::after(std::chrono::hours::min(), kNoon).instant().time_since_epoch(),
              Nanoseconds::min() + 1s);
    EXPECT_EQ(Deadline::after(-2s, early).instant(), Instant::min());
    EXPECT_TRUE(Deadline::after(-2s, early).expired(kNoon));
}

TEST(Deadline, remaining_does_not_overflow) {
    EXPECT_EQ(Deadline::at(Instant::max() - 1ns).remaining(Instant::min()), Nanoseconds::max());
}

TEST(Deadline, never_is_the_latest) {
    Deadline noon = Deadline::at(kNoon);
    EXPECT_LT(noon, Deadline::never());
    EXPECT_EQ(earlier(noon, Deadline::never()), noon);
    EXPECT_EQ(earlier(Deadline::never(), noon), noon);
    EXPECT_EQ(earlier(noon, Deadline::at(kNoon + 1ns)), noon);
}

TEST(Saturate, floating_point_durations_are_cut_to_the_range) {
    using Seconds = std::chrono::duration<double>;
    EXPECT_EQ(saturate(Seconds(1.5)), 1500ms);
    EXPECT_EQ(saturate(Seconds(1e300)), Nanoseconds::max());
    EXPECT_EQ(saturate(Seconds(-1e300)), Nanoseconds::min());
    EXPECT_EQ(saturate(Seconds(std::numeric_limits<double>::infinity())), Nanoseconds::max());
    EXPECT_EQ(saturate(Seconds(std::nan(""))), Nanoseconds::zero());
}

TEST(Saturate, whole_durations_are_exact) {
    EXPECT_EQ(saturate(Nanoseconds::max()), Nanoseconds::max());
    EXPECT_EQ(saturate(Nanoseconds::min()), Nanoseconds::min());
    EXPECT_EQ(saturate(std::chrono::duration<int, std::pico>(2999)), 2ns);
    EXPECT_EQ(saturate(std::chrono::minutes(-7)), -7min);
}

}  // namespace
}  // namespace weft
