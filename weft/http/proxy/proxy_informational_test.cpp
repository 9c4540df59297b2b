// Informational responses: early hints, and the 100 that a client waits for before its body.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "weft/http/proxy/internal/proxy_test.h"
#include "weft/http/proxy/reverse_proxy.h"
#include "weft/sync/event.h"

namespace weft::http {
namespace {

using namespace testing;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
constexpr std::string_view kExpecting =
    "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n";
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

TEST(ProxyInformational, HTTP_12b_hints_leave_as_they_come) {
    in_runtime(1, [] {
        Event seen;
        return with_upstream(
            [&](Peer& peer) {
                while (!peer.read_request().empty()) {
                    peer.say(
                        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nConnection: x\r\nX: y\r\n"
                        "Keep-Alive: z\r\nContent-Length: 5\r\n\r\n");
                    EXPECT_TRUE(seen.wait_for(seconds(10)));
                    peer.say("HTTP/1.1 102 Processing\r\n\r\n");
                    peer.respond("page");
                }
            },
            [&](const Address& address, ReverseProxy&) -> Result<void> {
                RawPeer client = WEFT_TRY(RawPeer::connect(address));
                for (int i = 0; i < 2; ++i) {
                    client.say(kGet);
                    // Hop-by-hop fields of hints are not forwarded either.
                    EXPECT_EQ(client.read_head(),
                              "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nVia: 1.1 weft\r\n\r\n");
                    seen.set();
                    EXPECT_EQ(client.read_head(),
                              "HTTP/1.1 102 Processing\r\nVia: 1.1 weft\r\n\r\n");
                    EXPECT_EQ(body_of(client.read_response()), "page");
                }
                return {};
            });
    });
}

TEST(ProxyInformational, HTTP_12b_a_client_of_http_1_0_gets_none) {
    in_runtime(1, [] {
        return with_upstream(
            [&](Peer& peer) {
                peer.read_request();
                peer.say("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
                peer.respond("page");
            },
            [&](const Address& address, ReverseProxy&) -> Result<void> {
                EXPECT_EQ(status_of(ask(address, "GET / HTTP/1.0\r\n\r\n")), 200);
                return {};
            });
    });
}

TEST(ProxyInformational, HTTP_12b_a_100_that_nobody_waits_for_is_dropped) {
    in_runtime(1, [] {
        return with_upstream(
            [&](Peer& peer) {
                while (true) {
                    std::string head = peer.read_head();
                    if (head.empty()) return;
                    peer.say(kContinue);
                    if (has(head, "Content-Length: 4")) peer.read_exactly(4);
                    peer.respond("ok");
                }
            },
            [&](const Address& address, ReverseProxy&) -> Result<void> {
                RawPeer client = WEFT_TRY(RawPeer::connect(address));
                EXPECT_EQ(status_of(client.ask(kGet)), 200);
                EXPECT_EQ(status_of(client.ask("POST / HTTP/1.1\r\nHost: a\r\n"
                                               "Content-Length: 4\r\n\r\ntext")),
                          200);
                return {};
            });
    });
}

TEST(ProxyInformational, HTTP_12b_the_upstream_is_asked_whether_it_wants_the_body) {
    in_runtime(1, [] {
        Event asked;
        return with_upstream(
            [&](Peer& peer) {
                EXPECT_TRUE(has(peer.read_head(), "Expect: 100-continue\r\n"));
                EXPECT_TRUE(asked.wait_for(seconds(10)));
                // The client gets one 100, however many the upstream sends.
                peer.say("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
                peer.say(kContinue);
                peer.say(kContinue);
                EXPECT_EQ(peer.read_exactly(4), "text");
                peer.respond("ok");
            },
            [&](const Address& address, ReverseProxy&) -> Result<void> {
                RawPeer client = WEFT_TRY(RawPeer::connect(address));
                client.say(kExpecting);
                // The client gets nothing before the upstream has sent something.
                std::byte byte[1];
                EXPECT_EQ(kind_of(client.socket().read(byte, Deadline::after(milliseconds(30)))),
                          ErrorKind::TimedOut);
                asked.set();
                EXPECT_TRUE(client.read_head().starts_with("HTTP/1.1 103 "));
                EXPECT_EQ(client.read_head(), kContinue);
                client.say("text");
                EXPECT_EQ(body_of(client.read_response()), "ok");
                return {};
            },
            {.upstreams = {}, .timeouts = {.expect = seconds(10)}});
    });
}

TEST(ProxyInformational, HTTP_12b_an_upstream_that_does_not_want_the_body_is_heard_without_it) {
    in_runtime(1, [] {
        return with_upstream(
            [&](Peer& peer) {
                peer.read_head();
                peer.say("HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\nno");
                EXPECT_EQ(peer.read_exactly(1), "");
            },
            [&](const Address& address, ReverseProxy&) -> Result<void> {
                for (int i = 0; i < 3; ++i) {
                    RawPeer client = WEFT_TRY(RawPeer::connect(address));
                    client.say(kExpecting);
                    std::string response = client.read_response();
                    EXPECT_EQ(status_of(response), 401);
                    EXPECT_EQ(body_of(response), "no");
                }
                return {};
            },
            {.upstreams = {}, .timeouts = {.expect = seconds(10)}});
    });
}

TEST(ProxyInformational, HTTP_12b_a_silent_upstream_gets_the_body_after_a_while) {
    for (const char* version : {"HTTP/1.1", "HTTP/1.0"}) {
        in_runtime(1, [&] {
            return with_upstream(
                [&](Peer& peer) {
                    peer.read_head();
                    EXPECT_EQ(peer.read_exactly(4), "text");
                    peer.say(std::string(version) + " 200 OK\r\nContent-Length: 2\r\n\r\nok");
                },
                [&](const Address& address, ReverseProxy&) -> Result<void> {
                    RawPeer client = WEFT_TRY(RawPeer::connect(address));
                    client.say(kExpecting);
                    EXPECT_EQ(client.read_head(), kContinue);
                    client.say("text");
                    EXPECT_EQ(body_of(client.read_response()), "ok");
                    return {};
                },
                {.upstreams = {}, .timeouts = {.expect = milliseconds(10)}});
        });
    }
}

// Nothing of the body was read, so that it can be sent to another upstream.
TEST(ProxyInformational, HTTP_12b_a_request_whose_body_is_waited_for_may_go_elsewhere) {
    in_runtime(1, [] {
        return with_server(
            [](Peer& peer) {
                peer.read_head();
                if (peer.number() == 0) return;
                peer.say(kContinue);
                peer.respond(peer.read_exactly(4));
            },
            [&](const Address& upstream) -> Result<void> {
                std::string url = url_of(upstream);
                return with_proxy({.upstreams = {url, url}, .timeouts = {.expect = seconds(10)}},
                                  [](const Address& address, ReverseProxy&) -> Result<void> {
                                      RawPeer client = WEFT_TRY(RawPeer::connect(address));
                                      client.say(
                                          "PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                                          "Content-Length: 4\r\n\r\n");
                                      EXPECT_EQ(client.read_head(), kContinue);
                                      client.say("text");
                                      EXPECT_EQ(body_of(client.read_response()), "text");
                                      return {};
                                  });
            });
    });
}

}  // namespace
}  // namespace weft::http
