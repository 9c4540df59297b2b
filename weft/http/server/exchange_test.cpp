// What one exchange leaves behind: how the response is framed and how the connection goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/http/internal/server_test.h"
#include "weft/sync/event.h"

namespace weft::http {
namespace {

using async::Context;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::RawClient;
using ::testing::StartsWith;
using testing::TestServer;

using testing::kGet;

TEST(Exchange, HTTP_1_a_body_that_is_too_long_to_drop_ends_the_connection_without_a_reset) {
    TestServer server([](Request&, Context&) { return Response::plain(404); });
    RawClient client = server.connect();
    client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999\r\n\r\n" +
                std::string(100'000, 'a'));
    EXPECT_THAT(client.read_response(), HasSubstr("\r\nConnection: close\r\n"));
    EXPECT_TRUE(client.is_ended());
    EXPECT_FALSE(client.was_reset());
}

TEST(Exchange, HTTP_1_a_body_that_turns_out_too_long_ends_the_connection_without_a_reset) {
    ServerOptions options;
    options.limits.linger_bytes = 100'000;
    TestServer server([](Request&, Context&) { return Response::plain(404); }, options);
    RawClient client = server.connect();
    client.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nfffff\r\n" +
                std::string(180'000, 'a'));
    EXPECT_THAT(client.read_to_end(), StartsWith("HTTP/1.1 404 "));
    EXPECT_FALSE(client.was_reset());
}

// Two things tell of it, the end of the stream and the end of the context: the answer is one.
TEST(Exchange, HTTP_1_a_body_that_the_client_cuts_off_gets_400_whatever_the_handler_was_at) {
    for (std::string_view framing :
         {"Content-Length: 5\r\n\r\nhe", "Transfer-Encoding: chunked\r\n\r\n5\r\nhe"}) {
        TestServer server([](Request&, Context& context) -> Result<Response> {
            WEFT_TRY(Event().wait_until(Deadline::never(), context.done()));
            return Response::text("never");
        });
        RawClient client = server.connect();
        client.send("POST / HTTP/1.1\r\nHost: x\r\n" + std::string(framing));
        client.finish();
        EXPECT_THAT(client.read_to_end(), StartsWith("HTTP/1.1 400 "));
    }
}

TEST(Exchange, HTTP_1_an_upgrade_behind_a_body_that_is_too_long_is_refused) {
    TestServer server([](Request&, Context&) {
        Response response;
        response.status = 101;
        response.headers.set("upgrade", "say");
        response.upgrade = [](Upgraded&) { ADD_FAILURE(); };
        return response;
    });
    std::string answer = server.ask(
        "POST / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: say\r\n"
        "Content-Length: 9999999\r\n\r\nbody");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 400 "));
}

TEST(Exchange, HTTP_1_a_response_that_offers_an_upgrade_says_so_for_the_connection) {
    TestServer server(
        [](Request&, Context&) { return Response::plain(426).with("upgrade", "websocket"); });
    RawClient client = server.connect();
    client.send(kGet);
    EXPECT_THAT(client.read_response(), HasSubstr("\r\nConnection: upgrade\r\n"));
    client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    EXPECT_THAT(client.read_response(), HasSubstr("\r\nConnection: upgrade, keep-alive\r\n"));
    client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    EXPECT_THAT(client.read_response(), HasSubstr("\r\nConnection: upgrade, close\r\n"));
    EXPECT_TRUE(client.is_ended());
}

TEST(Exchange, HTTP_1_the_server_field_of_a_handler_stands_alone) {
    ServerOptions options;
    options.server_name = "ours";
    TestServer server([](Request&, Context&) { return Response::plain(200).with("server", "its"); },
                      options);
    RawClient client = server.connect();
    client.send(kGet);
    std::string response = client.read_response();
    EXPECT_THAT(response, HasSubstr("server: its\r\n"));
    EXPECT_THAT(response, Not(HasSubstr("ours")));
}

TEST(Exchange, HTTP_1_a_CONNECT_succeeds_only_for_who_takes_the_connection) {
    TestServer server([](Request& request, Context&) {
        Response response = Response::text("a page");
        if (request.host() == "b:1") {
            response.upgrade = [](Upgraded& connection) {
                EXPECT_TRUE(connection.stream.write_all(as_bytes("a tunnel")));
            };
        }
        return response;
    });
    RawClient client = server.connect();
    client.send("CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n");
    EXPECT_THAT(client.read_response(), StartsWith("HTTP/1.1 501 "));
    client.send("CONNECT b:1 HTTP/1.1\r\nHost: b:1\r\n\r\n");
    std::string tunnel = client.read_to_end();
    EXPECT_THAT(tunnel, StartsWith("HTTP/1.1 200 "));
    EXPECT_THAT(tunnel, EndsWith("\r\n\r\na tunnel"));
}

TEST(Exchange, HTTP_3_a_response_that_is_not_the_last_is_500) {
    TestServer server([](Request& request, Context&) {
        return Response::plain(request.path() == "/101" ? 101 : 103);
    });
    RawClient client = server.connect();
    client.send(kGet);
    EXPECT_THAT(client.read_response(), StartsWith("HTTP/1.1 500 "));
    client.send("GET /101 HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(client.read_response(), StartsWith("HTTP/1.1 500 "));
}

TEST(Exchange, HTTP_1_a_head_that_is_refused_gets_no_body) {
    TestServer server([](Request&, Context&) { return Response::plain(200); });
    std::string response = server.ask("HEAD / HTTP/1.1\r\n\r\n");
    EXPECT_THAT(response, StartsWith("HTTP/1.1 400 "));
    EXPECT_THAT(response, EndsWith("\r\n\r\n"));
    EXPECT_THAT(server.ask("GET / HTTP/1.1\r\n\r\n"), EndsWith("\r\n\r\nno Host field\n"));
}

TEST(Exchange, HTTP_1h_a_body_that_is_refused_is_told_why) {
    TestServer server([](Request& request, Context&) -> Result<Response> {
        return Response::text(WEFT_TRY(request.body().read_all()));
    });
    constexpr std::string_view kPost = "POST / HTTP/1.1\r\nHost: a\r\n";
    std::string chunked = std::string(kPost) + "Transfer-Encoding: chunked\r\n\r\n";
    EXPECT_THAT(server.ask(chunked + "zz\r\n"), HasSubstr("\r\n\r\nthe body is malformed: "));
    EXPECT_THAT(server.ask(std::string(kPost) + "Content-Length: 9999999\r\n\r\n"),
                HasSubstr("\r\n\r\nthe body has more bytes than 1048576 (body_bytes)\n"));
    RawClient client = server.connect();
    client.send(chunked + "5\r\nhe");
    client.finish();
    EXPECT_THAT(client.read_to_end(), EndsWith("\r\n\r\nthe body was cut off\n"));
}

TEST(Exchange, HTTP_1_a_handler_may_answer_with_any_status_of_three_digits) {
    TestServer server([](Request&, Context&) { return Response::text("odd", 799); });
    RawClient client = server.connect();
    client.send(kGet);
    EXPECT_THAT(client.read_response(), StartsWith("HTTP/1.1 799 \r\n"));
}

TEST(Exchange, HTTP_1_a_205_has_no_content) {
    TestServer server([](Request& request, Context&) {
        if (request.path() == "/text") return Response::text("a text", 205);
        Response response = Response::stream(
            "text/plain", [](BodyWriter& writer) { return writer.write("a stream"); });
        response.status = 205;
        return response;
    });
    RawClient client = server.connect();
    for (std::string_view path : {"/text", "/stream"}) {
        client.send("GET " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n\r\n");
        std::string response = client.read_response();
        EXPECT_THAT(response, StartsWith("HTTP/1.1 205 "));
        EXPECT_THAT(response, HasSubstr("\r\nContent-Length: 0\r\n"));
    }
}

TEST(Exchange, HTTP_1_pieces_that_are_written_together_are_one_chunk) {
    std::string many;
    for (int i = 0; i < 40; ++i) many += std::string(1'000, static_cast<char>('A' + i % 26));
    TestServer server([&](Request& request, Context&) {
        if (request.path() == "/many") {
            return Response::stream("text/plain", [&](BodyWriter& writer) {
                std::vector<Bytes> pieces;
                for (std::size_t at = 0; at < many.size(); at += 1'000)
                    pieces.push_back(as_bytes(many).subspan(at, 1'000));
                return writer.write_all(pieces);
            });
        }
        return Response::stream("text/plain", [](BodyWriter& writer) -> Result<void> {
            std::string first(10'000, 'a');
            std::string last(10'000, 'b');
            WEFT_TRY(writer.write("1"));
            std::array<Bytes, 4> pieces{as_bytes(first), Bytes(), as_bytes(last), as_bytes("c")};
            WEFT_TRY(writer.write_all(pieces));
            return writer.write_all(std::span(pieces).last(1));
        });
    });
    RawClient client = server.connect();
    client.send("GET /few HTTP/1.1\r\nHost: a\r\n\r\n");
    // 20,002 bytes, then what was gathered behind them.
    EXPECT_THAT(client.read_until("\r\n0\r\n\r\n"),
                EndsWith("\r\n\r\n4e22\r\n1" + std::string(10'000, 'a') + std::string(10'000, 'b') +
                         "c\r\n1\r\nc\r\n0\r\n\r\n"));
    client.send("GET /many HTTP/1.0\r\nHost: a\r\n\r\n");
    EXPECT_THAT(client.read_to_end(), EndsWith("\r\n\r\n" + many));
}

TEST(Exchange, HTTP_1_pieces_beyond_the_length_of_a_body_are_refused) {
    Result<void> written;
    TestServer server([&](Request&, Context&) {
        Response response;
        response.body = Body::produced(
            [&](BodyWriter& writer) {
                std::string text(20'000, 'a');
                std::array<Bytes, 2> pieces{as_bytes(text), as_bytes(text)};
                written = writer.write_all(pieces);
                return written;
            },
            30'000);
        return response;
    });
    RawClient client = server.connect();
    client.send(kGet);
    static_cast<void>(client.read_to_end());
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().kind(), ErrorKind::Misuse);
}

TEST(Exchange, HTTP_1_a_target_of_another_scheme_is_misdirected) {
    TestServer server([](Request&, Context&) { return Response::plain(200); });
    RawClient client = server.connect();
    auto status = [&](std::string_view target) {
        client.send("GET " + std::string(target) + " HTTP/1.1\r\nHost: a\r\n\r\n");
        return client.read_response().substr(0, 12);
    };
    EXPECT_EQ(status("HTTP://a/"), "HTTP/1.1 200");
    EXPECT_EQ(status("https://a/"), "HTTP/1.1 421");
    EXPECT_EQ(status("ftp://a/"), "HTTP/1.1 421");
    EXPECT_EQ(status("/"), "HTTP/1.1 200");
}

}  // namespace
}  // namespace weft::http
