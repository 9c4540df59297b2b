#include "weft/http/proxy/reverse_proxy.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "weft/http/proxy/internal/proxy_test.h"
#include "weft/sync/event.h"

namespace weft::http {
namespace {

using namespace testing;
using std::chrono::milliseconds;
using std::chrono::seconds;

// ---------------------------------------------------------------- failures

TEST(ReverseProxy, HTTP_7_upstreams_that_are_none_are_misuse) {
    EXPECT_EQ(kind_of(ReverseProxy::create({.upstreams = {}})), ErrorKind::Misuse);
    for (const char* text : {"", "127.0.0.1:80", "ftp://127.0.0.1/", "http://127.0.0.1/path",
                             "http://127.0.0.1:99999", "unix:"}) {
        EXPECT_EQ(kind_of(ReverseProxy::create({.upstreams = {text}})), ErrorKind::Misuse) << text;
    }
}

TEST(ReverseProxy, HTTP_7_an_upstream_that_cannot_be_reached_is_502) {
    in_runtime(1, []() -> Result<void> {
        Address nobody = WEFT_TRY(weft::testing::free_tcp_address());
        return with_proxy({.upstreams = {url_of(nobody)}},
                          [](const Address& address, ReverseProxy&) -> Result<void> {
                              std::string response = get(address);
                              EXPECT_EQ(status_of(response), 502);
                              EXPECT_TRUE(has(response, "cannot be reached"));
                              return {};
                          });
    });
}

TEST(ReverseProxy, HTTP_7_garbage_of_an_upstream_is_502) {
    for (const char* garbage :
         {"SSH-2.0-x\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
          "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
          "HTTP/1.1 200 OK\r\nbad field: \r\n\r\n", "HTTP/1.1 101 Switching\r\n\r\n", ""}) {
        in_runtime(1, [&] {
            return with_upstream(
                [&](Peer& peer) {
                    peer.read_request();
                    peer.say(garbage);
                },
                [&](const Address& address, ReverseProxy&) -> Result<void> {
                    EXPECT_EQ(status_of(get(address)), 502) << garbage;
                    return {};
                });
        });
    }
}

TEST(ReverseProxy, HTTP_7_an_upstream_that_does_not_answer_is_504) {
    in_runtime(1, [] {
        return with_upstream(
            [&](Peer& peer) {
                peer.read_request();
                EXPECT_TRUE(peer.wait_for_close());
            },
            [&](const Address& address, ReverseProxy&) -> Result<void> {
                EXPECT_EQ(status_of(get(address)), 504);
                return {};
            },
            {.upstreams = {}, .timeouts = {.head = milliseconds(30)}});
    });
}

TEST(ReverseProxy, HTTP_7_a_response_that_is_cut_off_is_cut_off_for_the_client) {
    for (const char* head : {"Content-Length: 10\r\n", "Transfer-Encoding: chunked\r\n"}) {
        in_runtime(1, [&] {
            return with_upstream(
                [&](Peer& peer) {
                    peer.read_request();
                    peer.say("HTTP/1.1 200 OK\r\n" + std::string(head) + "\r\n4\r\nhalf");
                },
                [&](const Address& address, ReverseProxy&) -> Result<void> {
                    RawPeer client = WEFT_TRY(RawPeer::connect(address));
                    client.say("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
                    std::string head_seen = client.read_head();
                    EXPECT_EQ(status_of(head_seen), 200);
                    auto rest = weft::testing::read_to_end(client.socket());
                    EXPECT_FALSE(rest && rest->ends_with("0\r\n\r\n"));
                    if (has(head_seen, "Content-Length: 10")) {
                        EXPECT_LT(rest ? rest->size() : 0, 10U);
                    }
                    return {};
                });
        });
    }
}

TEST(ReverseProxy, HTTP_7_a_request_whose_body_is_bad_is_refused_and_the_upstream_sees_it_cut_off) {
    in_runtime(1, [] {
        return with_upstream(
            [&](Peer& peer) {
                std::string head = peer.read_head();
                EXPECT_EQ(peer.read_until("0\r\n\r\n"), "");
            },
            [&](const Address& address, ReverseProxy& proxy) -> Result<void> {
                std::string response =
                    ask(address,
                        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                        "2\r\nok\r\nnonsense\r\n");
                EXPECT_EQ(status_of(response), 400);
                EXPECT_EQ(proxy.upstreams()[0].failures, 0U);
                return {};
            },
            {.upstreams = {}, .request_buffer_bytes = 0});
    });
}

// The proxy may or may not be reading when it learns that the client has gone.
TEST(ReverseProxy, HTTP_7_a_body_that_its_client_cuts_off_is_never_a_whole_one_to_the_upstream) {
    for (int round = 0; round < 50; ++round) {
        in_runtime(2, [] {
            return with_upstream(
                [&](Peer& peer) {
                    peer.read_head();
                    EXPECT_EQ(peer.read_until("0\r\n\r\n"), "");
                },
                [&](const Address& address, ReverseProxy&) -> Result<void> {
                    RawPeer client = WEFT_TRY(RawPeer::connect(address));
                    client.say(
                        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                        "2\r\nok\r\n");
                    WEFT_TRY(client.socket().shutdown_write());
                    EXPECT_TRUE(client.wait_for_close());
                    return {};
                },
                {.upstreams = {}, .request_buffer_bytes = 0});
        });
    }
}

// ---------------------------------------------------------------- heads

TEST(ReverseProxy, HTTP_7_what_old_and_odd_upstreams_say_is_repaired_and_passed_on) {
    in_runtime(1, [] {
        return with_upstream(
            [&](Peer& peer) {
                peer.read_request();
                peer.say("HTTP/1.2 799 Odd\r\nX-Folded: a\r\n\tb\r\nX-Blank : c\r\nX-Long: " +
                         std::string(60'000, 'l') + "\r\nContent-Length : 2\r\n\r\nok");
            },
            [&](const Address& address, ReverseProxy&) -> Result<void> {
                std::string response = get(address);
                EXPECT_EQ(status_of(response), 799);
                EXPECT_TRUE(has(response, "\r\nX-Folded: a b\r\n"));
                EXPECT_TRUE(has(response, "\r\nX-Blank: c\r\n"));
                EXPECT_TRUE(has(response, std::string(60'000, 'l') + "\r\n"));
                EXPECT_EQ(body_of(response), "ok");
                return {};
            });
    });
}

// The request that the upstream gets, and the response that the client gets.
struct Seen {
    std::string request;
    std::string response;
};
Seen pass(const std::string& request, const std::string& response, ProxyOptions options = {}) {
    Seen seen;
    in_runtime(1, [&] {
        return with_upstream(
            [&](Peer& peer) {
                seen.request = peer.read_request();
                peer.say(response);
            },
            [&](const Address& address, ReverseProxy&) -> Result<void> {
                seen.response = ask(address, request);
                return {};
            },
            options);
    });
    return seen;
}
const std::string kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

TEST(ReverseProxy, HTTP_7_fields_of_one_connection_go_no_further) {
    Seen seen = pass(
        "GET /a?b=c HTTP/1.1\r\nHost: example.test\r\nConnection: keep-alive, X-Mine, "
        "X-Forwarded-For\r\nX-Mine: 1\r\nKeep-Alive: timeout=5\r\nProxy-Connection: keep-alive\r\n"
        "Proxy-Authorization: Basic x\r\nTE: gzip\r\nUpgrade: h2c\r\nX-Other: 2\r\n"
        "X_Under: 3\r\nTrailer: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nConnection: X-Theirs\r\nX-Theirs: 1\r\nKeep-Alive: timeout=9\r\n"
        "Proxy-Authenticate: Basic\r\nX-Answer: 4\r\nContent-Length: 2\r\n\r\nok");
    EXPECT_TRUE(seen.request.starts_with("GET /a?b=c HTTP/1.1\r\nHost: example.test\r\n"));
    for (const char* gone : {"Connection", "X-Mine", "Keep-Alive", "Proxy-", "TE:", "Upgrade",
                             "X_Under", "Trailer", "Content-Length", "Transfer-Encoding"})
        EXPECT_FALSE(has(seen.request, gone)) << gone << "\n" << seen.request;
    for (const char* there :
         {"X-Other: 2\r\n", "X-Forwarded-For: 127.0.0.1\r\n", "X-Forwarded-Proto: http\r\n",
          "X-Forwarded-Host: example.test\r\n", "Via: 1.1 weft\r\n"})
        EXPECT_TRUE(has(seen.request, there)) << there << "\n" << seen.request;
    EXPECT_EQ(body_of(seen.response), "ok");
    EXPECT_TRUE(has(seen.response, "X-Answer: 4\r\n"));
    EXPECT_TRUE(has(seen.response, "Via: 1.1 weft\r\n"));
    for (const char* gone : {"X-Theirs", "timeout=9", "Proxy-"})
        EXPECT_FALSE(has(seen.response, gone)) << gone;
}

TEST(ReverseProxy, HTTP_7_a_host_that_was_not_said_is_not_told) {
    Seen seen = pass("GET / HTTP/1.0\r\n\r\n", kOk, {.upstreams = {}, .forwarded = true});
    EXPECT_FALSE(has(seen.request, "X-Forwarded-Host")) << seen.request;
    EXPECT_TRUE(has(seen.request, "Forwarded: for=127.0.0.1;proto=http\r\n")) << seen.request;
}

TEST(ReverseProxy, HTTP_7_what_a_client_says_about_earlier_hops_is_replaced_or_extended) {
    std::string request =
        "GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Proto: https\r\n"
        "X-Forwarded-Host: before\r\nForwarded: for=1.2.3.4\r\n\r\n";
    Seen replaced = pass(request, kOk);
    EXPECT_FALSE(has(replaced.request, "1.2.3.4"));
    EXPECT_TRUE(has(replaced.request, "X-Forwarded-Proto: http\r\n"));
    Seen extended = pass(request, kOk,
                         {.upstreams = {}, .earlier_hops = EarlierHops::Extend, .forwarded = true});
    EXPECT_TRUE(has(extended.request, "X-Forwarded-For: 1.2.3.4, 127.0.0.1\r\n"));
    EXPECT_TRUE(has(extended.request, "X-Forwarded-Proto: https\r\n"));
    EXPECT_TRUE(has(extended.request, "X-Forwarded-Host: before\r\n"));
    EXPECT_TRUE(
        has(extended.request, "Forwarded: for=1.2.3.4, for=127.0.0.1;proto=http;host=\"h\"\r\n"));
}

TEST(ReverseProxy, HTTP_7_the_host_is_kept_or_the_upstreams) {
    Seen replaced = pass("GET http://a/x HTTP/1.1\r\nHost: a\r\n\r\n", kOk,
                         {.upstreams = {}, .host = HostField::Replace, .via = ""});
    EXPECT_TRUE(replaced.request.starts_with("GET /x HTTP/1.1\r\nHost: 127.0.0.1:"));
    EXPECT_FALSE(has(replaced.request, "Via"));
    EXPECT_TRUE(pass("GET http://a?q HTTP/1.1\r\nHost: a\r\n\r\n", kOk)
                    .request.starts_with("GET /?q HTTP/1.1\r\nHost: a\r\n"));
    EXPECT_TRUE(pass("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", kOk)
                    .request.starts_with("OPTIONS * HTTP/1.1\r\n"));
    EXPECT_TRUE(has(pass("GET / HTTP/1.1\r\nHost: a\r\nx_y: 1\r\n\r\n", kOk,
                         {.upstreams = {}, .underscore_names = UnderscoreNames::Pass})
                        .request,
                    "x_y: 1\r\n"));
}

TEST(ReverseProxy, HTTP_7_a_request_without_a_host_gets_the_upstreams) {
    Seen seen = pass("GET / HTTP/1.0\r\n\r\n", kOk);
    EXPECT_TRUE(seen.request.starts_with("GET / HTTP/1.1\r\nHost: 127.0.0.1:")) << seen.request;
}

TEST(ReverseProxy, HTTP_7_messages_are_framed_anew) {
    Seen length = pass("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", kOk);
    EXPECT_TRUE(has(length.request, "Content-Length: 3\r\n"));
    EXPECT_TRUE(length.request.ends_with("\r\n\r\nabc"));
    Seen none = pass("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", kOk);
    EXPECT_TRUE(has(none.request, "Content-Length: 0\r\n"));
    Seen chunks = pass(
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: "
        "transfer-encoding\r\n\r\n1;x=y\r\na\r\n2\r\nbc\r\n0\r\n\r\n",
        kOk);
    EXPECT_TRUE(has(chunks.request, "Transfer-Encoding: chunked\r\n"));
    EXPECT_FALSE(has(chunks.request, "Content-Length"));
    EXPECT_FALSE(has(chunks.request, "x=y"));
    Seen open = pass("GET / HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\nto the end");
    EXPECT_TRUE(has(open.response, "Transfer-Encoding: chunked\r\n"));
    EXPECT_TRUE(has(open.response, "to the end"));
    Seen empty = pass("GET / HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 204 No Content\r\n\r\n");
    EXPECT_EQ(status_of(empty.response), 204);
    EXPECT_FALSE(has(empty.response, "Content-Length"));
}

TEST(ReverseProxy, HTTP_7_HEAD_says_the_length_and_has_no_body) {
    in_runtime(1, [] {
        return with_upstream(
            [&](Peer& peer) {
                while (!peer.read_head().empty())
                    peer.say("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
            },
            [&](const Address& address, ReverseProxy&) -> Result<void> {
                RawPeer client = WEFT_TRY(RawPeer::connect(address));
                for (int i = 0; i < 3; ++i) {
                    client.say("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
                    EXPECT_TRUE(has(client.read_head(), "Content-Length: 1000\r\n"));
                }
                return {};
            });
    });
}

TEST(ReverseProxy, HTTP_7_trailers_pass_both_ways) {
    in_runtime(1, [] {
        return with_upstream(
            [&](Peer& peer) {
                EXPECT_TRUE(has(peer.read_head(), "TE: trailers\r\nConnection: TE\r\n"));
                EXPECT_TRUE(has(peer.read_until("0\r\nx-sum: 1\r\n\r\n"), "abc"));
                peer.say(
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                    "2\r\nok\r\n0\r\nX-Sum: 2\r\n\r\n");
            },
            [&](const Address& address, ReverseProxy&) -> Result<void> {
                RawPeer client = WEFT_TRY(RawPeer::connect(address));
                client.say(
                    "POST / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nTransfer-Encoding: "
                    "chunked\r\n\r\n3\r\nabc\r\n0\r\nx-sum: 1\r\n\r\n");
                EXPECT_TRUE(has(client.read_until("0\r\nX-Sum: 2\r\n\r\n"), "ok"));
                return {};
            });
    });
}

TEST(ReverseProxy, HTTP_7_CONNECT_is_not_for_us) {
    in_runtime(1, [] {
        return with_upstream([](Peer&) { ADD_FAILURE(); },
                             [](const Address& address, ReverseProxy&) -> Result<void> {
                                 EXPECT_EQ(status_of(ask(address,
                                                         "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n"
                                                         "\r\n")),
                                           501);
                                 return {};
                             });
    });
}

TEST(ReverseProxy, HTTP_7_connections_to_the_upstream_are_kept) {
    in_runtime(2, [] {
        Atomic<unsigned> connections{0};
        return with_upstream(
            [&](Peer& peer) {
                connections.fetch_add(1, std::memory_order_relaxed);
                while (!peer.read_request().empty()) peer.respond("ok");
            },
            [&](const Address& address, ReverseProxy& proxy) -> Result<void> {
                RawPeer client = WEFT_TRY(RawPeer::connect(address));
                for (int i = 0; i < 20; ++i) {
                    EXPECT_EQ(body_of(client.ask("GET / HTTP/1.1\r\nHost: a\r\n\r\n")), "ok");
                    EXPECT_EQ(body_of(client.ask("POST / HTTP/1.1\r\nHost: a\r\n"
                                                 "Content-Length: 2\r\n\r\nhi")),
                              "ok");
                }
                EXPECT_EQ(connections.load(std::memory_order_relaxed), 1U);
                EXPECT_EQ(proxy.upstreams()[0].requests, 40U);
                EXPECT_TRUE(eventually([&] { return proxy.upstreams()[0].under_way == 0; }));
                return {};
            });
    });
}

TEST(ReverseProxy, HTTP_7_bytes_behind_a_response_are_nobodys_and_end_the_connection) {
    in_runtime(1, [] {
        Atomic<unsigned> connections{0};
        return with_upstream(
            [&](Peer& peer) {
                connections.fetch_add(1, std::memory_order_relaxed);
                while (!peer.read_request().empty())
                    peer.say(
                        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
                        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
            },
            [&](const Address& address, ReverseProxy&) -> Result<void> {
                RawPeer client = WEFT_TRY(RawPeer::connect(address));
                for (unsigned i = 1; i <= 3; ++i) {
                    EXPECT_EQ(body_of(client.ask("GET / HTTP/1.1\r\nHost: a\r\n\r\n")), "ok");
                    EXPECT_EQ(connections.load(std::memory_order_relaxed), i);
                }
                return {};
            });
    });
}

TEST(ReverseProxy, HTTP_7_the_fields_of_a_response_stay_when_its_body_is_replaced) {
    in_runtime(1, [] {
        return with_server(
            [](Peer& peer) {
                while (!peer.read_request().empty())
                    peer.say(
                        "HTTP/1.1 500 Oops\r\nX-Trace: abc\r\nContent-Length: 4\r\n"
                        "Connection: close\r\n\r\nugly");
            },
            [](const Address& upstream) -> Result<void> {
                ReverseProxy proxy =
                    WEFT_TRY(ReverseProxy::create({.upstreams = {url_of(upstream)}}));
                auto polite = [handler = proxy.handler()](
                                  Request& request, async::Context& context) -> Result<Response> {
                    Response response = WEFT_TRY(handler(request, context));
                    response.body = Body("sorry");
                    return response;
                };
                Server server(polite);
                Address address = WEFT_TRY(server.listen(Address::loopback(0)));
                auto serving = spawn([&] { return server.serve(); });
                std::string response = get(address);
                EXPECT_TRUE(has(response, "X-Trace: abc\r\n")) << response;
                EXPECT_EQ(body_of(response), "sorry");
                server.close();
                return serving.join();
            });
    });
}

TEST(ReverseProxy, HTTP_7_an_upstream_may_be_a_unix_socket) {
    in_runtime(1, []() -> Result<void> {
        weft::testing::Folder folder;
        Server upstream([](Request&, async::Context&) { return Response::text("by path"); });
        Address path = folder.socket_address("upstream");
        WEFT_TRY(upstream.listen(path));
        auto serving = spawn([&] { return upstream.serve(); });
        Result<void> outcome =
            with_proxy({.upstreams = {path.to_string()}},
                       [](const Address& address, ReverseProxy&) -> Result<void> {
                           EXPECT_EQ(body_of(get(address)), "by path");
                           return {};
                       });
        upstream.close();
        WEFT_TRY(serving.join());
        return outcome;
    });
}

}  // namespace
}  // namespace weft::http
