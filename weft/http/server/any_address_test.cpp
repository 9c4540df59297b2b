// A server on every address of both families.
#include <gtest/gtest.h>

#include <string>

#include "weft/fiber/runtime.h"
#include "weft/http/client/client.h"
#include "weft/http/request.h"
#include "weft/http/server/server.h"
#include "weft/testing/sockets.h"

namespace weft::http {
namespace {

using namespace weft::testing;

TEST(ServerAddress, NET_7a_a_server_on_any_address_serves_both_families) {
    in_runtime(2, []() -> Result<void> {
        Server server([](Request& request, async::Context&) {
            return Response::text(request.peer().ip().to_string());
        });
        Address address = WEFT_TRY(server.listen(Address::any(0)));
        EXPECT_EQ(kind_of(Listener::open(Address::any(address.port()))), ErrorKind::AddressInUse);
        auto serving = spawn([&] { return server.serve(); });
        Client client;
        std::string port = std::to_string(address.port());
        ClientResponse by_v4 = WEFT_TRY(client.get("http://127.0.0.1:" + port + "/"));
        EXPECT_EQ(by_v4.read_all(), "127.0.0.1");
        if (has_ipv6()) {
            ClientResponse by_v6 = WEFT_TRY(client.get("http://[::1]:" + port + "/"));
            EXPECT_EQ(by_v6.read_all(), "::1");
        }
        server.close();
        return serving.join();
    });
}

}  // namespace
}  // namespace weft::http
