// A worker whose thread is kept by a fiber from before serve() on: the kernel gives its listener a
// share of the connections all the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/http/internal/server_test.h"

namespace weft::http {
namespace {

using ::testing::EndsWith;
using testing::RawClient;

TEST(Server, FIB_6c_every_connection_is_answered_while_a_worker_is_blocked_from_the_start) {
    Result<void> outcome = weft::run(
        []() -> Result<void> {
            Server server(
                [](Request&, async::Context&) -> Result<Response> { return Response::text("x"); });
            net::Address address = WEFT_TRY(server.listen(net::Address::loopback(0)));
            auto serving = spawn([&] { return server.serve(); });
            std::thread client([&] {
                // Some twenty, so that each listener gets some.
                for (int i = 0; i < 20; ++i) {
                    RawClient connection(address);
                    connection.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
                    EXPECT_THAT(connection.read_response(), EndsWith("\r\n\r\nx")) << i;
                }
            });
            client.join();  // keeps the thread of this worker
            server.close();
            return serving.join();
        },
        {.workers = 2});
    EXPECT_TRUE(outcome) << outcome.error().message();
}

}  // namespace
}  // namespace weft::http
