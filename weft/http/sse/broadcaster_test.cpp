#include "weft/http/sse/broadcaster.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "weft/fiber/fiber.h"
#include "weft/http/internal/server_test.h"
#include "weft/testing/eventually.h"

namespace weft::http {
namespace {

using namespace testing;
using std::chrono::milliseconds;

using testing::kGet;

Handler handler_of(Broadcaster& broadcaster) {
    return [&](Request& request, async::Context&) { return broadcaster.subscribe(request); };
}

bool has_subscribers(Broadcaster& broadcaster, std::size_t count) {
    return weft::testing::eventually([&] { return broadcaster.counters().subscribers == count; });
}

// Connects a client, and waits until its subscription has begun.
RawClient subscribe(const TestServer& server, std::string_view request = kGet) {
    RawClient client = server.connect();
    client.send(request);
    EXPECT_TRUE(client.read_until("\r\n\r\n").starts_with("HTTP/1.1 200 OK\r\n"));
    return client;
}

std::string request_after(std::string_view id) {
    return "GET / HTTP/1.1\r\nHost: a\r\nLast-Event-ID: " + std::string(id) + "\r\n\r\n";
}

// Reads the next event, which must have this data, and returns its id.
std::string read_id(RawClient& client, std::string_view data) {
    std::string event = client.read_until("data: " + std::string(data) + "\n\n");
    std::size_t at = event.find("id: ");
    if (at == std::string::npos) return "(no id) " + event;
    return event.substr(at + 4, event.find('\n', at) - at - 4);
}

TEST(Broadcaster, HTTP_6a_all_subscribers_get_what_is_published_at_once) {
    Broadcaster broadcaster({.retry = milliseconds(700)});
    TestServer server(handler_of(broadcaster));
    RawClient first = server.connect();
    first.send(kGet);
    std::string head = first.read_until("retry: 700\n\n");
    for (const char* field : {"text/event-stream\r\n", "no-store\r\n", "x-accel-buffering: no\r\n"})
        EXPECT_NE(head.find(field), std::string::npos) << head;
    RawClient second = subscribe(server);
    ASSERT_TRUE(broadcaster.publish({.type = "news", .data = "one\ntwo"}));
    for (RawClient* client : {&first, &second}) {
        std::string event = client->read_until("\n\n\r\n");
        if (client == &second) event = client->read_until("\n\n\r\n");
        EXPECT_NE(event.find("event: news\ndata: one\ndata: two\n\n"), std::string::npos) << event;
    }
}

TEST(Broadcaster, HTTP_6a_what_was_missed_is_sent_again_by_last_event_id) {
    Broadcaster broadcaster;
    TestServer server(handler_of(broadcaster));
    RawClient before = subscribe(server);
    for (const char* data : {"a", "b", "c"}) ASSERT_TRUE(broadcaster.publish({.data = data}));
    std::string id = read_id(before, "a");
    RawClient again = subscribe(server, request_after(id));
    EXPECT_EQ(read_id(again, "b").find("(no id)"), std::string::npos);
    std::string last = read_id(again, "c");
    RawClient with_all = subscribe(server, request_after(last));
    ASSERT_TRUE(broadcaster.publish({.data = "d"}));
    std::string next = with_all.read_until("data: d\n");
    EXPECT_EQ(next.find("data: c"), std::string::npos) << next;
}

TEST(Broadcaster, HTTP_6a_after_an_id_that_is_not_known_everything_kept_is_sent) {
    Broadcaster broadcaster({.events_max = 3});
    TestServer server(handler_of(broadcaster));
    RawClient old = subscribe(server);
    for (const char* data : {"a", "b", "c", "d", "e"})
        ASSERT_TRUE(broadcaster.publish({.data = data}));
    std::string ours = read_id(old, "a");
    std::string future = ours.substr(0, ours.find('-')) + "-99999";
    for (std::string id : {ours, future, std::string("0-1"), std::string("nonsense"), ours + "x",
                           std::string("-"), std::string("18446744073709551616")}) {
        RawClient client = subscribe(server, request_after(id));
        std::string text = client.read_until("data: e\n");
        EXPECT_EQ(text.find("data: b"), std::string::npos) << id;
        EXPECT_NE(text.find("data: c"), std::string::npos) << id;
    }
}

TEST(Broadcaster, HTTP_6a_the_ring_is_bounded_by_bytes) {
    Broadcaster broadcaster({.bytes_max = 1000});
    TestServer server(handler_of(broadcaster));
    for (char letter : {'a', 'b', 'c'})
        ASSERT_TRUE(broadcaster.publish({.data = std::string(400, letter)}));
    RawClient client = subscribe(server, request_after("unknown"));
    std::string text = client.read_until(std::string(400, 'c'));
    // Search for whole texts: single letters may also occur in an id.
    EXPECT_EQ(text.find(std::string(400, 'a')), std::string::npos);
    EXPECT_NE(text.find(std::string(400, 'b')), std::string::npos);
    auto large = broadcaster.publish({.data = std::string(1000, 'd')});
    ASSERT_FALSE(large);
    EXPECT_EQ(large.error().kind(), ErrorKind::Limit);
}

TEST(Broadcaster, HTTP_6a_a_subscriber_that_is_too_slow_is_dropped_and_the_others_go_on) {
    Broadcaster broadcaster({.events_max = 16, .bytes_max = 4 << 20});
    TestServer server(handler_of(broadcaster));
    RawClient slow = subscribe(server);
    RawClient fast = subscribe(server);
    // In total more than the kernel buffers for a client that does not read.
    std::string large(200'000, 'x');
    for (int i = 0; i < 100; ++i) {
        std::string data = large + std::to_string(i);
        ASSERT_TRUE(broadcaster.publish({.data = data}));
        ASSERT_FALSE(fast.read_until("x" + std::to_string(i) + "\n").starts_with("(ended)"));
    }
    // The slow client sees its stream cut off, in the middle of an event.
    std::string rest = slow.read_to_end();
    EXPECT_FALSE(rest.ends_with("0\r\n\r\n"));
    EXPECT_TRUE(weft::testing::eventually([&] { return broadcaster.counters().dropped == 1; }));
    EXPECT_TRUE(has_subscribers(broadcaster, 1));
    ASSERT_TRUE(broadcaster.publish({.data = "still here"}));
    EXPECT_NE(read_id(fast, "still here").find('-'), std::string::npos);
}

// The ring does not drop this client, as nothing more is published: its write takes too long.
TEST(Broadcaster, HTTP_6a_a_subscriber_that_does_not_read_for_too_long_is_counted_as_dropped) {
    Broadcaster broadcaster({.events_max = 16, .bytes_max = 8 << 20});
    ServerOptions options;
    options.limits.write_time = milliseconds(50);
    TestServer server(handler_of(broadcaster), options);
    RawClient slow = subscribe(server);
    std::string large(400'000, 'x');
    for (int i = 0; i < 16; ++i) ASSERT_TRUE(broadcaster.publish({.data = large}));
    EXPECT_TRUE(weft::testing::eventually([&] { return broadcaster.counters().dropped == 1; }));
    EXPECT_TRUE(has_subscribers(broadcaster, 0));
}

TEST(Broadcaster, HTTP_6a_close_ends_the_streams_and_lets_the_server_drain) {
    Broadcaster broadcaster;
    TestServer server(handler_of(broadcaster));
    RawClient client = subscribe(server);
    ASSERT_TRUE(broadcaster.publish({.data = "last"}));
    broadcaster.close();
    EXPECT_TRUE(server.drain());
    std::string rest = client.read_to_end();
    EXPECT_NE(rest.find("data: last\n\n"), std::string::npos) << rest;
    EXPECT_TRUE(rest.ends_with("0\r\n\r\n")) << rest;
    auto late = broadcaster.publish({.data = "late"});
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().kind(), ErrorKind::Closed);
}

TEST(Broadcaster, HTTP_6a_a_stream_that_is_asked_for_after_close_ends_at_once) {
    Broadcaster broadcaster;
    TestServer server(handler_of(broadcaster));
    broadcaster.close();
    RawClient client = subscribe(server);
    EXPECT_EQ(client.read_until("0\r\n\r\n"), "0\r\n\r\n");
}

TEST(Broadcaster, HTTP_6a_a_client_that_goes_away_is_no_subscriber_any_more) {
    Broadcaster broadcaster;
    TestServer server(handler_of(broadcaster));
    {
        RawClient client = subscribe(server);
        EXPECT_EQ(broadcaster.counters().subscribers, 1U);
    }
    EXPECT_TRUE(has_subscribers(broadcaster, 0));
}

TEST(Broadcaster, HTTP_6a_silence_is_broken_by_comments) {
    Broadcaster broadcaster({.heartbeat = milliseconds(5)});
    TestServer server(handler_of(broadcaster));
    RawClient client = subscribe(server);
    EXPECT_EQ(client.read_until(": \n\n\r\n"), "4\r\n: \n\n\r\n");
    EXPECT_EQ(client.read_until(": \n\n\r\n"), "4\r\n: \n\n\r\n");
}

TEST(Broadcaster, HTTP_6a_the_deadline_of_its_context_ends_a_stream_and_is_no_silence) {
    Broadcaster broadcaster;
    TestServer server([&](Request& request, async::Context&) {
        return within(milliseconds(20), broadcaster.subscribe(request));
    });
    RawClient client = subscribe(server);
    EXPECT_EQ(client.read_to_end(), "");
    EXPECT_TRUE(has_subscribers(broadcaster, 0));
}

TEST(Broadcaster, HTTP_6a_an_event_that_cannot_be_sent_is_misuse) {
    Broadcaster broadcaster;
    for (const OutgoingEvent& event :
         {OutgoingEvent{.id = "mine", .data = "x"}, OutgoingEvent{.type = "two\nlines"},
          OutgoingEvent{.type = std::string_view("nul\0", 4)}}) {
        auto published = broadcaster.publish(event);
        ASSERT_FALSE(published);
        EXPECT_EQ(published.error().kind(), ErrorKind::Misuse);
    }
    EXPECT_EQ(broadcaster.counters().published, 0U);
}

// Each reader checks that all events come in order; a lost wake-up shows as a time-out.
TEST(Broadcaster, HTTP_6a_nothing_is_lost_or_reordered_between_workers) {
    constexpr int kEvents = 2000, kClients = 8;
    Broadcaster broadcaster({.events_max = kEvents, .bytes_max = 16 << 20});
    TestServer server(handler_of(broadcaster), {}, {.workers = 4});
    std::vector<RawClient> clients;
    for (int i = 0; i < kClients; ++i) clients.push_back(subscribe(server));
    auto publishing = server.runtime().spawn([&]() -> Result<void> {
        for (int i = 0; i < kEvents; ++i) {
            WEFT_TRY(broadcaster.publish({.data = std::to_string(i)}));
            if (i % 7 == 0) yield();
        }
        return {};
    });
    for (RawClient& client : clients) {
        for (int i = 0; i < kEvents; ++i) {
            std::string id = read_id(client, std::to_string(i));
            ASSERT_TRUE(id.ends_with("-" + std::to_string(i + 1))) << id;
        }
    }
    EXPECT_TRUE(publishing.join());
}

TEST(EventStream, HTTP_6a_a_handler_writes_events_to_one_client) {
    TestServer server([](Request&, async::Context&) {
        return event_stream([](EventStream& stream) -> Result<void> {
            EXPECT_FALSE(stream.send({.id = "a\nb"}));
            WEFT_TRY(stream.send({.id = "1", .data = "one"}));
            WEFT_TRY(stream.comment("still here"));
            return stream.send({.type = "end", .data = ""});
        });
    });
    std::string text = subscribe(server).read_until("0\r\n\r\n");
    EXPECT_EQ(text,
              "11\r\nid: 1\ndata: one\n\n\r\ne\r\n: still here\n\n\r\n"
              "13\r\nevent: end\ndata: \n\n\r\n0\r\n\r\n");
}

}  // namespace
}  // namespace weft::http
