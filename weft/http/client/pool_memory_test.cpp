// Closing idle connections allocates nothing, since it may be called where nothing may throw.
#include "weft/testing/counted_allocations.h"
#ifdef WEFT_COUNTS_ALLOCATIONS

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/format.h"
#include "weft/http/client/client.h"
#include "weft/net/resolver.h"
#include "weft/testing/scripted_server.h"
#include "weft/testing/sockets.h"

namespace weft::http {
namespace {

using namespace testing;

TEST(ClientPool, HTTP_5_idle_connections_to_several_origins_are_closed_without_an_allocation) {
    in_runtime(1, [] {
        return with_server(
            [](Peer& peer) {
                while (!peer.read_request().empty()) peer.respond("ok");
            },
            [](const Address& address) -> Result<void> {
                std::vector<net::IpAddress> here = {net::IpAddress::loopback()};
                net::ResolverOptions names{.table = {{"a.test", here}, {"b.test", here}}};
                ClientOptions options{.resolver = std::make_shared<net::Resolver>(names)};
                std::optional<Client> client(std::in_place, std::move(options));
                for (const char* name : {"a.test", "b.test"}) {
                    std::string url = format("http://{}:{}/", name, address.port());
                    ClientResponse response =
                        WEFT_TRY(client->send({ .url = WEFT_TRY(Url::parse(url)) }));
                    EXPECT_EQ(response.read_all(), "ok");
                }
                EXPECT_EQ(client->counters().idle, 2U);
                int before = allocations_so_far();
                client.reset();
                EXPECT_EQ(allocations_so_far(), before);
                return {};
            });
    });
}

}  // namespace
}  // namespace weft::http

#endif
