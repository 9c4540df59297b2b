#include "weft/http/server/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <string>

#include "weft/base/format.h"
#include "weft/base/log_limit.h"
#include "weft/http/internal/server_test.h"
#include "weft/sync/event.h"
#include "weft/testing/captured_log.h"
#include "weft/testing/eventually.h"

namespace weft::http {
namespace {

using namespace std::chrono_literals;
using async::Context;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::RawClient;
using ::testing::StartsWith;
using testing::TestServer;

Result<Response> echo(Request& request, Context&) {
    std::string body = WEFT_TRY(request.body().read_all());
    std::string text(request.method());
    text.append(" ").append(request.path()).append(" ").append(body);
    for (const auto& field : request.body().trailers())
        text.append(" ").append(field.name).append("=").append(field.value);
    return Response::text(std::move(text));
}

using testing::kGet;

TEST(Server, HTTP_1_a_request_is_answered_and_the_connection_kept) {
    TestServer server(echo);
    RawClient client = server.connect();
    for (int round = 0; round < 3; ++round) {
        client.send("GET /a?b HTTP/1.1\r\nHost: x\r\n\r\n");
        std::string response = client.read_response();
        EXPECT_THAT(response, StartsWith("HTTP/1.1 200 OK\r\n"));
        EXPECT_THAT(response, HasSubstr("\r\nDate: "));
        EXPECT_THAT(response, EndsWith("\r\n\r\nGET /a "));
    }
    EXPECT_TRUE(
        weft::testing::eventually([&] { return server.server().counters().responses == 3; }));
    EXPECT_EQ(server.server().counters().accepted, 1U);
}

TEST(Server, HTTP_1_pipelined_requests_are_answered_in_order) {
    TestServer server(echo);
    RawClient client = server.connect();
    std::string requests;
    for (int index = 0; index < 50; ++index)
        requests += "GET /" + std::to_string(index) + " HTTP/1.1\r\nHost: x\r\n\r\n";
    client.send(requests);
    for (int index = 0; index < 50; ++index)
        EXPECT_THAT(client.read_response(), EndsWith("GET /" + std::to_string(index) + " "));
}

TEST(Server, HTTP_1_a_pipelined_request_that_waits_does_not_hold_back_the_responses_before_it) {
    Event go;
    TestServer server([&](Request& request, Context&) -> Result<Response> {
        if (request.path() == "/slow") WEFT_TRY(go.wait());
        return Response::text(std::string(request.path()));
    });
    RawClient client = server.connect();
    std::string requests;
    for (std::string_view path : {"/1", "/2", "/slow", "/3"})
        requests.append("GET ").append(path).append(" HTTP/1.1\r\nHost: x\r\n\r\n");
    client.send(requests);
    EXPECT_THAT(client.read_response(), EndsWith("/1"));
    EXPECT_THAT(client.read_response(), EndsWith("/2"));
    go.set();
    EXPECT_THAT(client.read_response(), EndsWith("/slow"));
    EXPECT_THAT(client.read_response(), EndsWith("/3"));
}

TEST(Server, HTTP_1_pipelined_requests_stay_in_order_whatever_their_handlers_do) {
    // Each chooses by its number whether it waits, yields, computes or fails.
    TestServer server([](Request& request, Context&) -> Result<Response> {
        std::string path(request.path());
        switch (std::atoi(path.c_str() + 1) % 7) {
        case 1: WEFT_TRY(weft::sleep_for(100us)); break;
        case 3: yield(); break;
        case 4: WEFT_TRY(spawn([] { yield(); }).join()); break;
        case 6: return Response::text(std::move(path), 500);
        default: break;
        }
        return Response::text(std::move(path));
    });
    std::vector<RawClient> clients;
    for (int count = 0; count < 8; ++count) clients.push_back(server.connect());
    for (int round = 0; round < 5; ++round) {
        std::string requests;
        for (int index = 0; index < 40; ++index)
            requests += "GET /" + std::to_string(round + index) + " HTTP/1.1\r\nHost: x\r\n\r\n";
        for (RawClient& client : clients) client.send(requests);
        for (RawClient& client : clients) {
            for (int index = 0; index < 40; ++index)
                EXPECT_THAT(client.read_response(),
                            EndsWith("\r\n\r\n/" + std::to_string(round + index)));
        }
    }
}

TEST(Server, HTTP_1_a_head_that_comes_byte_by_byte_is_one_head) {
    TestServer server(echo);
    RawClient client = server.connect();
    for (char byte :
         std::string_view("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"))
        client.send({&byte, 1});
    EXPECT_THAT(client.read_response(), EndsWith("POST /x abc"));
}

TEST(Server, HTTP_1_a_chunked_body_and_its_trailers_are_read) {
    TestServer server(echo);
    RawClient client = server.connect();
    client.send(
        "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        "5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nChecksum: 7\r\n\r\n");
    EXPECT_THAT(client.read_response(), EndsWith("POST /c hello world Checksum=7"));
    client.send(kGet);
    EXPECT_THAT(client.read_response(), EndsWith("GET / "));
}

TEST(Server, HTTP_1_a_produced_body_is_sent_in_chunks_with_trailers) {
    TestServer server([](Request&, Context&) {
        return Response::stream("text/plain", [](BodyWriter& writer) -> Result<void> {
            WEFT_TRY(writer.write("one "));
            WEFT_TRY(writer.flush());
            WEFT_TRY(writer.write("two"));
            writer.trailers().set("checksum", "9");
            return {};
        });
    });
    RawClient client = server.connect();
    client.send(kGet);
    EXPECT_THAT(client.read_until("0\r\nchecksum: 9\r\n\r\n"),
                EndsWith("\r\n\r\n4\r\none \r\n3\r\ntwo\r\n0\r\nchecksum: 9\r\n\r\n"));
    client.send(kGet);
    EXPECT_THAT(client.read_until("checksum: 9\r\n\r\n"), HasSubstr("Transfer-Encoding: chunked"));
}

TEST(Server, HTTP_1_a_chunk_of_any_size_is_whole) {
    const std::array<std::size_t, 6> sizes{1, 15, 16, 4095, 4096, 20'000};
    TestServer server([&](Request&, Context&) {
        return Response::stream("text/plain", [&](BodyWriter& writer) -> Result<void> {
            for (std::size_t size : sizes) {
                // Gathered, and what does not fit beside it.
                WEFT_TRY(writer.write("a"));
                WEFT_TRY(writer.write(std::string(size, 'b')));
                WEFT_TRY(writer.flush());
            }
            return {};
        });
    });
    RawClient client = server.connect();
    client.send(kGet);
    std::string expected;
    for (std::size_t size : sizes)
        expected += format("{:x}\r\na{}\r\n", size + 1, std::string(size, 'b'));
    EXPECT_THAT(client.read_until("\r\n0\r\n\r\n"), EndsWith("\r\n\r\n" + expected + "0\r\n\r\n"));
}

TEST(Server, HTTP_1_a_produced_body_that_fails_is_cut_off_behind_a_whole_chunk) {
    TestServer server([](Request&, Context&) {
        return Response::stream("text/plain", [](BodyWriter& writer) -> Result<void> {
            WEFT_TRY(writer.write("\r\n\r\n"));
            return ErrorKind::Other;
        });
    });
    EXPECT_THAT(server.ask(std::string(kGet)), EndsWith("chunked\r\n\r\n4\r\n\r\n\r\n\r\n"));
}

TEST(Server, HTTP_1_http_1_0_gets_no_chunks_and_keeps_alive_only_when_asked) {
    TestServer server([](Request& request, Context&) {
        if (request.path() == "/stream") {
            return Response::stream("text/plain",
                                    [](BodyWriter& writer) { return writer.write("all of it"); });
        }
        return Response::text("text");
    });
    std::string streamed = server.ask("GET /stream HTTP/1.0\r\n\r\n");
    EXPECT_THAT(streamed, EndsWith("\r\n\r\nall of it"));
    EXPECT_THAT(streamed, Not(HasSubstr("chunked")));
    EXPECT_THAT(server.ask("GET / HTTP/1.0\r\n\r\n"), HasSubstr("Connection: close"));
    RawClient client = server.connect();
    client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_THAT(client.read_response(), HasSubstr("Connection: keep-alive"));
    client.send("GET / HTTP/1.0\r\n\r\n");
    EXPECT_THAT(client.read_to_end(), EndsWith("text"));
}

TEST(Server, HTTP_1_head_has_the_length_but_not_the_body) {
    TestServer server([](Request&, Context&) { return Response::text("twelve chars"); });
    std::string response = server.ask("HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    EXPECT_THAT(response, HasSubstr("Content-Length: 12\r\n"));
    EXPECT_THAT(response, EndsWith("\r\n\r\n"));
}

TEST(Server, HTTP_1_a_304_without_a_body_says_no_length) {
    TestServer server([](Request&, Context&) { return Response::plain(304); });
    std::string response = server.ask("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    EXPECT_THAT(response, StartsWith("HTTP/1.1 304 Not Modified\r\n"));
    EXPECT_THAT(response, Not(HasSubstr("Content-Length")));
}

TEST(Server, HTTP_1_a_304_whose_length_nobody_knows_has_no_coding) {
    TestServer server([](Request&, Context&) {
        Response response =
            Response::stream("text/plain", [](BodyWriter&) -> Result<void> { return {}; });
        response.status = 304;
        return response;
    });
    std::string response = server.ask("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    EXPECT_THAT(response, StartsWith("HTTP/1.1 304 Not Modified\r\n"));
    EXPECT_THAT(response, Not(HasSubstr("Transfer-Encoding")));
}

TEST(Server, HTTP_1_expect_is_answered_when_the_body_is_wanted) {
    TestServer server(echo);
    RawClient client = server.connect();
    client.send("POST /e HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
    EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    client.send("body");
    EXPECT_THAT(client.read_response(), EndsWith("POST /e body"));
}

TEST(Server, HTTP_1_expect_behind_other_requests_is_answered_after_them) {
    TestServer server(echo);
    RawClient client = server.connect();
    client.send(std::string(kGet) +
                "POST /e HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
    EXPECT_THAT(client.read_response(), EndsWith("GET / "));
    EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    client.send("body");
    EXPECT_THAT(client.read_response(), EndsWith("POST /e body"));
}

TEST(Server, HTTP_1_expect_is_not_answered_when_the_body_is_not_wanted) {
    TestServer server([](Request&, Context&) { return Response::plain(403); });
    std::string response = server.ask(
        "POST /e HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
    EXPECT_THAT(response, StartsWith("HTTP/1.1 403 Forbidden\r\n"));
    EXPECT_THAT(response, HasSubstr("Connection: close"));
}

// Switches to a protocol that gives back the first eight letters, in capitals.
Result<Response> shout(Request& request, Context&) {
    EXPECT_TRUE(request.upgrades());
    Response response;
    response.status = 101;
    response.headers.set("upgrade", "shout");
    response.upgrade = [](Upgraded& connection) {
        std::string text(as_text(connection.early));
        std::array<std::byte, 64> space;
        while (text.size() < 8) {
            auto count = connection.stream.read(space);
            if (!count || *count == 0) return;
            text.append(as_text(std::span(space).first(*count)));
        }
        for (char& letter : text) letter = static_cast<char>(std::toupper(letter));
        EXPECT_TRUE(connection.stream.write_all(as_bytes(text)));
    };
    return response;
}

TEST(Server, HTTP_1_upgrade_hands_the_connection_over_with_what_came_early) {
    TestServer server(shout);
    RawClient client = server.connect();
    client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: shout\r\n\r\nearl");
    EXPECT_THAT(client.read_until("\r\n\r\n"), HasSubstr("Connection: upgrade\r\n"));
    client.send("late");
    EXPECT_EQ(client.read_to_end(), "EARLLATE");
}

TEST(Server, HTTP_1_the_body_of_a_request_that_upgrades_is_not_taken_for_the_other_protocol) {
    TestServer server(shout);
    constexpr std::string_view kFields =
        "POST / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: shout\r\n";
    for (std::string_view body : {"Content-Length: 4\r\n\r\nbody",
                                  "Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n"}) {
        RawClient client = server.connect();
        client.send(std::string(kFields) + std::string(body) + "earl");
        EXPECT_THAT(client.read_until("\r\n\r\n"), StartsWith("HTTP/1.1 101 "));
        client.send("late");
        EXPECT_EQ(client.read_to_end(), "EARLLATE");
    }
    RawClient client = server.connect();
    client.send(std::string(kFields) + "Content-Length: 4\r\nExpect: 100-continue\r\n\r\n");
    EXPECT_THAT(client.read_until("\r\n\r\n"), StartsWith("HTTP/1.1 100 "));
    client.send("body");
    EXPECT_THAT(client.read_until("\r\n\r\n"), StartsWith("HTTP/1.1 101 "));
    client.send("earllate");
    EXPECT_EQ(client.read_to_end(), "EARLLATE");
}

TEST(Server, HTTP_1_an_upgrade_is_in_the_access_log_before_the_other_protocol_begins) {
    Atomic<int> logged{0};
    ServerOptions options;
    options.on_access = [&](const AccessRecord& record) {
        EXPECT_EQ(record.status, 101);
        EXPECT_TRUE(record.complete);
        EXPECT_EQ(record.request->target(), "/shout");
        logged.fetch_add(1, std::memory_order_relaxed);
    };
    TestServer server(shout, options);
    RawClient client = server.connect();
    client.send("GET /shout HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: shout\r\n\r\n");
    EXPECT_THAT(client.read_until("\r\n\r\n"), StartsWith("HTTP/1.1 101 "));
    EXPECT_TRUE(
        weft::testing::eventually([&] { return logged.load(std::memory_order_relaxed) == 1; }));
    client.send("earllate");
    EXPECT_EQ(client.read_to_end(), "EARLLATE");
}

TEST(Server, HTTP_1_limits_have_their_status) {
    ServerOptions options;
    options.limits.body_bytes = 10;
    TestServer server(echo, options);
    auto status = [&](std::string_view request) { return server.ask(request).substr(0, 12); };
    EXPECT_EQ(status("GET /\r\n\r\n"), "HTTP/1.1 400");
    EXPECT_EQ(status("GET / HTTP/1.1\r\n\r\n"), "HTTP/1.1 400");
    EXPECT_EQ(status("GET / HTTP/3.0\r\nHost: x\r\n\r\n"), "HTTP/1.1 505");
    EXPECT_EQ(status("GET /" + std::string(9000, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n"),
              "HTTP/1.1 414");
    std::string fields;
    for (int index = 0; index < 101; ++index) fields += "a: b\r\n";
    EXPECT_EQ(status("GET / HTTP/1.1\r\nHost: x\r\n" + fields + "\r\n"), "HTTP/1.1 431");
    EXPECT_EQ(status("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\nhello world"),
              "HTTP/1.1 413");
    EXPECT_EQ(status("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                     "b\r\nhello world\r\n0\r\n\r\n"),
              "HTTP/1.1 413");
    EXPECT_EQ(status("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n"),
              "HTTP/1.1 501");
    EXPECT_EQ(status("GET / HTTP/1.1\r\nHost: x\r\nExpect: a miracle\r\n\r\n"), "HTTP/1.1 417");
    EXPECT_TRUE(weft::testing::eventually([&] { return server.server().connections() == 0; }));
}

TEST(Server, HTTP_1_after_a_refused_request_nothing_more_is_read) {
    TestServer server(echo);
    std::string answer = server.ask(
        "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
        "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 400"));
    EXPECT_THAT(answer, Not(HasSubstr("smuggled")));
}

TEST(Server, HTTP_1_a_body_that_nobody_read_is_dropped_before_the_next_request) {
    TestServer server(
        [](Request& request, Context&) { return Response::text(std::string(request.path())); });
    RawClient client = server.connect();
    client.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 27\r\n\r\n" + std::string(kGet) +
                "GET /b HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(client.read_response(), EndsWith("/a"));
    EXPECT_THAT(client.read_response(), EndsWith("/b"));
}

TEST(Server, HTTP_3_what_a_handler_throws_or_returns_as_error_is_500) {
    TestServer server([](Request& request, Context&) -> Result<Response> {
        if (request.path() == "/throw") throw std::runtime_error("thrown");
        return Error(ErrorKind::Other, "returned");
    });
    RawClient client = server.connect();
    client.send("GET /throw HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(client.read_response(), StartsWith("HTTP/1.1 500 "));
    client.send(kGet);
    EXPECT_THAT(client.read_response(), StartsWith("HTTP/1.1 500 "));
}

TEST(Server, NET_3b_a_request_that_fails_again_and_again_does_not_fill_the_log) {
    weft::testing::CapturedLog captured;
    TestServer server([](Request& request, Context&) -> Result<Response> {
        return Error(ErrorKind::Other, request.path() == "/other" ? "another" : "the same");
    });
    RawClient client = server.connect();
    for (int i = 0; i < 100; ++i) {
        client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
        client.read_response();
    }
    client.send("GET /other HTTP/1.1\r\nHost: x\r\n\r\n");
    client.read_response();
    EXPECT_EQ(captured.lines().size(), LogLimit::kLines + 1);
    EXPECT_TRUE(captured.contains("another"));
}

TEST(Server, NET_3b_a_failure_of_a_handler_is_logged_once_with_its_request) {
    weft::testing::CapturedLog captured;
    TestServer server([](Request& request, Context&) -> Result<Response> {
        if (request.path() == "/throw") throw std::runtime_error("thrown");
        if (request.path() == "/split") return Response::text("a").with("x-name", "a\r\nb: c");
        if (request.path() == "/late") return ErrorKind::TimedOut;
        if (request.path() == "/body") {
            Response response;
            response.body = Body::produced(
                [](BodyWriter&) { return Result<void>(Error(ErrorKind::Other, "no more")); });
            return response;
        }
        return Error(ErrorKind::NotFound, ENOENT).with_context("open", "users.db");
    });
    RawClient client = server.connect();
    client.send(
        "POST /users?key=secret HTTP/1.1\r\nHost: x\r\nX-Request-Id: a-1\r\n"
        "Content-Length: 0\r\n\r\n");
    EXPECT_THAT(client.read_response(), HasSubstr("x-request-id: a-1\r\n"));
    client.send("GET /throw HTTP/1.1\r\nHost: x\r\n\r\n");
    std::string response = client.read_response();
    std::size_t id_at = response.find("x-request-id: ") + 14;
    std::string id = response.substr(id_at, response.find("\r\n", id_at) - id_at);
    EXPECT_EQ(id.size(), 16U) << response;
    client.send("GET /split HTTP/1.1\r\nHost: x\r\nX-Request-Id: a-2\r\n\r\n");
    client.read_response();
    // An expected end: counted, and no line.
    client.send("GET /late HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(client.read_response(), StartsWith("HTTP/1.1 503 "));
    EXPECT_EQ(server.server().counters().timeouts, 1U);
    client.send("GET /body HTTP/1.1\r\nHost: x\r\nX-Request-Id: a-3\r\n\r\n");
    client.read_to_end();
    EXPECT_THAT(captured.lines(),
                ElementsAre(HasSubstr("http: POST /users failed (request a-1): open users.db: "
                                      "No such file or directory"),
                            HasSubstr("http: GET /throw failed (request " + id + "): thrown"),
                            HasSubstr("http: GET /split failed (request a-2): the response cannot"),
                            HasSubstr("http: GET /body failed (request a-3): no more")));
}

TEST(Server, HTTP_3_a_response_that_would_split_is_500) {
    TestServer server([](Request& request, Context&) {
        if (request.path() == "/length") return Response::text("a").with("content-length", "9");
        return Response::text("a").with("x-name", "a\r\nSet-Cookie: stolen=1");
    });
    RawClient client = server.connect();
    client.send(kGet);
    std::string response = client.read_response();
    EXPECT_THAT(response, StartsWith("HTTP/1.1 500 "));
    EXPECT_THAT(response, Not(HasSubstr("stolen")));
    client.send("GET /length HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(client.read_response(), StartsWith("HTTP/1.1 500 "));
}

TEST(Server, HTTP_3_a_port_where_another_server_listens_is_in_use) {
    Handler handler = [](Request&, async::Context&) { return Response::plain(200); };
    TestServer first(handler, {}, {.workers = 2});
    Result<void> outcome = run(
        [&]() -> Result<void> {
            Server second(handler);
            auto refused = second.listen(first.address());
            EXPECT_EQ(refused ? ErrorKind::Other : refused.error().kind(), ErrorKind::AddressInUse);
            EXPECT_TRUE(second.listen(first.address(), {.reuse_port = net::ReusePort::Yes}));
            return {};
        },
        {.workers = 2});
    EXPECT_TRUE(outcome);
}

TEST(Server, HTTP_3_a_slow_reader_holds_the_producer_back) {
    Atomic<std::size_t> produced{0};
    TestServer server([&](Request&, Context&) {
        return Response::stream("text/plain", [&](BodyWriter& writer) -> Result<void> {
            std::string piece(64 * 1024, 'x');
            for (int index = 0; index < 1024; ++index) {
                WEFT_TRY(writer.write(piece));
                produced.fetch_add(piece.size(), std::memory_order_relaxed);
            }
            return {};
        });
    });
    RawClient client = server.connect();
    client.send(kGet);
    client.read_until("\r\n\r\n");
    std::size_t before = 0;
    // It stands still when the buffers of the kernel are full, long before the end.
    ASSERT_TRUE(weft::testing::eventually([&] {
        std::size_t now = produced.load(std::memory_order_relaxed);
        bool stands = now == before && now > 0;
        before = now;
        if (!stands) static_cast<void>(weft::sleep_for(50ms));
        return stands;
    }));
    EXPECT_LT(before, 32U * 1024 * 1024);
    // 1,024 chunks of 10000\r\n...\r\n.
    EXPECT_EQ(client.read_count(1024 * (7 + 65536 + 2) + 5).size(), 1024U * (7 + 65536 + 2) + 5);
    EXPECT_EQ(produced.load(std::memory_order_relaxed), 64U * 1024 * 1024);
}

TEST(Server, HTTP_3_a_handler_that_does_not_read_holds_the_sender_back) {
    Event go;
    ServerOptions options;
    options.limits.body_bytes = 1 << 30;
    TestServer server(
        [&](Request& request, Context&) -> Result<Response> {
            WEFT_TRY(go.wait());
            std::string body = WEFT_TRY(request.body().read_all());
            return Response::text(std::to_string(body.size()));
        },
        options);
    RawClient client = server.connect();
    constexpr std::size_t kSize = 64 * 1024 * 1024;
    client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(kSize) +
                "\r\n\r\n");
    std::string body(kSize, 'x');
    Bytes rest = as_bytes(body);
    for (;;) {
        std::size_t sent = client.socket().try_write(std::span(&rest, 1)).value();
        if (sent == 0) break;
        rest = rest.subspan(sent);
    }
    EXPECT_GT(rest.size(), kSize / 2);
    go.set();
    // So much takes its time where a fiber moves to another worker at every switch.
    ASSERT_TRUE(client.socket().write_all(rest, Deadline::after(6 * testing::kPatience)));
    EXPECT_THAT(client.read_response(), EndsWith(std::to_string(kSize)));
}

TEST(Server, HTTP_3_the_context_ends_when_the_client_goes_away) {
    Event entered;
    Event left;
    TestServer server([&](Request&, Context& context) -> Result<Response> {
        entered.set();
        Event never;
        Result<void> outcome = never.wait();
        EXPECT_EQ(outcome.error().kind(), ErrorKind::Cancelled);
        EXPECT_TRUE(context.is_done());
        left.set();
        return outcome.error();
    });
    RawClient client = server.connect();
    client.send(kGet);
    ASSERT_TRUE(entered.wait_for(testing::kPatience));
    client.close();
    EXPECT_TRUE(left.wait_for(testing::kPatience));
    EXPECT_TRUE(weft::testing::eventually([&] { return server.server().counters().gone == 1; }));
}

TEST(Server, HTTP_3_a_half_closed_client_is_gone_unless_that_is_allowed) {
    for (HalfClose half_close : {HalfClose::IsGone, HalfClose::IsAllowed}) {
        ServerOptions options;
        options.half_close = half_close;
        Event entered;
        Event go;
        TestServer server(
            [&](Request&, Context&) -> Result<Response> {
                entered.set();
                WEFT_TRY(go.wait());
                return Response::text("late");
            },
            options);
        RawClient client = server.connect();
        client.send(kGet);
        ASSERT_TRUE(entered.wait_for(testing::kPatience));
        client.finish();
        if (half_close == HalfClose::IsGone) {
            EXPECT_THAT(client.read_to_end(), Not(HasSubstr("late")));
        } else {
            go.set();
            EXPECT_THAT(client.read_to_end(), EndsWith("late"));
        }
    }
}

TEST(Server, HTTP_3_a_request_that_takes_too_long_gets_503) {
    ServerOptions options;
    options.limits.request_time = 20ms;
    TestServer server(
        [](Request&, Context&) -> Result<Response> {
            Event never;
            WEFT_TRY(never.wait());
            return Response::text("never");
        },
        options);
    RawClient client = server.connect();
    client.send(kGet);
    EXPECT_THAT(client.read_response(), StartsWith("HTTP/1.1 503 "));
}

}  // namespace
}  // namespace weft::http
