#include "weft/http/middleware/rate_limit.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/http/internal/handler_test.h"
#include "weft/http/request.h"
#include "weft/net/address.h"

namespace weft::http {
namespace {

using namespace std::chrono_literals;
using handler_test::header;
using handler_test::MadeRequest;

const Instant kBegin = Instant(1h);

TEST(RateLimiter, HTTP_13d_a_bucket_is_emptied_at_once_and_filled_with_time) {
    auto limiter = RateLimiter::create({.requests = 10, .per = 1s, .burst = 3}).value();
    Instant now = kBegin;
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(limiter->take("a", now)) << i;
    EXPECT_EQ(limiter->take("a", now), 100ms);
    EXPECT_EQ(limiter->take("a", now + 40ms), 60ms);
    EXPECT_FALSE(limiter->take("b", now));
    // A refused request takes no token.
    EXPECT_FALSE(limiter->take("a", now + 100ms));
    EXPECT_EQ(limiter->take("a", now + 100ms), 100ms);
    // After any idle time there are no more tokens than the burst.
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(limiter->take("a", now + 24h)) << i;
    EXPECT_TRUE(limiter->take("a", now + 24h));
    // A time that lies before the last call gives no tokens.
    EXPECT_TRUE(limiter->take("a", now + 23h));
}

TEST(RateLimiter, HTTP_13e_any_number_of_clients_may_be_kept) {
    auto limiter = RateLimiter::create({.requests = 1, .per = 1h, .clients_max = SIZE_MAX}).value();
    EXPECT_FALSE(limiter->take("a", kBegin));
    EXPECT_TRUE(limiter->take("a", kBegin));
    EXPECT_EQ(limiter->clients(), 1U);
}

TEST(RateLimiter, HTTP_13d_over_a_long_time_the_rate_is_exact) {
    auto limiter = RateLimiter::create({.requests = 7, .per = 1s, .burst = 1}).value();
    int taken = 0;
    for (auto at = 0ms; at < 100s; at += 1ms) taken += limiter->take("a", kBegin + at) ? 0 : 1;
    EXPECT_NEAR(taken, 700, 7);
}

TEST(RateLimiter, HTTP_13e_memory_is_bounded_and_who_asks_often_is_remembered) {
    auto limiter =
        RateLimiter::create({.requests = 1, .per = 1h, .burst = 1, .clients_max = 160}).value();
    EXPECT_FALSE(limiter->take("often", kBegin));
    for (int i = 0; i < 100'000; ++i) {
        EXPECT_FALSE(limiter->take(std::to_string(i), kBegin));
        if (i % 5 == 0) {
            EXPECT_TRUE(limiter->take("often", kBegin)) << i;
        }
    }
    EXPECT_LE(limiter->clients(), 160U);
    // A long key is cut.
    std::string longer(kRateKeyBytesMax, 'k');
    EXPECT_FALSE(limiter->take(longer + "1", kBegin));
    EXPECT_TRUE(limiter->take(longer + "2", kBegin));
}

TEST(RateLimiter, HTTP_13e_a_subscriber_of_ipv6_is_one_client) {
    auto key = [](std::string_view text) {
        return RateLimiter::key_of(net::Address::parse(text).value());
    };
    EXPECT_EQ(key("[2001:db8:1:2::1]:1"), key("[2001:db8:1:2:ffff::7]:2"));
    EXPECT_NE(key("[2001:db8:1:2::1]:1"), key("[2001:db8:1:3::1]:1"));
    EXPECT_EQ(key("10.0.0.1:1"), key("[::ffff:10.0.0.1]:2"));
    EXPECT_NE(key("10.0.0.1:1"), key("10.0.0.2:1"));
    EXPECT_EQ(key("unix:/a"), key("unix:/b"));
}

TEST(RateLimiter, HTTP_13d_threads_share_a_bucket_and_take_no_more_than_it_has) {
    auto limiter =
        RateLimiter::create({.requests = 1, .per = 1h, .burst = 1000, .clients_max = 64}).value();
    Atomic<int> taken{0};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread) {
        threads.emplace_back([&] {
            for (int i = 0; i < 1000; ++i) {
                if (!limiter->take("shared", kBegin)) taken.fetch_add(1, std::memory_order_relaxed);
                static_cast<void>(limiter->take(std::to_string(i % 20), kBegin));
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(taken.load(std::memory_order_relaxed), 1000);
}

TEST(RateLimiter, HTTP_13d_numbers_that_are_no_rate_are_refused) {
    for (const RateLimitOptions& options :
         {RateLimitOptions{.requests = 0}, RateLimitOptions{.per = 0s},
          RateLimitOptions{.per = -1s}, RateLimitOptions{.requests = UINT64_MAX},
          RateLimitOptions{.requests = 2, .per = 1ns},
          RateLimitOptions{.requests = 1, .per = 1h, .burst = UINT64_MAX},
          RateLimitOptions{.clients_max = 0}}) {
        auto limiter = RateLimiter::create(options);
        ASSERT_FALSE(limiter);
        EXPECT_EQ(limiter.error().kind(), ErrorKind::Misuse);
    }
}

TEST(RateLimit, HTTP_13d_beyond_it_requests_get_429_with_retry_after) {
    Middleware middleware = rate_limit({.requests = 1, .per = 1h, .burst = 2}).value();
    Handler handler = middleware(
        [](Request&, async::Context&) -> Result<Response> { return Response::text("hello"); });
    auto ask_from = [&](std::string_view address) {
        MadeRequest request("GET", "/");
        request.peer() = net::Address::parse(address).value();
        return *request.send_to(handler);
    };
    EXPECT_EQ(ask_from("10.0.0.1:1").status, 200);
    EXPECT_EQ(ask_from("10.0.0.1:2").status, 200);
    Response refused = ask_from("10.0.0.1:3");
    EXPECT_EQ(refused.status, 429);
    int seconds = std::stoi(header(refused, "retry-after"));
    EXPECT_GE(seconds, 3500);
    EXPECT_LE(seconds, 3600);
    EXPECT_EQ(ask_from("10.0.0.2:1").status, 200);
}

TEST(RateLimit, HTTP_13e_clients_are_told_apart_by_an_own_key) {
    Middleware middleware =
        rate_limit({.requests = 1,
                    .per = 1h,
                    .key =
                        [](const Request& request) {
                            auto user = request.header("x-user");
                            return user ? std::optional(std::string(*user)) : std::nullopt;
                        }})
            .value();
    Handler handler = middleware(
        [](Request&, async::Context&) -> Result<Response> { return Response::text("hello"); });
    auto status = [&](std::string_view user) {
        return handler_test::ask(handler, "GET", "/", {{"x-user", user}})->status;
    };
    EXPECT_EQ(status("a"), 200);
    EXPECT_EQ(status("a"), 429);
    EXPECT_EQ(status("b"), 200);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(handler_test::ask(handler, "GET", "/")->status, 200);
}

}  // namespace
}  // namespace weft::http
