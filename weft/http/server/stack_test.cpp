// A handler calls what is called on threads elsewhere; its stack is large enough for that.
#include "weft/fiber/switch/stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <sstream>
#include <string>

#include "weft/fiber/fiber.h"
#include "weft/http/internal/server_test.h"
#include "weft/testing/scale.h"

namespace weft::http {
namespace {

using async::Context;
using ::testing::EndsWith;
using testing::RawClient;
using testing::TestServer;

// One frame of its matcher or more for each character.
Result<Response> match(Request& request, Context&) {
    static const std::regex pattern("([a-z]|[0-9])*");
    std::string query(request.query());
    return Response::text(std::regex_match(query, pattern) ? "match" : "no");
}

TEST(ServerStack, FIB_4f_a_regular_expression_over_4_kib_fits_in_a_handler) {
    if (weft::testing::kSanitizer) GTEST_SKIP() << "its frames are several times as large";
    TestServer server(match);
    for (std::size_t length : {50, 100, 200, 400, 2000, 4096}) {
        RawClient client = server.connect();
        client.send("GET /?" + std::string(length, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n");
        EXPECT_THAT(client.read_response(), EndsWith("\r\n\r\nmatch")) << length;
    }
}

TEST(ServerStack, FIB_4f_a_handler_has_the_stack_that_the_options_say) {
    ServerOptions options;
    options.stack_bytes = 1 << 20;
    TestServer server(
        [](Request&, Context&) -> Result<Response> {
            std::size_t bytes = std::size_t{16 * 1024} << current()->stack->size_class;
            return Response::text(std::to_string(bytes));
        },
        options);
    RawClient client = server.connect();
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(client.read_response(), EndsWith("\r\n\r\n1048576"));
}

// Streams, numbers and dates with their locales, on the default stack of any fiber.
TEST(ServerStack, FIB_4f_streams_fit_on_the_default_stack) {
    Result<std::string> text = weft::run([] {
        std::ostringstream out;
        out << std::fixed << 1.5 << ' ' << std::hex << 255 << ' ' << std::boolalpha << true;
        std::istringstream in(out.str());
        double number = 0;
        in >> number;
        return out.str() + (number == 1.5 ? "" : " wrong");
    });
    EXPECT_EQ(text.value_or(""), "1.500000 ff true");
}

}  // namespace
}  // namespace weft::http
