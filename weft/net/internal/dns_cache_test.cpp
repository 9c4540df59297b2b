#include "weft/net/internal/dns_cache.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "weft/net/resolver.h"

namespace weft::net {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Instant kNow{hours(1)};

DnsAnswer answer(Nanoseconds ttl) { return {std::vector{IpAddress::loopback()}, ttl}; }

TEST(DnsCache, NET_5_an_answer_is_kept_as_long_as_its_ttl_says) {
    DnsCache cache(10);
    cache.put("a", answer(seconds(60)), kNow);
    EXPECT_EQ(cache.find("a", kNow + seconds(59))->value(), std::vector{IpAddress::loopback()});
    EXPECT_FALSE(cache.find("b", kNow));
    EXPECT_FALSE(cache.find("a", kNow + seconds(60)));
    EXPECT_EQ(cache.size(), 0U);
}

TEST(DnsCache, NET_5_a_ttl_is_neither_very_short_nor_very_long) {
    DnsCache cache(10);
    cache.put("short", answer({}), kNow);
    cache.put("long", answer(hours(100)), kNow);
    EXPECT_TRUE(cache.find("short", kNow + milliseconds(999)));
    EXPECT_FALSE(cache.find("short", kNow + seconds(1)));
    EXPECT_TRUE(cache.find("long", kNow + seconds(299)));
    EXPECT_FALSE(cache.find("long", kNow + seconds(300)));
}

TEST(DnsCache, NET_5_that_there_is_no_such_name_is_kept_and_a_failure_is_not) {
    DnsCache cache(10);
    cache.put("absent", {Error(ErrorKind::Dns, "NXDOMAIN"), kDnsNegativeTtl}, kNow);
    EXPECT_EQ(cache.find("absent", kNow + seconds(4))->error().kind(), ErrorKind::Dns);
    EXPECT_FALSE(cache.find("absent", kNow + seconds(5)));
    // A failure also ends what was known before: it is old, or nobody would have asked.
    cache.put("failed", answer(seconds(60)), kNow);
    cache.put("failed", {Error(ErrorKind::Dns, "SERVFAIL"), {}}, kNow);
    EXPECT_FALSE(cache.find("failed", kNow));
}

TEST(DnsCache, NET_5_the_oldest_goes_when_it_is_full) {
    DnsCache cache(100);
    for (int i = 0; i < 1000; ++i) cache.put(std::to_string(i), answer(seconds(60)), kNow);
    cache.put("950", answer(seconds(60)), kNow);  // again: it is the newest now
    EXPECT_EQ(cache.size(), 100U);
    EXPECT_FALSE(cache.find("899", kNow));
    EXPECT_TRUE(cache.find("900", kNow));
    cache.put("new", answer(seconds(60)), kNow);
    EXPECT_FALSE(cache.find("900", kNow));
    EXPECT_TRUE(cache.find("950", kNow));
    DnsCache none(0);
    none.put("a", answer(seconds(60)), kNow);
    EXPECT_EQ(none.size(), 0U);
}

}  // namespace
}  // namespace weft::net
