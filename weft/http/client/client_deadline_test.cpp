// Many requests under one deadline: those that it ends have timed out, and no other error occurs.
#include <gtest/gtest.h>

#include <string>

#include "weft/async/pool.h"
#include "weft/async/retry.h"
#include "weft/base/atomic.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/http/client/client.h"
#include "weft/http/request.h"
#include "weft/http/server/server.h"
#include "weft/sync/event.h"
#include "weft/testing/captured_log.h"
#include "weft/testing/eventually.h"
#include "weft/testing/sockets.h"

namespace weft::http {
namespace {

using namespace std::chrono_literals;
using async::Context;

// The atomics only count; no other memory is read through them.
constexpr auto kRelaxed = std::memory_order_relaxed;

struct Tally {
    Atomic<int> done{0};
    Atomic<int> timed_out{0};
    Atomic<int> others{0};

    void note(const Result<std::string>& outcome) {
        if (outcome) {
            done.fetch_add(1, kRelaxed);
        } else if (outcome.error().kind() == ErrorKind::TimedOut) {
            timed_out.fetch_add(1, kRelaxed);
        } else {
            others.fetch_add(1, kRelaxed);
            ADD_FAILURE() << outcome.error().message();
        }
    }
};

// Sends more requests than the server can answer before the deadline, and repeats each until then.
Result<void> ask_many(Client& client, const std::string& url, Nanoseconds time, Tally& tally) {
    auto limited = Context::current().with_timeout(time);
    async::Pool pool =
        WEFT_TRY(async::Pool::create(limited.context, {.workers = 16, .queue_size = 16}));
    for (int i = 0; i < 100; ++i) {
        WEFT_TRY(pool.submit([&] {
            auto attempt = [&](Context&) -> Result<std::string> {
                ClientResponse response = WEFT_TRY(client.get(url));
                return response.read_all();
            };
            tally.note(async::retry({.attempts_max = 3, .delay_first = 5ms}, attempt));
        }));
    }
    static_cast<void>(pool.close());
    return {};
}

TEST(ClientDeadline, NET_3b_under_a_total_deadline_all_is_done_or_timed_out) {
    weft::testing::CapturedLog captured;
    weft::testing::in_runtime(2, []() -> Result<void> {
        Atomic<int> in_handlers{0};
        Server server([&](Request&, Context&) -> Result<Response> {
            in_handlers.fetch_add(1, kRelaxed);
            Result<void> waited = Event().wait_for(50ms);  // what a slow service does
            in_handlers.fetch_sub(1, kRelaxed);
            WEFT_TRY(CancelToken::current().check());
            EXPECT_EQ(waited.error().kind(), ErrorKind::TimedOut);
            return Response::text("x");
        });
        auto address = WEFT_TRY(server.listen(net::Address::loopback(0)));
        auto serving = spawn([&] { return server.serve(); });
        Client client;
        for (int round = 0; round < 10; ++round) {
            Tally tally;
            Result<void> asked =
                ask_many(client, "http://" + address.to_string() + "/", 165ms + round * 1ms, tally);
            EXPECT_TRUE(asked);
            EXPECT_EQ(tally.done.load(kRelaxed) + tally.timed_out.load(kRelaxed), 100);
            EXPECT_EQ(tally.others.load(kRelaxed), 0);
            EXPECT_GT(tally.timed_out.load(kRelaxed), 0);
        }
        EXPECT_TRUE(weft::testing::eventually([&] { return in_handlers.load(kRelaxed) == 0; }));
        server.close();
        return serving.join();
    });
    // Requests that end as expected are counted, not logged.
    EXPECT_FALSE(captured.contains("ended with an error"));
    EXPECT_FALSE(captured.contains("failed"));
}

}  // namespace
}  // namespace weft::http
