// Responses of the 1xx kind that handlers send before the real one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "weft/http/internal/handler_test.h"
#include "weft/http/internal/server_test.h"
#include "weft/sync/event.h"

namespace weft::http {
namespace {

using async::Context;
using ::testing::EndsWith;
using testing::RawClient;
using ::testing::StartsWith;
using testing::TestServer;

using testing::kGet;
constexpr std::string_view kHints =
    "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n";

Headers link_to_style() {
    Headers headers;
    headers.add("Link", "</style.css>; rel=preload");
    return headers;
}

ErrorKind kind_of(const Result<void>& result) {
    return result ? ErrorKind::Other : result.error().kind();
}

TEST(Informational, HTTP_12a_a_handler_sends_early_hints) {
    Event seen;
    TestServer server([&](Request& request, Context&) -> Result<Response> {
        WEFT_TRY(request.send_informational(103, link_to_style()));
        // Not gathered with the response: the client can fetch meanwhile.
        WEFT_TRY(seen.wait_for(testing::kPatience));
        return Response::text("page");
    });
    RawClient client = server.connect();
    for (int i = 0; i < 2; ++i) {
        client.send(kGet);
        EXPECT_EQ(client.read_until("\r\n\r\n"), kHints);
        seen.set();
        EXPECT_THAT(client.read_response(), EndsWith("\r\n\r\npage"));
    }
}

TEST(Informational, HTTP_12a_several_may_come_before_one_response) {
    TestServer server([](Request& request, Context&) -> Result<Response> {
        WEFT_TRY(request.send_informational(102));
        WEFT_TRY(request.send_informational(199));
        return Response::text("done");
    });
    std::string answer = server.ask("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 199 \r\n\r\n"
                                   "HTTP/1.1 200 OK\r\n"));
}

TEST(Informational, HTTP_12a_a_client_of_http_1_0_gets_none) {
    TestServer server([](Request& request, Context&) -> Result<Response> {
        WEFT_TRY(request.send_informational(103, link_to_style()));
        return Response::text("page");
    });
    EXPECT_THAT(server.ask("GET / HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST(Informational, HTTP_12a_what_is_not_the_handlers_to_send_is_misuse) {
    TestServer server([](Request& request, Context&) -> Result<Response> {
        for (std::uint16_t status : std::vector<std::uint16_t>{0, 99, 100, 101, 200, 1030})
            EXPECT_EQ(kind_of(request.send_informational(status)), ErrorKind::Misuse) << status;
        for (const char* name :
             {"Content-Length", "transfer-encoding", "Connection", "upgrade", "no name"}) {
            Headers headers;
            headers.add(name, "1");
            EXPECT_EQ(kind_of(request.send_informational(103, headers)), ErrorKind::Misuse) << name;
        }
        return Response::stream("text/plain", [&request](BodyWriter& writer) -> Result<void> {
            EXPECT_EQ(kind_of(request.send_informational(103)), ErrorKind::Misuse);
            return writer.write("body");
        });
    });
    RawClient client = server.connect();
    client.send(kGet);
    EXPECT_THAT(client.read_until("0\r\n\r\n"), StartsWith("HTTP/1.1 200 OK\r\n"));
    // Where there is no server nothing can be sent.
    handler_test::MadeRequest made("GET", "/");
    EXPECT_EQ(kind_of(made.request().send_informational(103)), ErrorKind::Misuse);
}

TEST(Informational, HTTP_12a_they_stay_with_their_response_among_pipelined_ones) {
    TestServer server([](Request& request, Context&) -> Result<Response> {
        std::string path(request.path());
        // One that waits has what was gathered before it sent by then.
        if (path == "/b") static_cast<void>(Event().wait_for(std::chrono::milliseconds(1)));
        if (path != "/c") {
            Headers headers;
            headers.add("Link", path);
            WEFT_TRY(request.send_informational(103, headers));
        }
        return Response::text(path);
    });
    RawClient client = server.connect();
    std::string requests;
    for (const char* path : {"/a", "/b", "/c", "/d", "/b", "/a"})
        requests += "GET " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n\r\n";
    client.send(requests);
    for (const char* path : {"/a", "/b", "/c", "/d", "/b", "/a"}) {
        if (std::string_view(path) != "/c") {
            EXPECT_EQ(client.read_until("\r\n\r\n"),
                      "HTTP/1.1 103 Early Hints\r\nLink: " + std::string(path) + "\r\n\r\n");
        }
        EXPECT_THAT(client.read_response(), EndsWith("\r\n\r\n" + std::string(path)));
    }
}

TEST(Informational, HTTP_12a_a_body_that_waits_for_its_100_gets_it_after_the_hints) {
    TestServer server([](Request& request, Context&) -> Result<Response> {
        WEFT_TRY(request.send_informational(103, link_to_style()));
        EXPECT_TRUE(request.expects_continue());
        return Response::text(WEFT_TRY(request.body().read_all()));
    });
    RawClient client = server.connect();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
    EXPECT_EQ(client.read_until("\r\n\r\n"), kHints);
    EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    client.send("text");
    EXPECT_THAT(client.read_response(), EndsWith("\r\n\r\ntext"));
}

// A producer that reads what the handler has not: the word of 100 would stand within the response.
TEST(Informational, HTTP_12a_no_100_is_said_once_the_response_has_begun) {
    TestServer server([](Request& request, Context&) -> Result<Response> {
        return Response::stream("text/plain", [&request](BodyWriter& writer) -> Result<void> {
            WEFT_TRY(writer.flush());
            return writer.write(WEFT_TRY(request.body().read_all()));
        });
    });
    RawClient client = server.connect();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
    EXPECT_THAT(client.read_until("\r\n\r\n"), StartsWith("HTTP/1.1 200 OK\r\n"));
    client.send("text");
    EXPECT_EQ(client.read_until("0\r\n\r\n"), "4\r\ntext\r\n0\r\n\r\n");
}

TEST(Informational, HTTP_12a_what_is_to_be_done_afterwards_happens_when_the_client_has_it_all) {
    Event done;
    Event seen;
    TestServer server([&](Request& request, Context&) {
        Response response =
            Response::stream("text/plain", [](BodyWriter& writer) { return writer.write("body"); });
        if (request.method() == "GET") return response;
        response.afterwards = [&] {
            EXPECT_TRUE(seen.wait_for(testing::kPatience));
            EXPECT_EQ(request.body().read_all(), "late");
            done.set();
        };
        return response;
    });
    RawClient client = server.connect();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n");
    EXPECT_THAT(client.read_until("0\r\n\r\n"), EndsWith("4\r\nbody\r\n0\r\n\r\n"));
    client.send("late");
    seen.set();
    EXPECT_TRUE(done.wait_for(testing::kPatience));
    client.send(kGet);
    EXPECT_THAT(client.read_until("\r\n\r\n"), StartsWith("HTTP/1.1 200 OK\r\n"));
}

}  // namespace
}  // namespace weft::http
