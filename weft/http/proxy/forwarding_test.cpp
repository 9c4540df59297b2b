// What RFC 9110 §7 requires of an intermediary.
#include <gtest/gtest.h>

#include <string>

#include "weft/http/proxy/internal/proxy_test.h"

namespace weft::http {
namespace {

using namespace testing;

// More names than ConnectionOptions accepts.
std::string many_names() {
    std::string names = "x0";
    for (int i = 1; i < 20; ++i) names += ", x" + std::to_string(i);
    return names;
}

TEST(Forwarding, HTTP_7_a_response_that_cannot_be_passed_on_leaves_no_body_for_the_next_request) {
    in_runtime(1, [] {
        return with_upstream(
            [&](Peer& peer) {
                if (peer.read_request().empty()) return;
                if (peer.number() > 0) return peer.respond("mine");
                peer.say("HTTP/1.1 200 OK\r\nConnection: " + many_names() +
                         "\r\nContent-Length: 42\r\n\r\n");
                // The body of the first response, although it looks like another response.
                if (!peer.read_request().empty()) peer.respond("evil");
            },
            [&](const Address& address, ReverseProxy&) -> Result<void> {
                EXPECT_EQ(status_of(get(address)), 502);
                EXPECT_EQ(body_of(get(address)), "mine");
                return {};
            });
    });
}

TEST(Forwarding, HTTP_7_a_request_with_too_many_names_in_Connection_is_400) {
    in_runtime(1, [] {
        return with_upstream([&](Peer& peer) { EXPECT_EQ(peer.read_request(), ""); },
                             [&](const Address& address, ReverseProxy&) -> Result<void> {
                                 std::string response =
                                     ask(address, "GET / HTTP/1.1\r\nHost: a\r\nConnection: " +
                                                      many_names() + "\r\n\r\n");
                                 EXPECT_EQ(status_of(response), 400);
                                 return {};
                             });
    });
}

TEST(Forwarding, HTTP_7_informational_responses_without_end_are_502) {
    in_runtime(1, [] {
        return with_upstream(
            [&](Peer& peer) {
                peer.read_request();
                for (int i = 0; i < 40; ++i) peer.say("HTTP/1.1 100 Continue\r\n\r\n");
                peer.respond("ok");
            },
            [&](const Address& address, ReverseProxy&) -> Result<void> {
                EXPECT_EQ(status_of(get(address)), 502);
                return {};
            });
    });
}

TEST(Forwarding, HTTP_7_OPTIONS_for_a_whole_server_stays_one) {
    in_runtime(1, [] {
        return with_upstream(
            [&](Peer& peer) {
                std::string head = peer.read_request();
                peer.respond(head.substr(0, head.find("\r\n")));
            },
            [&](const Address& address, ReverseProxy&) -> Result<void> {
                auto line_for = [&](const std::string& line) {
                    return body_of(ask(address, line + " HTTP/1.1\r\nHost: a\r\n\r\n"));
                };
                EXPECT_EQ(line_for("OPTIONS http://a"), "OPTIONS * HTTP/1.1");
                EXPECT_EQ(line_for("OPTIONS *"), "OPTIONS * HTTP/1.1");
                EXPECT_EQ(line_for("OPTIONS http://a/"), "OPTIONS / HTTP/1.1");
                EXPECT_EQ(line_for("OPTIONS http://a?q"), "OPTIONS /?q HTTP/1.1");
                EXPECT_EQ(line_for("GET http://a"), "GET / HTTP/1.1");
                return {};
            });
    });
}

TEST(Forwarding, HTTP_7_OPTIONS_and_TRACE_go_as_far_as_they_may) {
    in_runtime(1, [] {
        return with_upstream(
            [&](Peer& peer) { peer.respond(peer.read_request()); },
            [&](const Address& address, ReverseProxy&) -> Result<void> {
                auto answer_to = [&](const std::string& method, const std::string& forwards) {
                    return ask(address, method + " / HTTP/1.1\r\nHost: a\r\nMax-Forwards: " +
                                            forwards + "\r\n\r\n");
                };
                EXPECT_EQ(status_of(answer_to("OPTIONS", "0")), 204);
                EXPECT_EQ(status_of(answer_to("TRACE", "0")), 501);
                for (const char* method : {"OPTIONS", "TRACE"}) {
                    EXPECT_TRUE(has(answer_to(method, "10"), "Max-Forwards: 9\r\n"));
                    EXPECT_FALSE(has(answer_to(method, "1"), "Max-Forwards: 1\r\n"));
                    EXPECT_TRUE(has(answer_to(method, "some"), "Max-Forwards: some\r\n"));
                }
                // For other methods the field has no meaning.
                EXPECT_TRUE(has(answer_to("GET", "0"), "Max-Forwards: 0\r\n"));
                return {};
            });
    });
}

TEST(Forwarding, HTTP_7_Via_says_in_which_version_a_message_came) {
    for (const std::string version : {"1.0", "1.1"}) {
        in_runtime(1, [&] {
            return with_upstream(
                [&](Peer& peer) {
                    EXPECT_TRUE(has(peer.read_request(), "Via: " + version + " weft\r\n"));
                    peer.say("HTTP/" + version + " 200 OK\r\nContent-Length: 2\r\n\r\nok");
                },
                [&](const Address& address, ReverseProxy&) -> Result<void> {
                    std::string response =
                        ask(address, "GET / HTTP/" + version + "\r\nHost: a\r\n\r\n");
                    EXPECT_TRUE(has(response, "\r\nVia: " + version + " weft\r\n"));
                    return {};
                });
        });
    }
}

TEST(Forwarding, HTTP_7_an_upgrade_before_the_end_of_an_upload_is_502) {
    in_runtime(1, [] {
        return with_upstream(
            [&](Peer& peer) {
                peer.read_until("abc");
                peer.say("HTTP/1.1 101 S\r\nConnection: upgrade\r\nUpgrade: foo\r\n\r\n");
                EXPECT_EQ(peer.read_until("0\r\n\r\n"), "");
            },
            [&](const Address& address, ReverseProxy&) -> Result<void> {
                RawPeer client = WEFT_TRY(RawPeer::connect(address));
                client.say(
                    "POST / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: foo\r\n"
                    "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
                EXPECT_EQ(status_of(client.read_response()), 502);
                client.say("0\r\n\r\n");
                return {};
            },
            {.upstreams = {}, .request_buffer_bytes = 0});
    });
}

TEST(Forwarding, HTTP_7_nobody_changes_to_h2c_through_us) {
    in_runtime(1, [] {
        return with_upstream(
            [&](Peer& peer) { peer.respond(peer.read_request()); },
            [&](const Address& address, ReverseProxy&) -> Result<void> {
                for (const std::string protocols : {"h2c", "H2C", "websocket, h2c"}) {
                    std::string head = body_of(
                        ask(address,
                            "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings"
                            "\r\nHTTP2-Settings: AAMAAABk\r\nUpgrade: " +
                                protocols + "\r\n\r\n"));
                    EXPECT_TRUE(has(head, "GET / HTTP/1.1\r\n"));
                    EXPECT_FALSE(has(head, "Upgrade: "));
                    EXPECT_FALSE(has(head, "Connection: "));
                }
                return {};
            });
    });
}

}  // namespace
}  // namespace weft::http
