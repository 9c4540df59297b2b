// The scope of a request: what a handler spawns ends before its connection answers the next one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>

#include "weft/async/scope.h"
#include "weft/base/atomic.h"
#include "weft/fiber/fiber.h"
#include "weft/http/internal/server_test.h"
#include "weft/http/server/server.h"
#include "weft/sync/event.h"
#include "weft/testing/eventually.h"

namespace weft::http {
namespace {

using namespace std::chrono_literals;
using async::Context;
using ::testing::EndsWith;
using testing::RawClient;
using testing::TestServer;

constexpr auto kRelaxed = std::memory_order_relaxed;
using testing::kGet;

TEST(RequestScope, SCP_1e_what_a_handler_spawns_ends_before_the_next_request) {
    Atomic<int> running{0};
    Atomic<int> most{0};
    TestServer server([&](Request&, Context&) -> Result<Response> {
        most.store(std::max(most.load(kRelaxed), running.load(kRelaxed)), kRelaxed);
        running.fetch_add(1, kRelaxed);
        spawn([&] {
            // Told to end when the response is written; it takes its time.
            static_cast<void>(Event().wait());
            shield(Deadline::after(60s), [] { yield(); });
            running.fetch_sub(1, kRelaxed);
        });
        return Response::text("done");
    });
    RawClient client = server.connect();
    client.send(std::string(kGet) + std::string(kGet));  // pipelined
    for (int i = 0; i < 2; ++i) EXPECT_THAT(client.read_response(), EndsWith("done"));
    client.send(kGet);
    EXPECT_THAT(client.read_response(), EndsWith("done"));
    EXPECT_TRUE(weft::testing::eventually([&] { return running.load(kRelaxed) == 0; }));
    EXPECT_EQ(most.load(kRelaxed), 0);
}

TEST(RequestScope, SCP_1e_the_client_does_not_wait_for_what_is_left_running) {
    auto go_on = std::make_shared<Event>();
    TestServer server([go_on](Request&, Context&) -> Result<Response> {
        spawn([go_on] { shield(Deadline::after(60s), [&] { static_cast<void>(go_on->wait()); }); });
        return Response::text("done");
    });
    RawClient client = server.connect();
    client.send(kGet);
    EXPECT_THAT(client.read_response(), EndsWith("done"));
    go_on->set();
}

TEST(RequestScope, SCP_1e_cleanups_run_in_reverse_order_once_per_request) {
    std::string order;
    Atomic<int> requests{0};
    TestServer server([&](Request&, Context&) -> Result<Response> {
        order += "h";
        WEFT_TRY(async::defer([&] {
            order += "1";
            requests.fetch_add(1, std::memory_order_release);
        }));
        WEFT_TRY(async::defer([&] { order += "2"; }));
        return Response::text("done");
    });
    RawClient client = server.connect();
    for (int round = 1; round <= 3; ++round) {
        client.send(kGet);
        EXPECT_THAT(client.read_response(), EndsWith("done"));
        EXPECT_TRUE(weft::testing::eventually(
            [&] { return requests.load(std::memory_order_acquire) == round; }));
    }
    EXPECT_EQ(order, "h21h21h21");
}

TEST(RequestScope, SCP_1e_cleanups_run_when_the_handler_fails_or_throws) {
    Atomic<int> cleaned{0};
    TestServer server([&](Request& request, Context&) -> Result<Response> {
        WEFT_TRY(async::defer([&] { cleaned.fetch_add(1, kRelaxed); }));
        if (request.path() == "/throw") throw std::runtime_error("thrown");
        return Error(ErrorKind::Other, "failed");
    });
    for (std::string_view path : {"/throw", "/fail"}) {
        RawClient client = server.connect();
        client.send("GET " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n\r\n");
        EXPECT_THAT(client.read_response(), ::testing::StartsWith("HTTP/1.1 500 "));
    }
    EXPECT_TRUE(weft::testing::eventually([&] { return cleaned.load(kRelaxed) == 2; }));
}

TEST(RequestScope, SCP_1e_a_detached_fiber_outlives_its_request) {
    auto go_on = std::make_shared<Event>();
    auto ended = std::make_shared<Event>();
    TestServer server([&](Request&, Context&) -> Result<Response> {
        spawn([go_on, ended] {
            EXPECT_TRUE(go_on->wait());
            ended->set();
        }).detach();
        return Response::text("done");
    });
    RawClient client = server.connect();
    for (int i = 0; i < 2; ++i) {
        client.send(kGet);
        EXPECT_THAT(client.read_response(), EndsWith("done"));
    }
    go_on->set();
    EXPECT_TRUE(ended->wait_for(60s));
}

}  // namespace
}  // namespace weft::http
