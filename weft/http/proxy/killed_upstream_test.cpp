// Upstreams that run as separate processes, and are killed under load.
#include <gtest/gtest.h>
#include <signal.h>

#include <string>
#include <vector>

#include "weft/async/group.h"
#include "weft/fiber/fiber.h"
#include "weft/http/proxy/internal/proxy_test.h"
#include "weft/http/request.h"
#include "weft/sync/event.h"
#include "weft/testing/server_process.h"

namespace weft::http {
namespace {

using namespace testing;
using std::chrono::milliseconds;
using std::chrono::seconds;
using weft::testing::far;
using weft::testing::say_port_and_await_end;
using weft::testing::ServerProcess;
using weft::testing::start_server_process;

constexpr std::string_view kPost = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi";
constexpr int kClients = 12;

// The upstream's process: it writes its port, and serves until it is killed or its input ends.
TEST(KilledUpstream, DISABLED_upstream) {
    in_runtime(1, []() -> Result<void> {
        Server server([](Request&, async::Context&) -> Result<Response> {
            // Each request takes a while, as in a real service.
            static_cast<void>(Event().wait_for(milliseconds(2)));
            return Response::text("served");
        });
        Address address = WEFT_TRY(server.listen(Address::loopback(0)));
        auto serving = spawn([&] { return server.serve(); });
        WEFT_TRY(say_port_and_await_end(address.port()));
        server.close();
        return serving.join();
    });
}

struct Load {
    Atomic<bool> goes_on{true};
    Atomic<int> good{0};
    Atomic<int> bad{0};

    // Runs one client, whose requests are not idempotent, so that every failure is seen.
    Result<void> run(const Address& proxy) {
        RawPeer client = WEFT_TRY(RawPeer::connect(proxy));
        // Relaxed, here and below: they only count.
        while (goes_on.load(std::memory_order_relaxed)) {
            bool answered = status_of(client.ask(kPost)) == 200;
            (answered ? good : bad).fetch_add(1, std::memory_order_relaxed);
        }
        return {};
    }
    bool serves(int more) {
        int until = good.load(std::memory_order_relaxed) + more;
        return eventually([&] { return good.load(std::memory_order_relaxed) >= until; });
    }
};

TEST(KilledUpstream, HTTP_7_a_process_killed_under_load_fails_only_what_it_had) {
    in_runtime(2, []() -> Result<void> {
        std::vector<ServerProcess> upstreams;
        ProxyOptions options{.upstreams = {}, .health = {.out_for = seconds(60)}};
        for (int i = 0; i < 3; ++i) {
            upstreams.push_back(WEFT_TRY(start_server_process("KilledUpstream.DISABLED_upstream")));
            options.upstreams.push_back(url_of(Address::loopback(upstreams.back().port)));
        }
        return with_proxy(
            std::move(options), [&](const Address& address, ReverseProxy& proxy) -> Result<void> {
                Load load;
                async::Group group;
                for (int i = 0; i < kClients; ++i)
                    WEFT_TRY(group.go([&] { return load.run(address); }));
                EXPECT_TRUE(load.serves(20 * kClients));
                EXPECT_EQ(load.bad.load(std::memory_order_relaxed), 0);
                for (std::size_t victim : {0U, 1U}) {
                    int bad_before = load.bad.load(std::memory_order_relaxed);
                    WEFT_TRY(upstreams[victim].process.kill(SIGKILL));
                    EXPECT_EQ(WEFT_TRY(upstreams[victim].process.wait(far())).signal, SIGKILL);
                    EXPECT_TRUE(load.serves(20 * kClients));
                    // The requests it had, and those sent to it before its end was noticed: each
                    // client has one request in progress at a time.
                    int bad = load.bad.load(std::memory_order_relaxed) - bad_before;
                    EXPECT_LE(bad, 2 * kClients) << "victim " << victim;
                    EXPECT_FALSE(proxy.upstreams()[victim].is_well);
                }
                int bad = load.bad.load(std::memory_order_relaxed);
                EXPECT_TRUE(load.serves(20 * kClients));
                EXPECT_EQ(load.bad.load(std::memory_order_relaxed), bad);
                EXPECT_GT(proxy.upstreams()[0].failures + proxy.upstreams()[1].failures, 0U);
                load.goes_on.store(false, std::memory_order_relaxed);
                WEFT_TRY(group.wait());
                upstreams[2].stop();
                EXPECT_TRUE(WEFT_TRY(upstreams[2].process.wait(far())).is_success());
                return {};
            });
    });
}

}  // namespace
}  // namespace weft::http
