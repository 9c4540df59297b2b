// By which id a request that fails is found in the log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "weft/http/internal/server_test.h"
#include "weft/http/routing/middleware.h"
#include "weft/http/routing/router.h"
#include "weft/testing/captured_log.h"

namespace weft::http {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::RawClient;
using testing::TestServer;

std::string field_of(const std::string& response, const std::string& name) {
    std::size_t at = response.find(name + ": ");
    if (at == std::string::npos) return {};
    at += name.size() + 2;
    return response.substr(at, response.find("\r\n", at) - at);
}

TEST(Failure, NET_3b_a_failure_has_the_request_id_that_the_handler_had) {
    weft::testing::CapturedLog captured;
    std::string had;  // by the handler, before its response is read
    Router router;
    router.use(request_id());
    router.get("/:how", [&](Request& request, async::Context& context) -> Result<Response> {
        const std::string* id = context.value(kRequestId);
        had = id ? *id : "(none)";
        std::string_view how = *request.parameter("how");
        if (how == "throw") throw std::runtime_error("no way");
        if (how == "split") return Response::text("a").with("x-name", "a\r\nb: c");
        if (how == "body") {
            Response response;
            response.body = Body::produced(
                [](BodyWriter&) { return Result<void>(Error(ErrorKind::Other, "no way")); });
            return response;
        }
        return Error(ErrorKind::Other, "no way");
    });
    TestServer server(std::move(router).build().value());
    for (std::string how : {"return", "throw", "split", "body"}) {
        for (std::string sent : {"", "X-Request-Id: a-1\r\n", "X-Request-Id: b) c\r\n"}) {
            RawClient client = server.connect();
            client.send("GET /" + how + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + sent +
                        "\r\n");
            EXPECT_EQ(field_of(client.read_to_end(), "x-request-id"), had) << how;
            EXPECT_EQ(had == "a-1", sent.contains("a-1"));
            EXPECT_THAT(captured.lines().back(), HasSubstr("(request " + had + "):")) << how;
        }
    }
}

TEST(Failure, NET_3b_an_id_of_a_client_that_could_be_mistaken_is_not_logged) {
    weft::testing::CapturedLog captured;
    TestServer server(
        [](Request&, async::Context&) -> Result<Response> { return ErrorKind::Other; });
    std::string response = server.ask(
        "GET / HTTP/1.1\r\nHost: x\r\nX-Request-Id: 1): all is well (\r\n"
        "Connection: close\r\n\r\n");
    std::string id = field_of(response, "x-request-id");
    EXPECT_EQ(id.size(), 16U);
    EXPECT_THAT(captured.lines(), ElementsAre(HasSubstr("(request " + id + "):")));
}

}  // namespace
}  // namespace weft::http
