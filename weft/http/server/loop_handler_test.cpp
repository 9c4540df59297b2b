// Requests that are answered in the loop of a worker.
#include "weft/http/server/loop_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/schedule/placement.h"
#include "weft/http/internal/server_test.h"
#include "weft/http/request.h"
#include "weft/http/server/server.h"
#include "weft/sync/event.h"
#include "weft/testing/eventually.h"
#include "weft/testing/stall_watch.h"

namespace weft::http {
namespace {

using namespace std::chrono_literals;
using async::Context;
using ::testing::AssertionFailure;
using ::testing::AssertionResult;
using ::testing::AssertionSuccess;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::RawClient;
using ::testing::StartsWith;
using testing::TestServer;
using weft::testing::eventually;
using weft::testing::unless_stalled;

using testing::kGet;

std::string get(std::string_view path, std::string_view fields = "") {
    return "GET " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n" + std::string(fields) + "\r\n";
}
std::string post(std::string_view path, std::string_view body) {
    return "POST " + std::string(path) +
           " HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
           std::string(body);
}

// Says who was asked, and what the body was.
Result<Response> by_fiber(Request& request, Context&) {
    std::string body = WEFT_TRY(request.body().read_all());
    return Response::text("fiber " + std::string(request.path()) + " " + body);
}

// One worker: the tests' own records run where the handler is called.
TestServer serve(LoopHandler handler, ServerOptions options = {}) {
    options.loop_handler = std::move(handler);
    return TestServer(by_fiber, std::move(options), {.workers = 1});
}

LoopOutcome hello(Request&, LoopCall&) { return Response::text("hello"); }

// A function in the loop of the worker, from the thread of the test, which waits for its end.
void in_loop(TestServer& server, std::function<void()> function) {
    struct Record : Completion {
        std::function<void()> function;
        Event done;
    } record;
    record.function = std::move(function);
    record.run = [](Completion& completion) {
        auto& self = static_cast<Record&>(completion);
        self.function();
        self.done.set();
    };
    ASSERT_TRUE(server.runtime().post(0, record));
    ASSERT_TRUE(record.done.wait_for(testing::kPatience));
}

// Keeps every request, and tells when it has one and how it ended. Of the loop, but for the events.
struct Keeper {
    LoopHandler handler() {
        return [this](Request& request, LoopCall& call) -> LoopOutcome {
            paths.emplace_back(request.path());
            replies.push_back(call.keep([this](KeptEnd why) {
                ends.push_back(why);
                ended.set();
            }));
            kept.set();
            return Kept{};
        };
    }
    bool wait_kept() { return kept.wait_for(testing::kPatience).has_value(); }
    bool wait_ended() { return ended.wait_for(testing::kPatience).has_value(); }

    std::vector<Reply> replies;
    std::vector<std::string> paths;
    std::vector<KeptEnd> ends;
    Event kept;
    Event ended;
};

// ---------------------------------------------------------------- at once

// More connections than a turn of the loop takes: while the last of them are still in the queue,
// the first are there again.
AssertionResult is_nobody_shed(Nanoseconds queue_delay) {
    constexpr std::size_t kClients = 130;
    ServerOptions options;
    options.limits.queue_delay = queue_delay;
    TestServer server = serve(
        [](Request&, LoopCall&) -> LoopOutcome {
            Instant end = Clock::now() + 200us;
            while (Clock::now() < end) {}
            return Response::text("hello");
        },
        options);
    std::vector<RawClient> clients;
    for (std::size_t index = 0; index < kClients; ++index) clients.push_back(server.connect());
    for (RawClient& client : clients) client.send(kGet);
    Instant end = Clock::now() + 2 * queue_delay;
    while (Clock::now() < end) {
        for (RawClient& client : clients) {
            std::string response = client.read_response();
            if (!response.starts_with("HTTP/1.1 200 ")) return AssertionFailure() << response;
            client.send(kGet);
        }
    }
    std::uint64_t shed = server.server().counters().shed;
    return shed == 0 ? AssertionSuccess() : AssertionFailure() << shed << " were shed";
}

TEST(LoopHandler, HTTP_11_a_queue_that_is_never_empty_sheds_nobody) {
    // Many times what a whole round takes, also of a slow build on a busy machine.
    constexpr Nanoseconds kQueueDelay = 1500ms;
    EXPECT_TRUE(unless_stalled(kQueueDelay / 2, [&] { return is_nobody_shed(kQueueDelay); }));
}

TEST(LoopHandler, HTTP_3f_a_request_is_answered_without_a_fiber) {
    bool in_fiber = true;
    TestServer server = serve([&](Request& request, LoopCall&) -> LoopOutcome {
        in_fiber = current() != nullptr;
        return Response::text("loop " + std::string(request.path()));
    });
    RawClient client = server.connect();
    for (std::string_view path : {"/a", "/b", "/c"}) {
        client.send(get(path));
        EXPECT_THAT(client.read_response(), EndsWith("\r\n\r\nloop " + std::string(path)));
        EXPECT_FALSE(in_fiber);
    }
    ServerCounters counters = server.server().counters();
    EXPECT_EQ(counters.requests, 3U);
    EXPECT_EQ(counters.responses, 3U);
}

TEST(LoopHandler, HTTP_3f_a_handler_that_never_waits_is_called_in_the_loop) {
    bool in_fiber = true;
    TestServer server = serve(never_waits([&](Request&, Context& context) -> Result<Response> {
        in_fiber = current() != nullptr;
        return Response::text(context.is_done() ? "done" : "goes on");
    }));
    EXPECT_THAT(server.ask(get("/", "Connection: close\r\n")), EndsWith("goes on"));
    EXPECT_FALSE(in_fiber);
}

TEST(LoopHandler, HTTP_1b_pipelined_requests_are_answered_in_order_by_loop_and_fiber) {
    TestServer server = serve([&](Request& request, LoopCall&) -> LoopOutcome {
        if (request.path().starts_with("/f")) return ByFiber{};
        return Response::text("loop " + std::string(request.path()));
    });
    RawClient client = server.connect();
    std::string all;
    std::vector<std::string> expected;
    for (int i = 0; i < 200; ++i) {
        std::string path = (i % 7 == 3 ? "/f" : "/") + std::to_string(i);
        bool has_body = i % 3 == 0;
        all += has_body ? post(path, "body") : get(path);
        bool fiber = path.starts_with("/f");
        expected.push_back((fiber ? "fiber " : "loop ") + path +
                           (fiber ? (has_body ? " body" : " ") : ""));
    }
    client.send(all);
    for (const std::string& text : expected)
        EXPECT_THAT(client.read_response(), EndsWith("\r\n\r\n" + text));
}

TEST(LoopHandler, HTTP_1f_head_has_the_length_but_not_the_body) {
    TestServer server = serve(hello);
    RawClient client = server.connect();
    client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n" + get("/", "Connection: close\r\n"));
    std::string both = client.read_to_end();
    EXPECT_THAT(both, StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_EQ(both.find("Content-Length: 5\r\n"), both.rfind("Content-Length: 5\r\n", 150));
    EXPECT_THAT(both, EndsWith("Connection: close\r\n\r\nhello"));
    EXPECT_EQ(both.find("hello"), both.rfind("hello"));
}

TEST(LoopHandler, HTTP_1a_the_connection_ends_when_the_client_or_a_limit_says_so) {
    ServerOptions options;
    options.limits.requests_per_connection = 2;
    TestServer server = serve(hello, std::move(options));
    EXPECT_THAT(server.ask(get("/", "Connection: close\r\n")),
                HasSubstr("Connection: close\r\n\r\nhello"));
    std::string two = server.ask(get("/") + get("/") + get("/"));
    EXPECT_THAT(two, EndsWith("Connection: close\r\n\r\nhello"));
    EXPECT_EQ(server.server().counters().responses, 3U);
}

TEST(LoopHandler, HTTP_3f_a_body_that_came_with_the_head_is_read_in_the_loop) {
    TestServer server = serve([](Request& request, LoopCall& call) -> LoopOutcome {
        if (request.path() == "/taken") {
            std::optional<std::string_view> body = call.take_body();
            return Response::text("taken " + std::string(body.value_or("(none)")));
        }
        if (request.path() == "/unread") return Response::text("unread");
        Result<std::string> body = request.body().read_all();
        if (!body) return body.error();
        if (request.path() == "/passed") return ByFiber{};
        return Response::text("read " + *body);
    });
    RawClient client = server.connect();
    auto ask = [&](const std::string& request) {
        client.send(request);
        std::string response = client.read_response();
        return response.substr(response.find("\r\n\r\n") + 4);
    };
    EXPECT_EQ(ask(post("/taken", "abc")), "taken abc");
    EXPECT_EQ(ask(get("/taken")), "taken ");
    EXPECT_EQ(ask(post("/read", "abc")), "read abc");
    EXPECT_EQ(ask(post("/unread", "abc")), "unread");
    EXPECT_EQ(ask(post("/passed", "abc")), "fiber /passed abc");
    EXPECT_EQ(ask(post("/taken", "")), "taken ");
}

TEST(LoopHandler, HTTP_1h_a_body_over_the_limit_is_413_in_the_loop_too) {
    ServerOptions options;
    options.limits.body_bytes = 2;
    TestServer server = serve(
        [](Request& request, LoopCall& call) -> LoopOutcome {
            EXPECT_FALSE(call.take_body());
            Result<std::string> body = request.body().read_all();
            if (!body) return body.error();
            return Response::text("read");
        },
        std::move(options));
    EXPECT_THAT(server.ask(post("/", "abc")), StartsWith("HTTP/1.1 413 "));
}

TEST(LoopHandler, HTTP_3f_what_is_not_there_as_a_whole_goes_to_the_fiber) {
    Atomic<int> called{0};
    TestServer server = serve([&](Request&, LoopCall&) -> LoopOutcome {
        called.fetch_add(1, std::memory_order_relaxed);
        return Response::text("loop");
    });
    RawClient client = server.connect();
    // A head in two pieces, a body in two pieces, chunks, a body that is asked for.
    std::string cut = get("/cut");
    client.send(cut.substr(0, 10));
    EXPECT_TRUE(eventually([&] { return server.server().connections() == 1; }));
    client.send(cut.substr(10));
    EXPECT_FALSE(client.read_response().starts_with("(ended)"));
    // Whether the pieces came apart is up to the kernel.
    client.send("POST /two HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab");
    client.send("cd");
    EXPECT_FALSE(client.read_response().starts_with("(ended)"));
    called.store(0, std::memory_order_relaxed);
    client.send(
        "POST /chunks HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        "2\r\nab\r\n0\r\n\r\n");
    EXPECT_THAT(client.read_response(), EndsWith("fiber /chunks ab"));
    client.send(
        "POST /expect HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n"
        "Expect: 100-continue\r\n\r\n");
    EXPECT_THAT(client.read_until("\r\n\r\n"), StartsWith("HTTP/1.1 100 "));
    client.send("ab");
    EXPECT_THAT(client.read_response(), EndsWith("fiber /expect ab"));
    EXPECT_EQ(called.load(std::memory_order_relaxed), 0);
    // And the loop has it again.
    client.send(kGet);
    EXPECT_THAT(client.read_response(), EndsWith("loop"));
}

TEST(LoopHandler, HTTP_1h_a_head_that_is_malformed_is_refused) {
    TestServer server = serve(hello);
    EXPECT_THAT(server.ask("GET / HTTP/1.1\r\nbad field\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
    EXPECT_EQ(server.server().counters().bad, 1U);
}

TEST(LoopHandler, HTTP_3a_what_a_handler_throws_or_returns_as_error_is_500) {
    TestServer server = serve([](Request& request, LoopCall&) -> LoopOutcome {
        if (request.path() == "/throws") throw std::string("a word");
        if (request.path() == "/nobody") return Kept{};
        return Error(ErrorKind::Other, "in vain");
    });
    RawClient client = server.connect();
    for (std::string_view path : {"/throws", "/error", "/nobody"}) {
        client.send(get(path));
        EXPECT_THAT(client.read_response(), StartsWith("HTTP/1.1 500 ")) << path;
    }
}

TEST(LoopHandler, HTTP_3b_large_produced_and_upgraded_responses_go_on_by_a_fiber) {
    TestServer server = serve([](Request& request, LoopCall&) -> LoopOutcome {
        if (request.path() == "/large") return Response::text(std::string(8 << 20, 'x'));
        if (request.path() == "/small") return Response::text("small");
        if (request.path() == "/upgrade") {
            Response response;
            response.status = 101;
            response.headers.set("upgrade", "echo");
            response.upgrade = [](Upgraded& upgraded) {
                static_cast<void>(upgraded.stream.write_all(upgraded.early));
            };
            return response;
        }
        return Response::stream("text/plain", [](BodyWriter& writer) -> Result<void> {
            EXPECT_TRUE(current() != nullptr);
            return writer.write("produced");
        });
    });
    RawClient client = server.connect();
    client.send(get("/small") + get("/large") + get("/small") + get("/produced") + get("/small"));
    EXPECT_THAT(client.read_response(), EndsWith("small"));
    EXPECT_THAT(client.read_response(), EndsWith(std::string(8 << 20, 'x')));
    EXPECT_THAT(client.read_response(), EndsWith("small"));
    EXPECT_THAT(client.read_until("0\r\n\r\n"), HasSubstr("produced"));
    EXPECT_THAT(client.read_response(), EndsWith("small"));
    client.send(get("/upgrade", "Connection: upgrade\r\nUpgrade: echo\r\n") + "early");
    EXPECT_THAT(client.read_to_end(), EndsWith("\r\n\r\nearly"));
}

// Answers that the client does not read fill the connection; the loop does not wait for it.
TEST(LoopHandler, HTTP_3b_a_client_that_does_not_read_holds_nobody_else_up) {
    TestServer server = serve([](Request& request, LoopCall&) -> LoopOutcome {
        if (request.path() == "/hello") return Response::text("hello");
        return Response::text(std::string(4096, 'x'));
    });
    constexpr int kRequests = 4000;  // 16 MiB of answers
    RawClient slow = server.connect();
    std::string all;
    for (int i = 0; i < kRequests; ++i) all += get("/");
    std::size_t sent = 0;
    while (sent < all.size()) {
        auto count = slow.socket().try_write(
            std::vector<Bytes>{as_bytes(std::string_view(all).substr(sent))});
        ASSERT_TRUE(count);
        if (*count == 0) break;
        sent += *count;
    }
    RawClient client = server.connect();
    client.send(get("/hello"));
    EXPECT_THAT(client.read_response(), EndsWith("hello"));
    std::size_t requests = 0;
    for (std::size_t whole = get("/").size(); whole <= sent; whole += get("/").size()) ++requests;
    for (std::size_t i = 0; i < requests; ++i) {
        std::string response = slow.read_response();
        ASSERT_TRUE(response.ends_with(std::string(4096, 'x'))) << i;
    }
}

TEST(LoopHandler, HTTP_3d_what_the_handler_has_spawned_ends_with_the_response) {
    Atomic<bool> ended{false};
    TestServer server = serve([&](Request&, LoopCall& call) -> LoopOutcome {
        spawn(
            [&] {
                Result<void> waited = Event().wait();
                ended.store(!waited, std::memory_order_release);
            },
            {.token = call.context().token().state()});
        return Response::text("spawned");
    });
    RawClient client = server.connect();
    client.send(kGet);
    EXPECT_THAT(client.read_response(), EndsWith("spawned"));
    EXPECT_TRUE(eventually([&] { return ended.load(std::memory_order_acquire); }));
}

TEST(LoopHandler, HTTP_10d_the_access_log_has_what_the_loop_has_answered) {
    std::vector<std::string> lines;
    ServerOptions options;
    options.on_access = [&](const AccessRecord& record) {
        lines.push_back(std::string(record.request->path()) + " " + std::to_string(record.status) +
                        " " + std::to_string(record.body_bytes) +
                        (record.complete ? " complete" : ""));
    };
    TestServer server = serve(hello, std::move(options));
    server.ask(get("/a", "Connection: close\r\n"));
    server.ask(get("/b", "Connection: close\r\n"));
    EXPECT_TRUE(server.drain());
    EXPECT_EQ(lines, (std::vector<std::string>{"/a 200 5 complete", "/b 200 5 complete"}));
}

// ---------------------------------------------------------------- kept

TEST(LoopHandler, HTTP_3g_a_request_that_is_kept_is_answered_later) {
    Keeper keeper;
    TestServer server = serve(keeper.handler());
    RawClient client = server.connect();
    client.send(post("/a", "body") + get("/b"));
    ASSERT_TRUE(keeper.wait_kept());
    in_loop(server, [&] {
        // The second is not looked at before the first is answered.
        ASSERT_EQ(keeper.paths, std::vector<std::string>{"/a"});
        keeper.kept.reset();
        EXPECT_TRUE(keeper.replies[0]);
        EXPECT_TRUE(keeper.replies[0].answer(Response::text("first")));
        EXPECT_FALSE(keeper.replies[0]);
        EXPECT_FALSE(keeper.replies[0].answer(Response::text("again")));
        EXPECT_EQ(keeper.paths.size(), 1U);
    });
    EXPECT_THAT(client.read_response(), EndsWith("first"));
    ASSERT_TRUE(keeper.wait_kept());
    in_loop(server, [&] { EXPECT_TRUE(keeper.replies[1].answer(Response::text("second"))); });
    EXPECT_THAT(client.read_response(), EndsWith("second"));
    in_loop(server, [&] { EXPECT_TRUE(keeper.ends.empty()); });
    EXPECT_EQ(server.server().counters().responses, 2U);
}

TEST(LoopHandler, HTTP_3g_the_answer_may_come_within_the_call) {
    TestServer server = serve([](Request& request, LoopCall& call) -> LoopOutcome {
        Reply reply = call.keep([](KeptEnd) { ADD_FAILURE() << "it was answered"; });
        if (request.path() == "/error") {
            reply.answer(Error(ErrorKind::Other, "in vain"));
        } else if (request.path() != "/dropped") {
            Reply moved = std::move(reply);
            EXPECT_FALSE(reply);
            EXPECT_TRUE(moved.answer(Response::text("within")));
        }
        return Kept{};
    });
    RawClient client = server.connect();
    client.send(get("/") + get("/error") + get("/dropped") + get("/"));
    EXPECT_THAT(client.read_response(), EndsWith("within"));
    EXPECT_THAT(client.read_response(), StartsWith("HTTP/1.1 500 "));
    EXPECT_THAT(client.read_response(), StartsWith("HTTP/1.1 500 "));
    EXPECT_THAT(client.read_response(), EndsWith("within"));
}

// Whoever says keep() and then something else has no reply left.
TEST(LoopHandler, HTTP_3g_a_reply_is_over_when_the_call_has_another_outcome) {
    std::vector<Reply> replies;
    TestServer server = serve([&](Request& request, LoopCall& call) -> LoopOutcome {
        replies.push_back(call.keep([](KeptEnd) { ADD_FAILURE() << "it was answered"; }));
        if (request.path() == "/fiber") return ByFiber{};
        return Response::text("now");
    });
    RawClient client = server.connect();
    client.send(get("/") + get("/fiber"));
    EXPECT_THAT(client.read_response(), EndsWith("now"));
    EXPECT_THAT(client.read_response(), EndsWith("fiber /fiber "));
    in_loop(server, [&] {
        for (Reply& reply : replies) EXPECT_FALSE(reply.answer(Response::text("late")));
        replies.clear();
    });
}

TEST(LoopHandler, HTTP_3g_a_reply_that_is_dropped_is_500) {
    Keeper keeper;
    TestServer server = serve(keeper.handler());
    RawClient client = server.connect();
    client.send(kGet);
    ASSERT_TRUE(keeper.wait_kept());
    in_loop(server, [&] { keeper.replies.clear(); });
    EXPECT_THAT(client.read_response(), StartsWith("HTTP/1.1 500 "));
}

TEST(LoopHandler, HTTP_3g_the_answer_to_a_kept_request_may_be_large_or_produced) {
    Keeper keeper;
    TestServer server = serve(keeper.handler());
    RawClient client = server.connect();
    client.send(get("/a") + get("/b"));
    ASSERT_TRUE(keeper.wait_kept());
    in_loop(server, [&] {
        keeper.kept.reset();
        keeper.replies[0].answer(Response::text(std::string(4 << 20, 'x')));
    });
    EXPECT_THAT(client.read_response(), EndsWith(std::string(4 << 20, 'x')));
    ASSERT_TRUE(keeper.wait_kept());
    in_loop(server, [&] {
        keeper.replies[1].answer(Response::stream(
            "text/plain", [](BodyWriter& writer) { return writer.write("produced"); }));
    });
    EXPECT_THAT(client.read_until("0\r\n\r\n"), HasSubstr("produced"));
}

TEST(LoopHandler, HTTP_3e_a_kept_request_ends_when_its_client_goes_away) {
    for (bool half : {false, true}) {
        Keeper keeper;
        TestServer server = serve(keeper.handler());
        RawClient client = server.connect();
        client.send(kGet);
        ASSERT_TRUE(keeper.wait_kept());
        half ? client.finish() : client.close();
        ASSERT_TRUE(keeper.wait_ended());
        in_loop(server, [&] {
            EXPECT_EQ(keeper.ends, std::vector{KeptEnd::ClientGone});
            EXPECT_FALSE(keeper.replies[0].answer(Response::text("late")));
        });
        EXPECT_TRUE(eventually([&] { return server.server().connections() == 0; }));
        EXPECT_EQ(server.server().counters().gone, 1U);
    }
}

TEST(LoopHandler, HTTP_3e_a_half_closed_client_gets_its_answer_if_that_is_allowed) {
    Keeper keeper;
    ServerOptions options;
    options.half_close = HalfClose::IsAllowed;
    TestServer server = serve(keeper.handler(), std::move(options));
    RawClient client = server.connect();
    client.send(kGet);
    client.finish();
    ASSERT_TRUE(keeper.wait_kept());
    in_loop(server, [&] { EXPECT_TRUE(keeper.replies[0].answer(Response::text("here"))); });
    EXPECT_THAT(client.read_to_end(), EndsWith("here"));
}

TEST(LoopHandler, HTTP_3d_the_context_of_a_kept_request_ends_with_its_client) {
    Event waits;
    Atomic<bool> noticed{false};
    std::optional<Reply> reply;
    TestServer server = serve([&](Request&, LoopCall& call) -> LoopOutcome {
        spawn(
            [&] {
                waits.set();
                Result<void> waited = Event().wait();
                noticed.store(!waited, std::memory_order_release);
            },
            {.token = call.context().token().state()});
        reply = call.keep(nullptr);
        return Kept{};
    });
    RawClient client = server.connect();
    client.send(kGet);
    ASSERT_TRUE(waits.wait_for(testing::kPatience));
    client.close();
    EXPECT_TRUE(eventually([&] { return noticed.load(std::memory_order_acquire); }));
    EXPECT_TRUE(eventually([&] { return server.server().connections() == 0; }));
    in_loop(server, [&] { EXPECT_FALSE(*reply); });
}

TEST(LoopHandler, HTTP_4j_a_kept_request_whose_time_is_over_gets_503) {
    Keeper keeper;
    ServerOptions options;
    options.limits.request_time = 20ms;
    TestServer server = serve(keeper.handler(), std::move(options));
    RawClient client = server.connect();
    client.send(kGet);
    EXPECT_THAT(client.read_response(), StartsWith("HTTP/1.1 503 "));
    ASSERT_TRUE(keeper.wait_ended());
    in_loop(server, [&] { EXPECT_EQ(keeper.ends, std::vector{KeptEnd::OutOfTime}); });
    EXPECT_EQ(server.server().counters().timeouts, 1U);
    // The connection goes on.
    client.send(kGet);
    EXPECT_THAT(client.read_response(), StartsWith("HTTP/1.1 503 "));
}

TEST(LoopHandler, HTTP_4g_a_drain_waits_for_a_kept_request) {
    Keeper keeper;
    TestServer server = serve(keeper.handler());
    RawClient client = server.connect();
    client.send(kGet);
    ASSERT_TRUE(keeper.wait_kept());
    server.server().drain();
    // An idle one is gone at once, or served; the kept one is still there.
    EXPECT_TRUE(eventually([&] { return server.server().connections() == 1; }));
    in_loop(server, [&] { EXPECT_TRUE(keeper.replies[0].answer(Response::text("at last"))); });
    EXPECT_THAT(client.read_to_end(), HasSubstr("Connection: close\r\n\r\nat last"));
    client.close();
    EXPECT_TRUE(server.drain());
    EXPECT_TRUE(keeper.ends.empty());
}

TEST(LoopHandler, HTTP_4g_close_ends_kept_requests) {
    Keeper keeper;
    std::string heard;
    {
        TestServer server = serve(keeper.handler());
        RawClient client = server.connect();
        client.send(kGet);
        ASSERT_TRUE(keeper.wait_kept());
        server.server().close();
        heard = client.read_to_end();
    }
    EXPECT_THAT(heard, StartsWith("HTTP/1.1 503 "));
    EXPECT_EQ(keeper.ends, std::vector{KeptEnd::ServerCloses});
    // After its server.
    EXPECT_FALSE(keeper.replies[0].answer(Response::text("late")));
}

TEST(LoopHandler, HTTP_11a_kept_requests_count_among_those_in_handlers) {
    Keeper keeper;
    ServerOptions options;
    options.limits.requests = 1;
    options.limits.queue_delay = 500ms;  // those who are served may be looked at late
    TestServer server = serve(keeper.handler(), std::move(options));
    RawClient first = server.connect();
    first.send(kGet);
    ASSERT_TRUE(keeper.wait_kept());
    RawClient second = server.connect();
    second.send(kGet);
    EXPECT_THAT(second.read_response(), HasSubstr("retry-after: 1"));
    EXPECT_EQ(server.server().counters().shed, 1U);
    in_loop(server, [&] {
        keeper.kept.reset();
        keeper.replies[0].answer(Response::text("done"));
    });
    EXPECT_THAT(first.read_response(), EndsWith("done"));
    // Its place is free again.
    second.send(kGet);
    ASSERT_TRUE(keeper.wait_kept());
    in_loop(server, [&] { keeper.replies[1].answer(Response::text("done")); });
    EXPECT_THAT(second.read_response(), EndsWith("done"));
}

// What was answered before leaves although the last request is kept, also when it takes long.
TEST(LoopHandler, HTTP_1b_earlier_answers_do_not_wait_for_a_kept_request) {
    Keeper keeper;
    LoopHandler keeps = keeper.handler();
    TestServer server = serve([&](Request& request, LoopCall& call) -> LoopOutcome {
        if (request.path() == "/kept") return keeps(request, call);
        return Response::text(std::string(4000, 'x'));
    });
    constexpr int kRequests = 2000;  // 8 MiB of answers
    RawClient client = server.connect();
    std::string all;
    for (int i = 0; i < kRequests; ++i) all += get("/");
    client.send(all + get("/kept"));
    for (int i = 0; i < kRequests; ++i) {
        std::string response = client.read_response();
        ASSERT_TRUE(response.ends_with(std::string(4000, 'x'))) << i;
    }
    ASSERT_TRUE(keeper.wait_kept());
    in_loop(server, [&] { keeper.replies[0].answer(Response::text("done")); });
    EXPECT_THAT(client.read_response(), EndsWith("done"));
}

}  // namespace
}  // namespace weft::http
