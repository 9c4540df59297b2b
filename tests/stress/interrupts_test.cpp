// System calls that are cut off by signals all the time.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>

#include <vector>

#include "weft/fiber/runtime.h"
#include "weft/http/client/client.h"
#include "weft/http/request.h"
#include "weft/http/server/server.h"
#include "weft/testing/scale.h"

namespace weft::stress {
namespace {

// A signal every so often, whose handler does not restart what it cuts off.
class Interruptions {
public:
    explicit Interruptions(long microseconds) {
        struct sigaction action{};
        action.sa_handler = [](int) {};
        ::sigaction(SIGALRM, &action, nullptr);
        itimerval often{{0, microseconds}, {0, microseconds}};
        ::setitimer(ITIMER_REAL, &often, nullptr);
    }
    // The handler stays: a last signal may be on its way, which would end the process without it.
    ~Interruptions() {
        itimerval never{};
        ::setitimer(ITIMER_REAL, &never, nullptr);
    }
};

TEST(Interrupts, NET_3_requests_and_bodies_arrive_whole_under_a_storm_of_signals) {
    std::size_t requests = weft::testing::repeats(weft::testing::is_long() ? 20'000 : 500);
    auto outcome = run([&]() -> Result<void> {
        Interruptions storm(200);
        http::Server server([](http::Request& request, async::Context&) -> Result<http::Response> {
            std::string body = WEFT_TRY(request.body().read_all());
            return http::Response::text(std::move(body));
        });
        net::Address address = WEFT_TRY(server.listen(net::Address::loopback(0)));
        auto serving = spawn([&] { return server.serve(); });
        http::Client client;
        std::vector<Future<void>> clients;
        for (std::size_t index = 0; index < 4; ++index) {
            clients.push_back(spawn([&, index]() -> Result<void> {
                for (std::size_t number = 0; number < requests / 4; ++number) {
                    std::string body(1 + number * 7919 % 300'000,
                                     static_cast<char>('a' + (index + number) % 26));
                    http::ClientRequest request;
                    request.method = "POST";
                    request.url = "http://" + address.to_string() + "/";
                    request.body = body;
                    auto response = WEFT_TRY(client.send(request));
                    std::string back = WEFT_TRY(response.read_all());
                    if (back != body) return Error(ErrorKind::Other, "another body came back");
                }
                return {};
            }));
        }
        for (auto& each : clients) WEFT_TRY(each.join());
        server.drain();
        return serving.join();
    });
    EXPECT_TRUE(outcome) << outcome.error().message();
}

}  // namespace
}  // namespace weft::stress
