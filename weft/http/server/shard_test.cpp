#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <vector>

#include "weft/http/server/internal/core.h"

namespace weft::http {
namespace {

using namespace std::chrono_literals;

class Exchanges {
public:
    void take(std::size_t count) {
        while (count-- > 0) taken_.push_back(shard_.take_exchange());
    }
    void give_back() {
        for (auto& exchange : taken_) shard_.give_back(std::move(exchange));
        taken_.clear();
    }
    // Never when there is none.
    Deadline look(Instant now) { return shard_.close_idle(now); }

private:
    ServerCore core_{[](Request&, async::Context&) { return Response::text(""); }, {}};
    ServerShard shard_{core_, 0, 0, CancelToken()};
    std::vector<std::unique_ptr<Exchange>> taken_;
};

TEST(Shard, HTTP_4_what_a_burst_needed_is_freed_when_nobody_has_needed_it_for_a_while) {
    Exchanges exchanges;
    Instant now = Clock::now();
    EXPECT_EQ(exchanges.look(now), Deadline::never());
    exchanges.take(100);
    exchanges.give_back();
    now += 11s;
    EXPECT_FALSE(exchanges.look(now).is_never());
    now += 11s;
    EXPECT_EQ(exchanges.look(now), Deadline::never());
}

TEST(Shard, HTTP_4_exchanges_that_are_in_use_now_and_then_are_kept) {
    Exchanges exchanges;
    Instant now = Clock::now();
    exchanges.take(100);
    exchanges.give_back();
    exchanges.look(now);
    for (int round = 0; round < 3; ++round) {
        exchanges.take(1);
        EXPECT_FALSE(exchanges.look(now).is_never()) << "one is active";
        exchanges.give_back();
        now += 11s;
        EXPECT_FALSE(exchanges.look(now).is_never()) << "round " << round;
    }
    now += 11s;
    EXPECT_EQ(exchanges.look(now), Deadline::never());
}

}  // namespace
}  // namespace weft::http
