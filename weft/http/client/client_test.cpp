#include "weft/http/client/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <vector>

#include "weft/async/timeout.h"
#include "weft/net/socket.h"
#include "weft/sync/event.h"
#include "weft/testing/scripted_server.h"
#include "weft/testing/sockets.h"

namespace weft::http {
namespace {

using namespace testing;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::EndsWith;

Url url_of(const net::Address& address, std::string_view target = "/") {
    return *Url::parse("http://" + address.to_string() + std::string(target));
}

// A server that answers one request with these bytes, and closes.
auto answers_with(std::string bytes) {
    return [bytes](Peer& peer) {
        if (peer.read_request().empty()) return;
        peer.say(bytes);
    };
}

// Delays a slow server. False: its context has ended.
bool pause(Nanoseconds time) {
    auto waited = Event().wait_for(time);
    return waited || waited.error().kind() == ErrorKind::TimedOut;
}

Result<std::string> fetch(Client& client, const net::Address& address) {
    ClientResponse response = WEFT_TRY(client.send({.url = url_of(address)}));
    return response.read_all();
}

// The outcome of a request to a server that sends these bytes and closes.
Result<std::string> fetch_of(const std::string& bytes, ClientOptions options = {}) {
    Result<std::string> outcome = ErrorKind::Other;
    in_runtime(1, [&] {
        return with_server(answers_with(bytes), [&](const Address& address) -> Result<void> {
            Client client(options);
            outcome = fetch(client, address);
            return {};
        });
    });
    return outcome;
}

// ---------------------------------------------------------------- bad servers

TEST(Client, HTTP_5_nobody_there_is_refused_and_says_where) {
    in_runtime(1, []() -> Result<void> {
        Address address = WEFT_TRY(free_tcp_address());
        Client client;
        auto response = client.send({.url = url_of(address)});
        EXPECT_EQ(kind_of(response), ErrorKind::Refused);
        EXPECT_EQ(response.error().message(), "GET http://" + address.to_string() + "/: connect " +
                                                  address.to_string() + ": Connection refused");
        return {};
    });
}

TEST(Client, HTTP_5_a_server_that_closes_without_an_answer_is_an_error) {
    in_runtime(1, [] {
        return with_server([](Peer& peer) { peer.read_request(); },
                           [](const Address& address) -> Result<void> {
                               Client client;
                               EXPECT_EQ(kind_of(fetch(client, address)), ErrorKind::Closed);
                               return {};
                           });
    });
}

TEST(Client, HTTP_5_garbage_is_an_error) {
    EXPECT_EQ(kind_of(fetch_of("SSH-2.0-OpenSSH_9.2\r\n\r\n")), ErrorKind::Other);
    EXPECT_EQ(kind_of(fetch_of("HTTP/1.1 xyz\r\n\r\n")), ErrorKind::Other);
    EXPECT_EQ(kind_of(fetch_of("HTTP/1.1 200 OK\r\nbad field\r\n\r\n")), ErrorKind::Other);
    EXPECT_EQ(kind_of(fetch_of("HTTP/1.1 200 OK\nContent-Length: 2\n\nok")), ErrorKind::Other);
    EXPECT_EQ(kind_of(fetch_of("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
                               "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n")),
              ErrorKind::Other);
    EXPECT_EQ(kind_of(fetch_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")),
              ErrorKind::Other);
}

TEST(Client, HTTP_5_a_flood_of_fields_is_an_error) {
    std::string many = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n";
    for (int i = 0; i < 499; ++i) many += "x: y\r\n";
    EXPECT_EQ(fetch_of(many + "\r\nok"), "ok");
    EXPECT_FALSE(fetch_of(many + "x: y\r\n\r\nok"));
    std::string large = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n";
    std::string field = "x: " + std::string(65'000, 'y');
    EXPECT_EQ(fetch_of(large + field + "\r\n\r\nok"), "ok");
    EXPECT_FALSE(fetch_of(large + field + std::string(1000, 'y') + "\r\n\r\nok"));
}

TEST(Client, HTTP_5_what_old_and_later_servers_say_is_read) {
    EXPECT_EQ(fetch_of("HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length : 2\r\n\r\nok"), "ok");
    EXPECT_EQ(fetch_of("HTTP/1.2 200 OK\r\nContent-Length: 2\r\n\r\nok"), "ok");
    EXPECT_EQ(fetch_of("HTTP/1.1 799 Odd\r\nContent-Length: 2\r\n\r\nok"), "ok");
}

TEST(Client, HTTP_5_informational_responses_are_skipped_but_not_for_ever) {
    std::string info = "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n";
    std::string final = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    EXPECT_EQ(fetch_of("HTTP/1.1 100 Continue\r\n\r\n" + info + final), "ok");
    std::string flood;
    for (int i = 0; i < 1000; ++i) flood += info;
    EXPECT_EQ(kind_of(fetch_of(flood + final)), ErrorKind::Limit);
    EXPECT_EQ(kind_of(fetch_of("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n"
                               "Connection: upgrade\r\n\r\n")),
              ErrorKind::Other);
}

TEST(Client, HTTP_5_a_body_that_is_cut_off_is_closed_and_never_whole) {
    EXPECT_EQ(kind_of(fetch_of("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")),
              ErrorKind::Closed);
    EXPECT_EQ(
        kind_of(fetch_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")),
        ErrorKind::Closed);
    EXPECT_EQ(kind_of(fetch_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nha")),
              ErrorKind::Closed);
}

TEST(Client, HTTP_5_a_response_larger_than_allowed_is_a_limit) {
    std::string ten = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789";
    EXPECT_EQ(kind_of(fetch_of(ten, {.limits = {.body_bytes = 9}})), ErrorKind::Limit);
    EXPECT_EQ(fetch_of(ten, {.limits = {.body_bytes = 10}}), "0123456789");
    std::string open = "HTTP/1.0 200 OK\r\n\r\n0123456789";
    EXPECT_EQ(kind_of(fetch_of(open, {.limits = {.body_bytes = 9}})), ErrorKind::Limit);
}

// ---------------------------------------------------------------- slow servers

TEST(Client, HTTP_5_a_head_that_does_not_come_times_out_and_says_so) {
    in_runtime(1, [] {
        return with_server(
            [](Peer& peer) { EXPECT_TRUE(peer.read_request().size() && peer.wait_for_close()); },
            [](const Address& address) -> Result<void> {
                Client client({.timeouts = {.head = milliseconds(30)}});
                auto response = client.send({.url = url_of(address)});
                EXPECT_EQ(kind_of(response), ErrorKind::TimedOut);
                EXPECT_EQ(response.error().message(),
                          "GET http://" + address.to_string() +
                              "/: read the head of the response: timed out after 30 ms "
                              "(ClientTimeouts::head)");
                EXPECT_EQ(client.counters().idle, 0U);
                return {};
            });
    });
}

// When the backlog of a listener that never accepts is full, the kernel drops further connections.
TEST(Client, HTTP_5_a_connection_that_does_not_come_about_times_out_and_says_so) {
    in_runtime(1, []() -> Result<void> {
        net::Listener hole = WEFT_TRY(net::Listener::open(Address::loopback(0), {.backlog = 1}));
        std::vector<net::Socket> waiting;
        // A single time-out is no proof: that connection may have been accepted just too late.
        int dropped = 0;
        for (int i = 0; i < 10 && dropped < 2; ++i) {
            auto socket = net::Socket::connect(hole.address(), Deadline::after(milliseconds(30)));
            dropped = socket ? 0 : dropped + 1;
            if (socket) waiting.push_back(std::move(*socket));
        }
        EXPECT_EQ(dropped, 2);
        Client client({.timeouts = {.connect = milliseconds(30)}});
        Instant begun = Clock::now();
        auto response = client.send({.url = url_of(hole.address())});
        EXPECT_EQ(kind_of(response), ErrorKind::TimedOut);
        std::string place = hole.address().to_string();
        EXPECT_EQ(response.error().message(),
                  "GET http://" + place + "/: connect " + place +
                      ": timed out after 30 ms (ClientTimeouts::connect)");
        EXPECT_GE(Clock::now() - begun, milliseconds(30));
        EXPECT_EQ(client.counters().connected, 0U);
        return {};
    });
}

TEST(Client, NET_3b_a_text_is_read_as_a_url_and_an_error_names_it) {
    in_runtime(1, [] {
        return with_server(
            [](Peer& peer) {
                EXPECT_TRUE(peer.read_request().starts_with("POST /api HTTP/1.1\r\n"));
                peer.respond("ok");
            },
            [](const Address& address) -> Result<void> {
                Client client;
                std::string text = "http://" + address.to_string() + "/api";
                auto response = WEFT_TRY(client.send({.method = "POST", .url = text, .body = "x"}));
                EXPECT_EQ(WEFT_TRY(response.read_all()), "ok");
                EXPECT_EQ(response.url.to_string(), text);
                auto wrong = client.send({.method = "POST", .url = "htp://127.0.0.1/api"});
                EXPECT_EQ(kind_of(wrong), ErrorKind::Misuse);
                EXPECT_EQ(wrong.error().message(),
                          "htp://127.0.0.1/api is no URL: it does not begin with http:, https:, "
                          "ws: or wss:");
                EXPECT_EQ(client.send({}).error().message(), "the request has no URL");
                return {};
            });
    });
}

// A Url can only be made by parse().
static_assert(!std::is_aggregate_v<Url> && !std::is_default_constructible_v<Url>);
static_assert(!std::is_constructible_v<Url, const char*>);
static_assert(!std::is_constructible_v<Url, std::string>);

TEST(Client, NET_3b_a_limit_says_its_number_and_its_name) {
    auto message = [](const std::string& bytes, const ClientOptions& options = {}) {
        auto outcome = fetch_of(bytes, options);
        EXPECT_EQ(kind_of(outcome), ErrorKind::Limit);
        return outcome ? "no error" : outcome.error().message();
    };
    std::string many = "HTTP/1.1 200 OK\r\n";
    for (int i = 0; i < 501; ++i) many += "x: y\r\n";
    EXPECT_THAT(message(many + "\r\n"),
                EndsWith(": there are more fields than 500 (HeadLimits::fields)"));
    EXPECT_THAT(message("HTTP/1.1 200 OK\r\nx: " + std::string(70'000, 'y') + "\r\n\r\n"),
                EndsWith(": a field has more bytes than 65536 (HeadLimits::field_bytes)"));
    std::string large = "HTTP/1.1 200 OK\r\n";
    for (int i = 0; i < 5; ++i) large += "x: " + std::string(60'000, 'y') + "\r\n";
    EXPECT_THAT(message(large + "\r\n"),
                EndsWith(": the head has more bytes than 262144 (HeadLimits::head_bytes)"));
    EXPECT_THAT(
        message("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", {.limits = {.body_bytes = 4}}),
        EndsWith(": it has more bytes than 4 (ClientLimits::body_bytes)"));
}

TEST(Client, HTTP_5_a_body_that_stalls_times_out_and_says_so) {
    in_runtime(1, [] {
        return with_server(
            [](Peer& peer) {
                peer.read_request();
                peer.say("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf");
                EXPECT_TRUE(peer.wait_for_close());
            },
            [](const Address& address) -> Result<void> {
                Client client({.timeouts = {.idle = milliseconds(30)}});
                auto text = fetch(client, address);
                EXPECT_EQ(kind_of(text), ErrorKind::TimedOut);
                EXPECT_EQ(text.error().message(),
                          "read the body of the response of " + address.to_string() +
                              ": timed out after 30 ms (ClientTimeouts::idle)");
                return {};
            });
    });
}

TEST(Client, HTTP_5_the_total_time_ends_a_body_that_trickles) {
    in_runtime(1, [] {
        return with_server(
            [](Peer& peer) {
                peer.read_request();
                peer.say("HTTP/1.1 200 OK\r\n\r\n");
                while (pause(milliseconds(5)) && peer.socket().write_all(as_bytes("x"))) {}
            },
            [](const Address& address) -> Result<void> {
                Client client({.timeouts = {.total = seconds(1)}});
                auto text = fetch(client, address);
                EXPECT_EQ(kind_of(text), ErrorKind::TimedOut);
                EXPECT_EQ(text.error().message(),
                          "read the body of the response of " + address.to_string() +
                              ": timed out after 1000 ms (ClientTimeouts::total)");
                return {};
            });
    });
}

TEST(Client, HTTP_5_a_server_that_does_not_read_times_out_the_body) {
    in_runtime(1, [] {
        return with_server(
            [](Peer& peer) {
                peer.read_head();
                pause(seconds(10));
            },
            [](const Address& address) -> Result<void> {
                Client client({.timeouts = {.idle = milliseconds(30)}});
                ClientRequest request{
                    .method = "POST", .url = url_of(address), .body = std::string(32 << 20, 'x')};
                auto response = client.send(request);
                EXPECT_EQ(kind_of(response), ErrorKind::TimedOut);
                EXPECT_EQ(response.error().message(),
                          "POST http://" + address.to_string() +
                              "/: send the request: timed out after 30 ms (ClientTimeouts::idle)");
                return {};
            });
    });
}

TEST(Client, HTTP_5_the_callers_deadline_counts_and_is_passed_unchanged) {
    in_runtime(1, [] {
        return with_server(
            [](Peer& peer) {
                peer.read_request();
                EXPECT_TRUE(peer.wait_for_close());
            },
            [](const Address& address) -> Result<void> {
                Client client;
                auto limited = async::Context::current().with_timeout(milliseconds(20));
                CancelScope scope(limited.context.token());
                EXPECT_EQ(kind_of(fetch(client, address)), ErrorKind::TimedOut);
                EXPECT_TRUE(limited.context.is_done());
                return {};
            });
    });
}

// ---------------------------------------------------------------- requests

TEST(Client, HTTP_5_fields_that_belong_to_the_client_or_cannot_be_sent_are_misuse) {
    in_runtime(1, []() -> Result<void> {
        Client client;
        Url url = WEFT_TRY(Url::parse("http://127.0.0.1:1/"));
        for (const char* name : {"Connection", "Content-Length", "Transfer-Encoding", "Host",
                                 "Expect", "Upgrade", "TE", "Keep-Alive"}) {
            ClientRequest request{.url = url};
            request.headers.set(name, "5");
            EXPECT_EQ(kind_of(client.send(request)), ErrorKind::Misuse) << name;
        }
        ClientRequest injected{.url = url};
        injected.headers.set("x", "y\r\nEvil: 1");
        EXPECT_EQ(kind_of(client.send(injected)), ErrorKind::Misuse);
        EXPECT_EQ(kind_of(client.send({.method = "GET /x HTTP/1.1\r\nEvil: 1\r\n", .url = url})),
                  ErrorKind::Misuse);
        EXPECT_EQ(kind_of(client.send({.method = "CONNECT", .url = url})), ErrorKind::Misuse);
        EXPECT_EQ(kind_of(client.send({.url = "http://a/ HTTP/1.1\r\nEvil: 1\r\n\r\n"})),
                  ErrorKind::Misuse);
        EXPECT_EQ(kind_of(client.send({.url = "http://a\r\nb/"})), ErrorKind::Misuse);
        EXPECT_EQ(kind_of(client.send({})), ErrorKind::Misuse);
        EXPECT_FALSE(client.get("ftp://127.0.0.1/"));
        return {};
    });
}

TEST(Client, HTTP_5_the_head_says_what_the_request_is) {
    in_runtime(1, [] {
        std::string seen;
        return with_server(
            [&](Peer& peer) {
                seen = peer.read_request();
                peer.respond("ok", "X-Answer: 42\r\n");
            },
            [&](const Address& address) -> Result<void> {
                Client client;
                ClientRequest request{
                    .method = "PUT", .url = url_of(address, "/a?b=c"), .body = "hello"};
                request.headers.set("X-Question", "life");
                ClientResponse response = WEFT_TRY(client.send(request));
                EXPECT_EQ(response.status, 200);
                EXPECT_EQ(response.headers.get("x-answer"), "42");
                EXPECT_EQ(response.read_all(), "ok");
                EXPECT_TRUE(seen.starts_with("PUT /a?b=c HTTP/1.1\r\nHost: " + address.to_string() +
                                             "\r\n"));
                EXPECT_NE(seen.find("X-Question: life\r\n"), std::string::npos);
                EXPECT_NE(seen.find("Content-Length: 5\r\n"), std::string::npos);
                EXPECT_NE(seen.find("Accept-Encoding: gzip, br, zstd\r\n"), std::string::npos);
                EXPECT_TRUE(seen.ends_with("\r\n\r\nhello"));
                return {};
            });
    });
}

TEST(Client, HTTP_5_a_body_is_framed_by_its_size_by_chunks_or_by_the_end) {
    EXPECT_EQ(fetch_of("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), "ok");
    EXPECT_EQ(fetch_of("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), "");
    EXPECT_EQ(fetch_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                       "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nt: 1\r\n\r\n"),
              "abcde");
    EXPECT_EQ(fetch_of("HTTP/1.1 200 OK\r\n\r\nto the end"), "to the end");
    EXPECT_EQ(fetch_of("HTTP/1.0 200 OK\r\n\r\nold"), "old");
    EXPECT_EQ(fetch_of("HTTP/1.1 204 No Content\r\n\r\n"), "");
}

TEST(Client, HTTP_5_a_response_to_HEAD_has_no_body) {
    in_runtime(1, [] {
        return with_server(
            [&](Peer& peer) {
                while (peer.read_request().starts_with("HEAD"))
                    peer.say("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
            },
            [&](const Address& address) -> Result<void> {
                Client client;
                for (int i = 0; i < 3; ++i) {
                    ClientResponse response =
                        WEFT_TRY(client.send({.method = "HEAD", .url = url_of(address)}));
                    EXPECT_EQ(response.headers.get("content-length"), "1000");
                    EXPECT_EQ(response.read_all(), "");
                }
                EXPECT_EQ(client.counters().connected, 1U);
                return {};
            });
    });
}

TEST(Client, HTTP_5_trailers_can_be_read_after_the_end) {
    in_runtime(1, [] {
        return with_server(answers_with("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                                        "2\r\nok\r\n0\r\nX-Sum: 7\r\n\r\n"),
                           [&](const Address& address) -> Result<void> {
                               Client client;
                               ClientResponse response =
                                   WEFT_TRY(client.send({.url = url_of(address)}));
                               EXPECT_EQ(response.read_all(), "ok");
                               EXPECT_EQ(response.body().trailers().get("x-sum"), "7");
                               return {};
                           });
    });
}

}  // namespace
}  // namespace weft::http
