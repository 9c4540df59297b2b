// Where the connections of a server live.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "weft/fiber/runtime.h"
#include "weft/http/internal/server_test.h"
#include "weft/http/server/server.h"
#include "weft/testing/eventually.h"

namespace weft::http {
namespace {

using ::testing::Each;
using ::testing::EndsWith;
using testing::RawClient;
using testing::TestServer;
using weft::testing::eventually;

using testing::kGet;

Result<Response> hello(Request&, async::Context&) { return Response::text("hello"); }

std::vector<std::uint64_t> connections_of(const Server& server) {
    std::vector<std::uint64_t> all;
    for (const ServerCounters& one : server.worker_counters()) all.push_back(one.connections);
    return all;
}

TEST(Placement, HTTP_11i_each_worker_has_as_many_connections) {
    TestServer server(hello, {}, {.workers = 8});
    std::vector<RawClient> clients;
    for (int index = 0; index < 32; ++index) {
        clients.push_back(server.connect());
        clients.back().send(kGet);
        EXPECT_THAT(clients.back().read_response(), EndsWith("hello"));
    }
    EXPECT_EQ(connections_of(server.server()), std::vector<std::uint64_t>(8, 4));
    // They all speak at their new places.
    for (RawClient& client : clients) client.send(kGet);
    for (RawClient& client : clients) EXPECT_THAT(client.read_response(), EndsWith("hello"));
    // And those who come later fill the gaps.
    for (int index = 0; index < 16; ++index) clients[static_cast<std::size_t>(index)].close();
    ASSERT_TRUE(eventually([&] { return server.server().connections() == 16; }));
    for (int index = 0; index < 16; ++index) clients.push_back(server.connect());
    ASSERT_TRUE(eventually([&] { return server.server().connections() == 32; }));
    EXPECT_EQ(connections_of(server.server()), std::vector<std::uint64_t>(8, 4));
}

TEST(Placement, HTTP_11i_all_workers_serve_a_unix_socket) {
    Runtime runtime({.workers = 4});
    Server server(hello);
    net::Address path =
        net::Address::unix_path("@weft-placement-" + std::to_string(getpid())).value();
    ASSERT_TRUE(runtime.spawn([&] { return server.listen(path); }).join());
    Future<void> serving = runtime.spawn([&] { return server.serve(); });
    {
        std::vector<RawClient> clients;
        for (int index = 0; index < 8; ++index) {
            clients.emplace_back(path);
            clients.back().send(kGet);
            EXPECT_THAT(clients.back().read_response(), EndsWith("hello"));
        }
        EXPECT_THAT(connections_of(server), Each(2U));
    }
    server.drain();
    EXPECT_TRUE(serving.join());
}

TEST(Placement, HTTP_11i_the_first_listen_decides_which_workers_serve) {
    Runtime runtime({.workers = 2, .pinned_workers = 1});
    Server server(hello);
    auto listen = [&] { return server.listen(net::Address::loopback(0)); };
    Result<net::Address> first = runtime.spawn_pinned(0, listen).join();
    Result<net::Address> second = runtime.spawn(listen).join();
    ASSERT_TRUE(first && second);
    Future<void> serving = runtime.spawn([&] { return server.serve(); });
    for (const net::Address& address : {*first, *second}) {
        RawClient client(address);
        client.send(kGet);
        EXPECT_THAT(client.read_response(), EndsWith("hello"));
    }
    EXPECT_EQ(connections_of(server).size(), 1U);
    server.drain();
    EXPECT_TRUE(serving.join());
}

}  // namespace
}  // namespace weft::http
