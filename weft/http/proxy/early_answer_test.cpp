// Upstreams that answer before they have the whole request, and clients that never complete it.
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

constexpr std::size_t kBodyBytes = 200'000;
constexpr std::size_t kFirstBytes = 100'000;

std::string upload_head(bool chunked) {
    return "POST / HTTP/1.1\r\nHost: a\r\n" +
           (chunked ? std::string("Transfer-Encoding: chunked\r\n\r\n")
                    : "Content-Length: " + std::to_string(kBodyBytes) + "\r\n\r\n");
}

std::string piece(bool chunked, std::size_t bytes, bool is_last) {
    std::string text(bytes, 'x');
    if (!chunked) return text;
    char size[20];
    std::snprintf(size, sizeof size, "%zx\r\n", bytes);
    return size + text + "\r\n" + (is_last ? "0\r\n\r\n" : "");
}

// Reads a body in either framing, as the proxy has chosen; returns the size of its content.
std::size_t read_body(Peer& peer, const std::string& head) {
    if (!has(head, "Transfer-Encoding: chunked")) return peer.read_exactly(kBodyBytes).size();
    for (std::size_t total = 0;;) {
        std::string line = peer.read_until("\r\n");
        if (line.empty()) return total;
        std::size_t size = std::strtoul(line.c_str(), nullptr, 16);
        if (peer.read_exactly(size + 2).empty()) return total;
        if (size == 0) return total;
        total += size;
    }
}

TEST(EarlyAnswer, HTTP_7i_the_upload_goes_on_while_the_upstream_reads) {
    for (bool chunked : {false, true}) {
        for (const char* answer :
             {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nearly",
              "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nearly\r\n0\r\n\r\n",
              "HTTP/1.1 204 No Content\r\n\r\n"}) {
            in_runtime(2, [&] {
                Event whole;
                return with_upstream(
                    [&](Peer& peer) {
                        for (std::string head = peer.read_head(); !head.empty();
                             head = peer.read_head()) {
                            if (head.starts_with("GET")) {
                                peer.respond("again");
                                continue;
                            }
                            peer.say(answer);
                            EXPECT_EQ(read_body(peer, head), kBodyBytes) << answer;
                            whole.set();
                        }
                    },
                    [&](const Address& address, ReverseProxy&) -> Result<void> {
                        RawPeer client = WEFT_TRY(RawPeer::connect(address));
                        client.say(upload_head(chunked) + piece(chunked, kFirstBytes, false));
                        // The whole response has come before the request is complete.
                        std::string response = client.read_response();
                        EXPECT_TRUE(has(response, "early") || status_of(response) == 204);
                        client.say(piece(chunked, kBodyBytes - kFirstBytes, true));
                        EXPECT_TRUE(whole.wait_for(seconds(10))) << answer;
                        // Both connections can be used for another exchange.
                        EXPECT_EQ(body_of(client.ask("GET / HTTP/1.1\r\nHost: a\r\n\r\n")),
                                  "again");
                        return {};
                    },
                    {.upstreams = {}, .request_buffer_bytes = 0});
            });
        }
    }
}

// Neither direction waits for the end of the other.
TEST(EarlyAnswer, HTTP_7i_both_bodies_pass_at_the_same_time) {
    in_runtime(2, [] {
        return with_upstream(
            [&](Peer& peer) {
                peer.read_head();
                peer.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
                for (int i = 0; i < 50; ++i) peer.say("4\r\n" + peer.read_until("\r\n") + "\r\n");
                peer.say("0\r\n\r\n");
            },
            [&](const Address& address, ReverseProxy&) -> Result<void> {
                RawPeer client = WEFT_TRY(RawPeer::connect(address));
                client.say("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 200\r\n\r\nab\r\n");
                EXPECT_EQ(status_of(client.read_head()), 200);
                for (int i = 0; i < 50; ++i) {
                    EXPECT_EQ(client.read_until("ab\r\n"), "4\r\nab\r\n") << i;
                    EXPECT_EQ(client.read_exactly(2), "\r\n");
                    if (i < 49) client.say("ab\r\n");
                }
                EXPECT_EQ(client.read_until("0\r\n\r\n"), "0\r\n\r\n");
                return {};
            },
            {.upstreams = {}, .request_buffer_bytes = 0});
    });
}

TEST(EarlyAnswer, HTTP_7i_an_upstream_that_closes_after_its_answer_ends_the_upload) {
    in_runtime(2, [] {
        return with_upstream(
            [&](Peer& peer) {
                peer.read_head();
                EXPECT_EQ(peer.read_exactly(4), "half");
                peer.say("HTTP/1.1 413 Too Large\r\nContent-Length: 9\r\n\r\ntoo large");
            },
            [&](const Address& address, ReverseProxy& proxy) -> Result<void> {
                RawPeer client = WEFT_TRY(RawPeer::connect(address));
                client.say("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nhalf");
                EXPECT_EQ(body_of(client.read_response()), "too large");
                // Even though the client neither sends more nor goes away.
                EXPECT_TRUE(eventually([&] { return proxy.upstreams()[0].under_way == 0; }));
                return {};
            },
            {.upstreams = {}, .request_buffer_bytes = 0});
    });
}

TEST(EarlyAnswer, HTTP_7i_a_client_that_cuts_its_upload_off_leaves_no_whole_request_behind) {
    in_runtime(2, [] {
        return with_upstream(
            [&](Peer& peer) {
                peer.read_head();
                peer.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n");
                EXPECT_EQ(peer.read_until("0\r\n\r\n"), "");
            },
            [&](const Address& address, ReverseProxy& proxy) -> Result<void> {
                RawPeer client = WEFT_TRY(RawPeer::connect(address));
                client.say(upload_head(true) + piece(true, 4, false));
                EXPECT_TRUE(has(client.read_until("ok\r\n"), "200 OK"));
                WEFT_TRY(client.socket().shutdown_write());
                EXPECT_FALSE(has(WEFT_TRY(weft::testing::read_to_end(client.socket())), "0\r\n"));
                EXPECT_TRUE(eventually([&] { return proxy.upstreams()[0].under_way == 0; }));
                return {};
            },
            {.upstreams = {}, .request_buffer_bytes = 0});
    });
}

// The hints and the next piece arrive together, so that the proxy's wait for the client ends well
// although the upstream has sent something. A watch that has fired must not be started again:
// stop() would not await the one who is calling it, and on_event() could run on a destroyed watch.
TEST(EarlyAnswer, HTTP_7i_hints_may_come_together_with_pieces_of_the_upload) {
    constexpr int kPieces = 20;
    in_runtime(1, [] {
        Event pieces_sent[kPieces];
        return with_upstream(
            [&](Peer& peer) {
                peer.read_head();
                for (Event& sent : pieces_sent) {
                    EXPECT_TRUE(sent.wait_for(seconds(10)));
                    peer.say("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
                    EXPECT_EQ(peer.read_exactly(4), "text");
                }
                peer.respond("ok");
            },
            [&](const Address& address, ReverseProxy&) -> Result<void> {
                RawPeer client = WEFT_TRY(RawPeer::connect(address));
                client.say("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 80\r\n\r\n");
                for (Event& sent : pieces_sent) {
                    client.say("text");
                    sent.set();
                    EXPECT_TRUE(client.read_head().starts_with("HTTP/1.1 103 "));
                }
                EXPECT_EQ(body_of(client.read_response()), "ok");
                return {};
            },
            {.upstreams = {}, .request_buffer_bytes = 0});
    });
}

// The proxy notices it by the end of the stream or by the end of the context, at any stage of the
// upstream; the answer is always the same.
TEST(EarlyAnswer, HTTP_7j_a_body_that_the_client_cuts_off_is_400_each_time) {
    for (HalfClose half_close : {HalfClose::IsGone, HalfClose::IsAllowed}) {
        for (std::size_t buffer : {std::size_t{0}, std::size_t{64 * 1024}}) {
            for (std::string_view request :
                 {"Content-Length: 5\r\n\r\nhe", "Content-Length: 99999999\r\n\r\nhe",
                  "Transfer-Encoding: chunked\r\n\r\n5\r\nhe",
                  "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"}) {
                in_runtime(2, [&] {
                    ServerOptions options;
                    options.half_close = half_close;
                    options.limits.body_bytes = UINT64_MAX;
                    return with_upstream(
                        [&](Peer& peer) { EXPECT_TRUE(peer.wait_for_close()); },
                        [&](const Address& address, ReverseProxy&) -> Result<void> {
                            for (int round = 0; round < 20; ++round) {
                                RawPeer client = WEFT_TRY(RawPeer::connect(address));
                                client.say("POST / HTTP/1.1\r\nHost: a\r\n" + std::string(request));
                                WEFT_TRY(client.socket().shutdown_write());
                                EXPECT_EQ(status_of(client.read_response()), 400) << request;
                            }
                            return {};
                        },
                        {.upstreams = {}, .request_buffer_bytes = buffer}, options);
                });
            }
        }
    }
}

}  // namespace
}  // namespace weft::http
