// The client goes away: whoever could notice does, however and whenever it asks.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "weft/async/context.h"
#include "weft/base/atomic.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/http/internal/server_test.h"
#include "weft/http/request.h"
#include "weft/http/server/server.h"
#include "weft/sync/event.h"
#include "weft/testing/eventually.h"

namespace weft::http {
namespace {

using namespace std::chrono_literals;
using async::Context;
using testing::RawClient;
using testing::TestServer;

using testing::kGet;

// Where nothing can be cancelled, so that nothing is asked.
void wait_unasked(Event& event) {
    shield(Deadline::after(testing::kPatience), [&] { static_cast<void>(event.wait()); });
}

// `notices` is called in a handler whose client leaves, before it is called or meanwhile; it gives
// true when it has noticed.
void expect_noticed(const std::function<bool(Context&)>& notices) {
    for (bool has_left : {false, true}) {
        Event entered;
        Event left;
        Atomic<int> noticed{0};
        TestServer server([&](Request&, Context& context) -> Result<Response> {
            entered.set();
            if (has_left) wait_unasked(left);
            // Release: 2 is no, 1 is yes.
            noticed.store(notices(context) ? 1 : 2, std::memory_order_release);
            return Response::text("late");
        });
        RawClient client = server.connect();
        client.send(kGet);
        ASSERT_TRUE(entered.wait_for(testing::kPatience));
        client.close();
        left.set();
        EXPECT_TRUE(weft::testing::eventually(
            [&] { return noticed.load(std::memory_order_acquire) != 0; }));
        EXPECT_EQ(noticed.load(std::memory_order_acquire), 1) << has_left;
    }
}

TEST(HangUp, HTTP_3d_a_handler_that_waits_notices) {
    expect_noticed([](Context&) {
        Result<void> waited = Event().wait_for(testing::kPatience);
        return !waited && waited.error().kind() == ErrorKind::Cancelled;
    });
}

TEST(HangUp, HTTP_3d_a_handler_that_only_asks_notices) {
    expect_noticed([](Context& context) {
        return weft::testing::eventually([&] {
            yield();
            return context.is_done();
        });
    });
}

TEST(HangUp, HTTP_3d_a_context_below_notices) {
    expect_noticed([](Context& context) {
        auto below = context.with_timeout(std::chrono::hours(1));
        CancelScope ambient(below.context.token());
        Result<void> waited = Event().wait_for(testing::kPatience);
        return !waited && below.context.is_done();
    });
}

TEST(HangUp, HTTP_3d_what_the_handler_has_spawned_notices) {
    expect_noticed([](Context&) {
        bool noticed = false;
        Event ended;
        spawn_detached([&] {
            Result<void> waited = Event().wait_for(testing::kPatience);
            noticed = !waited && waited.error().kind() == ErrorKind::Cancelled;
            ended.set();
        }).value();
        wait_unasked(ended);
        return noticed;
    });
}

TEST(HangUp, HTTP_3d_a_thread_with_a_copy_of_the_context_notices) {
    expect_noticed([](Context& context) {
        Atomic<bool> noticed{false};
        Event ended;
        std::thread thread([&, copy = context] {
            bool done = weft::testing::eventually([&] { return copy.is_done(); });
            noticed.store(done, std::memory_order_release);
            ended.set();
        });
        wait_unasked(ended);
        thread.join();
        return noticed.load(std::memory_order_acquire);
    });
}

TEST(HangUp, HTTP_3d_a_listener_notices) {
    expect_noticed([](Context& context) {
        struct Listener : CancelListener {
            Listener() : CancelListener(on_cancel) {}
            static void on_cancel(CancelListener& self, CancelReason) {
                static_cast<Listener&>(self).told.set();
            }
            Event told;
        } listener;
        listener.listen(context.token().state());
        bool told = shield(Deadline::after(testing::kPatience),
                           [&] { return listener.told.wait().has_value(); });
        listener.stop();
        return told;
    });
}

// One that asks, one that does not, and then one whose client leaves: each time anew.
TEST(HangUp, HTTP_3d_it_is_noticed_after_requests_that_asked_and_that_did_not) {
    Event entered;
    Atomic<bool> noticed{false};
    TestServer server([&](Request& request, Context& context) -> Result<Response> {
        if (request.path() == "/quick") return Response::text("quick");
        if (request.path() == "/asks")
            return Response::text(context.is_done() ? "done" : "goes on");
        entered.set();
        Result<void> waited = Event().wait_for(testing::kPatience);
        noticed.store(!waited && context.is_done(), std::memory_order_release);
        return Response::text("late");
    });
    for (bool together : {false, true}) {
        noticed.store(false, std::memory_order_relaxed);
        entered.reset();
        RawClient client = server.connect();
        std::string all;
        for (std::string_view path : {"/asks", "/quick", "/asks", "/quick", "/waits"}) {
            std::string request = "GET " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n\r\n";
            all += request;
            if (together) continue;
            client.send(request);
            if (path == "/waits") continue;
            EXPECT_NE(client.read_response(), "");
        }
        if (together) client.send(all);
        ASSERT_TRUE(entered.wait_for(testing::kPatience));
        client.close();
        EXPECT_TRUE(weft::testing::eventually([&] {
            return noticed.load(std::memory_order_acquire);
        })) << together;
    }
}

TEST(HangUp, HTTP_3d_one_who_keeps_the_context_may_ask_when_the_request_is_over) {
    Context kept;
    TestServer server([&](Request&, Context& context) -> Result<Response> {
        kept = context;
        return Response::text("kept");
    });
    RawClient client = server.connect();
    client.send(kGet);
    EXPECT_NE(client.read_response(), "");
    EXPECT_FALSE(kept.is_done());
    client.send(kGet);
    EXPECT_NE(client.read_response(), "");
    client.close();
    EXPECT_FALSE(kept.is_done());
    kept = {};
}

}  // namespace
}  // namespace weft::http
