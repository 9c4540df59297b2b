// Long exchanges: event streams, uploads, early answers, upgraded connections.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/async/group.h"
#include "weft/base/atomic.h"
#include "weft/http/internal/server_test.h"
#include "weft/http/proxy/internal/frame_boundary.h"
#include "weft/http/proxy/internal/proxy_test.h"
#include "weft/http/proxy/reverse_proxy.h"
#include "weft/http/request.h"
#include "weft/http/sse/event_stream.h"
#include "weft/http/websocket/upgrade.h"
#include "weft/sync/event.h"
#include "weft/testing/scale.h"

namespace weft::http {
namespace {

using namespace testing;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
constexpr std::string_view kEventStream =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

TEST(ProxyStream, HTTP_7_events_leave_as_they_come) {
    in_runtime(1, [] {
        Event seen;
        return with_upstream(
            [&](Peer& peer) {
                peer.read_request();
                peer.say(kEventStream);
                peer.say("9\r\ndata: 1\n\n\r\n");
                EXPECT_TRUE(seen.wait_for(seconds(10)));
                peer.say("9\r\ndata: 2\n\n\r\n0\r\n\r\n");
            },
            [&](const Address& address, ReverseProxy&) -> Result<void> {
                RawPeer client = WEFT_TRY(RawPeer::connect(address));
                client.say(kGet);
                EXPECT_TRUE(has(client.read_until("data: 1\n\n"), "text/event-stream"));
                seen.set();
                EXPECT_TRUE(has(client.read_until("0\r\n\r\n"), "data: 2\n\n"));
                return {};
            },
            // An event stream may be silent for longer than other bodies.
            {.upstreams = {}, .timeouts = {.idle = milliseconds(1)}});
    });
}

// As when the routes of an application are replaced while it is asked.
TEST(ProxyStream, HTTP_7_a_response_may_outlive_its_proxy) {
    in_runtime(1, [] {
        Event is_gone;
        return with_server(
            [&](Peer& peer) {
                peer.read_request();
                peer.say(kEventStream);
                EXPECT_TRUE(is_gone.wait_for(seconds(10)));
                peer.say("9\r\ndata: 1\n\n\r\n0\r\n\r\n");
            },
            [&](const Address& upstream) -> Result<void> {
                ReverseProxy made =
                    WEFT_TRY(ReverseProxy::create({.upstreams = {url_of(upstream)}}));
                std::optional<ReverseProxy> proxy(std::move(made));
                Server server([&](Request& request, async::Context& context) -> Result<Response> {
                    Result<Response> response = proxy->handler()(request, context);
                    proxy.reset();
                    return response;
                });
                Address address = WEFT_TRY(server.listen(Address::loopback(0)));
                auto serving = server.start();
                RawPeer client = WEFT_TRY(RawPeer::connect(address));
                client.say(kGet);
                EXPECT_TRUE(has(client.read_head(), "Via: 1.1 weft\r\n"));
                is_gone.set();
                EXPECT_TRUE(has(client.read_until("0\r\n\r\n"), "data: 1\n\n"));
                server.close();
                return serving.join();
            });
    });
}

TEST(ProxyStream, HTTP_4g_an_event_stream_ends_whole_when_the_proxy_drains) {
    Event never;
    TestServer upstream([&](Request&, async::Context&) {
        return event_stream([&](EventStream& stream) -> Result<void> {
            WEFT_TRY(stream.send({.data = "1"}));
            return never.wait();
        });
    });
    ReverseProxy proxy =
        ReverseProxy::create({.upstreams = {"http://" + upstream.address().to_string()}}).value();
    TestServer server(proxy.handler());
    RawClient client = server.connect();
    client.send(kGet);
    EXPECT_FALSE(client.read_until("data: 1\n\n\r\n").starts_with("(ended)"));
    EXPECT_TRUE(server.drain());
    EXPECT_EQ(client.read_to_end(), "0\r\n\r\n");
}

constexpr std::string_view kAskForWebSocket =
    "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
constexpr std::string_view kGoingAway("\x88\x02\x03\xE9", 4);

TEST(ProxyStream, HTTP_4k_a_tunnel_with_a_websocket_is_told_when_the_proxy_drains) {
    Atomic<unsigned> code{0};
    TestServer upstream([&](Request& request, async::Context&) {
        return accept_websocket(request, [&](WebSocket& socket) {
            while (auto message = socket.receive()) {
                if (!socket.send(message->type, message->payload)) break;
            }
            code.store(socket.close_code(), std::memory_order_relaxed);
        });
    });
    ReverseProxy proxy =
        ReverseProxy::create({.upstreams = {"http://" + upstream.address().to_string()}}).value();
    TestServer server(proxy.handler());
    RawClient client = server.connect();
    client.send(kAskForWebSocket);
    EXPECT_TRUE(client.read_until("\r\n\r\n").starts_with("HTTP/1.1 101 "));
    client.send(std::string_view("\x81\x82\0\0\0\0hi", 8));
    EXPECT_EQ(client.read_count(4), "\x81\x02hi");
    server.server().drain();
    EXPECT_EQ(client.read_count(4), kGoingAway);
    client.send(std::string_view("\x88\x82\0\0\0\0\x03\xE9", 8));
    EXPECT_TRUE(client.is_ended());
    client.close();
    EXPECT_TRUE(server.drain());
    EXPECT_TRUE(upstream.drain());
    EXPECT_EQ(code.load(std::memory_order_relaxed), 1001U);
}

// A tunnel that is no WebSocket, or where a frame would be split, is closed without a Close.
TEST(ProxyStream, HTTP_4k_a_tunnel_ends_when_the_proxy_drains) {
    constexpr std::string_view kHalfAFrame("\x81\x7E\x01", 3);
    for (std::string_view protocol : {"websocket", "else"}) {
        TestServer upstream([&](Request&, async::Context&) {
            Response response;
            response.status = 101;
            response.headers.set("upgrade", protocol);
            response.upgrade = [&](Upgraded& connection) {
                static_cast<void>(connection.stream.write_all(as_bytes(kHalfAFrame)));
                std::byte one;
                static_cast<void>(connection.stream.read(ByteSpace(&one, 1)));
            };
            return response;
        });
        ReverseProxy proxy =
            ReverseProxy::create({.upstreams = {"http://" + upstream.address().to_string()}})
                .value();
        TestServer server(proxy.handler());
        RawClient client = server.connect();
        client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: " +
                    std::string(protocol) + "\r\n\r\n");
        EXPECT_TRUE(client.read_until("\r\n\r\n").starts_with("HTTP/1.1 101 "));
        EXPECT_EQ(client.read_count(3), kHalfAFrame);
        server.server().drain();
        EXPECT_TRUE(client.is_ended());
        client.close();
        EXPECT_TRUE(server.drain());
        EXPECT_TRUE(upstream.drain());
    }
}

TEST(FrameBoundary, HTTP_4k_frames_end_where_their_heads_say) {
    auto after = [](std::string_view bytes, bool one_by_one) {
        FrameBoundary boundary;
        for (std::size_t at = 0; one_by_one && at < bytes.size(); ++at)
            boundary.pass(as_bytes(bytes.substr(at, 1)));
        if (!one_by_one) boundary.pass(as_bytes(bytes));
        return boundary.may_send();
    };
    std::string medium = std::string("\x82\x7E\x01\x02", 4) + std::string(0x102, 'x');
    std::string large = std::string("\x82\x7F\0\0\0\0\0\1\0\2", 10) + std::string(0x10002, 'x');
    std::string masked = std::string("\x81\x82\x88\x88\x88\x88hi", 8);
    for (bool one_by_one : {true, false}) {
        for (const std::string& frame : {std::string("\x89\0", 2), medium, large, masked}) {
            EXPECT_TRUE(after(frame, one_by_one));
            EXPECT_TRUE(after(frame + masked + frame, one_by_one));
            EXPECT_FALSE(after(frame.substr(0, frame.size() - 1), one_by_one));
            EXPECT_FALSE(after(frame + frame.substr(0, 1), one_by_one));
        }
        EXPECT_FALSE(after(kGoingAway, one_by_one));
    }
}

TEST(ProxyStream, HTTP_7_a_client_that_goes_away_ends_the_event_stream) {
    in_runtime(1, [] {
        Event closed;
        return with_upstream(
            [&](Peer& peer) {
                peer.read_request();
                peer.say(kEventStream);
                peer.say("9\r\ndata: 1\n\n\r\n");
                // No further event is sent, and yet the end is noticed.
                EXPECT_TRUE(peer.wait_for_close());
                closed.set();
            },
            [&](const Address& address, ReverseProxy& proxy) -> Result<void> {
                {
                    RawPeer client = WEFT_TRY(RawPeer::connect(address));
                    client.say(kGet);
                    client.read_until("data: 1\n\n");
                    EXPECT_EQ(proxy.upstreams()[0].under_way, 1U);
                }
                EXPECT_TRUE(closed.wait_for(seconds(10)));
                EXPECT_TRUE(eventually([&] { return proxy.upstreams()[0].under_way == 0; }));
                return {};
            });
    });
}

TEST(ProxyStream, HTTP_7_a_client_that_goes_away_before_the_answer_ends_the_request) {
    in_runtime(1, [] {
        Event arrived;
        Event closed;
        return with_upstream(
            [&](Peer& peer) {
                peer.read_request();
                arrived.set();
                EXPECT_TRUE(peer.wait_for_close());
                closed.set();
            },
            [&](const Address& address, ReverseProxy& proxy) -> Result<void> {
                {
                    RawPeer client = WEFT_TRY(RawPeer::connect(address));
                    client.say(kGet);
                    WEFT_TRY(arrived.wait_for(seconds(10)));
                }
                EXPECT_TRUE(closed.wait_for(seconds(10)));
                EXPECT_EQ(proxy.upstreams()[0].failures, 0U);
                return {};
            });
    });
}

TEST(ProxyStream, HTTP_7_an_upload_is_passed_on_as_it_comes) {
    in_runtime(1, [] {
        Event seen;
        return with_upstream(
            [&](Peer& peer) {
                peer.read_head();
                EXPECT_EQ(peer.read_exactly(5), "first");
                seen.set();
                EXPECT_EQ(peer.read_exactly(6), "second");
                peer.respond("ok");
            },
            [&](const Address& address, ReverseProxy&) -> Result<void> {
                RawPeer client = WEFT_TRY(RawPeer::connect(address));
                client.say("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\nfirst");
                EXPECT_TRUE(seen.wait_for(seconds(10)));
                client.say("second");
                EXPECT_EQ(body_of(client.read_response()), "ok");
                return {};
            },
            {.upstreams = {}, .request_buffer_bytes = 0});
    });
}

TEST(ProxyStream, HTTP_7_large_bodies_go_both_ways_and_wait_for_the_slower_side) {
    in_runtime(2, []() -> Result<void> {
        Server upstream([](Request& request, async::Context&) -> Result<Response> {
            request.body().set_bytes_max(UINT64_MAX);
            return Response::text(WEFT_TRY(request.body().read_all()));
        });
        Address behind = WEFT_TRY(upstream.listen(Address::loopback(0)));
        auto serving = spawn([&] { return upstream.serve(); });
        ServerOptions options;
        options.limits.body_bytes = UINT64_MAX;
        Result<void> outcome = with_proxy(
            {.upstreams = {url_of(behind)}},
            [](const Address& address, ReverseProxy&) -> Result<void> {
                std::string body;
                while (body.size() < (4 << 20)) body += std::to_string(body.size());
                RawPeer client = WEFT_TRY(RawPeer::connect(address));
                for (int i = 0; i < 2; ++i) {
                    client.say("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: " +
                               std::to_string(body.size()) + "\r\n\r\n");
                    client.say(body);
                    EXPECT_TRUE(body_of(client.read_response()) == body);
                }
                return {};
            },
            options);
        upstream.close();
        WEFT_TRY(serving.join());
        return outcome;
    });
}

TEST(ProxyStream, HTTP_7_an_answer_before_the_end_of_an_upload_is_passed_on) {
    // The client waits for the answer with half its body unsent, or goes on sending.
    for (bool floods : {false, true}) {
        in_runtime(2, [&] {
            return with_upstream(
                [&](Peer& peer) {
                    peer.read_head();
                    EXPECT_EQ(peer.read_exactly(4), "half");
                    peer.say("HTTP/1.1 413 Too Large\r\nContent-Length: 9\r\n\r\ntoo large");
                },
                [&](const Address& address, ReverseProxy&) -> Result<void> {
                    RawPeer client = WEFT_TRY(RawPeer::connect(address));
                    client.say("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nhalf");
                    if (floods) client.say(std::string(200'000, 'x'));
                    EXPECT_EQ(body_of(client.read_response()), "too large");
                    return {};
                },
                {.upstreams = {}, .request_buffer_bytes = 0});
        });
    }
}

// ---------------------------------------------------------------- upgrades

constexpr std::string_view kUpgrade =
    "GET /chat HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Key: x\r\n\r\n";

TEST(ProxyStream, HTTP_7_an_upgraded_connection_is_passed_through) {
    in_runtime(1, [] {
        return with_upstream(
            [&](Peer& peer) {
                std::string head = peer.read_head();
                EXPECT_TRUE(has(head, "Connection: upgrade\r\n"));
                EXPECT_TRUE(has(head, "Upgrade: websocket\r\n"));
                EXPECT_TRUE(has(head, "Sec-WebSocket-Key: x\r\n"));
                peer.say(
                    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
                    "Upgrade: websocket\r\nSec-WebSocket-Accept: y\r\n\r\nearly");
                for (int i = 0; i < 100; ++i) peer.say(peer.read_exactly(4));
                // The client has ended its sending half, and still reads.
                EXPECT_TRUE(peer.wait_for_close());
                peer.say("bye");
            },
            [&](const Address& address, ReverseProxy& proxy) -> Result<void> {
                RawPeer client = WEFT_TRY(RawPeer::connect(address));
                client.say(std::string(kUpgrade) + "ping");
                std::string head = client.read_head();
                EXPECT_EQ(status_of(head), 101);
                EXPECT_TRUE(has(head, "Upgrade: websocket\r\n"));
                EXPECT_TRUE(has(head, "Sec-WebSocket-Accept: y\r\n"));
                EXPECT_EQ(client.read_exactly(9), "earlyping");
                for (int i = 1; i < 100; ++i) {
                    client.say("pong");
                    EXPECT_EQ(client.read_exactly(4), "pong");
                }
                EXPECT_EQ(proxy.upstreams()[0].under_way, 1U);
                WEFT_TRY(client.socket().shutdown_write());
                EXPECT_EQ(WEFT_TRY(weft::testing::read_to_end(client.socket())), "bye");
                EXPECT_TRUE(eventually([&] { return proxy.upstreams()[0].under_way == 0; }));
                return {};
            });
    });
}

TEST(ProxyStream, HTTP_7_an_upgraded_connection_that_breaks_ends_on_both_sides) {
    for (bool client_breaks : {true, false}) {
        in_runtime(1, [&] {
            return with_upstream(
                [&](Peer& peer) {
                    peer.read_head();
                    peer.say(
                        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
                        "Upgrade: websocket\r\n\r\n");
                    EXPECT_EQ(peer.read_exactly(4), "ping");
                    if (client_breaks) {
                        EXPECT_TRUE(peer.wait_for_close());
                    } else {
                        static_cast<void>(peer.socket().reset_on_close());
                    }
                },
                [&](const Address& address, ReverseProxy& proxy) -> Result<void> {
                    RawPeer client = WEFT_TRY(RawPeer::connect(address));
                    client.say(kUpgrade);
                    EXPECT_EQ(status_of(client.read_head()), 101);
                    client.say("ping");
                    if (client_breaks) {
                        WEFT_TRY(client.socket().reset_on_close());
                        client.socket().close();
                    } else {
                        EXPECT_TRUE(client.wait_for_close());
                    }
                    EXPECT_TRUE(eventually([&] { return proxy.upstreams()[0].under_way == 0; }));
                    return {};
                });
        });
    }
}

TEST(ProxyStream, HTTP_7_an_upgrade_that_is_refused_is_a_response_like_others) {
    in_runtime(1, [] {
        return with_upstream(
            [&](Peer& peer) {
                while (!peer.read_request().empty()) peer.respond("no");
            },
            [&](const Address& address, ReverseProxy&) -> Result<void> {
                RawPeer client = WEFT_TRY(RawPeer::connect(address));
                EXPECT_EQ(body_of(client.ask(kUpgrade)), "no");
                EXPECT_EQ(body_of(client.ask(kGet)), "no");
                return {};
            });
    });
}

// ---------------------------------------------------------------- many streams

TEST(ProxyStream, HTTP_7_two_thousand_event_streams_on_one_worker) {
    // Each stream has a fiber in the proxy and one in the upstream.
    static constexpr std::size_t kStreams =
        weft::testing::kThreadSanitizer ? weft::testing::kThreadSanitizerFibersMax / 4 : 2000;
    ServerOptions patient;  // all requests come at once, and none is to be refused
    patient.limits.queue_delay = seconds(60);
    in_runtime(1, [&] {
        Event all_there;
        Atomic<std::size_t> waiting{0};
        return with_upstream(
            [&](Peer& peer) {
                peer.read_request();
                peer.say(kEventStream);
                peer.say("9\r\ndata: 1\n\n\r\n");
                waiting.fetch_add(1, std::memory_order_relaxed);
                static_cast<void>(all_there.wait_for(seconds(60)));
                peer.say("9\r\ndata: 2\n\n\r\n0\r\n\r\n");
            },
            [&](const Address& address, ReverseProxy& proxy) -> Result<void> {
                std::vector<RawPeer> clients;
                for (std::size_t i = 0; i < kStreams; ++i) {
                    clients.push_back(WEFT_TRY(RawPeer::connect(address)));
                    clients.back().say(kGet);
                }
                for (RawPeer& client : clients)
                    EXPECT_TRUE(has(client.read_until("data: 1\n\n"), "200 OK"));
                EXPECT_EQ(proxy.upstreams()[0].under_way, kStreams);
                all_there.set();
                for (RawPeer& client : clients)
                    EXPECT_TRUE(has(client.read_until("0\r\n\r\n"), "data: 2\n\n"));
                return {};
            },
            {.upstreams = {}, .limits = {.connections_per_origin = kStreams}}, patient);
    });
}

}  // namespace
}  // namespace weft::http
