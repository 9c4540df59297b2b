// A bank as a web service, tested by seeds. It has a mistake; the test is to find it.
#include <weft/async/group.h>
#include <weft/fiber/fiber.h>
#include <weft/fiber/runtime.h>
#include <weft/http/client/client.h>
#include <weft/http/request.h>
#include <weft/http/server/server.h>
#include <weft/sim/sim.h>
#include <weft/sim/tool.h>
#include <weft/sync/mutex.h>

#include <array>
#include <mutex>
#include <string>

namespace http = weft::http;
namespace net = weft::net;
namespace sim = weft::sim;

struct Bank {
    weft::Mutex mutex;
    std::array<int, 4> balance{100, 100, 100, 100};

    bool transfer(std::size_t from, std::size_t to, int amount) {
        int have = 0;
        {
            std::lock_guard guard(mutex);
            have = balance.at(from);
        }
        if (have < amount) return false;
        // Somebody else may have been here since: the second lock comes too late.
        std::lock_guard guard(mutex);
        balance.at(from) = have - amount;
        balance.at(to) += amount;
        return true;
    }
    int total() {
        std::lock_guard guard(mutex);
        return balance[0] + balance[1] + balance[2] + balance[3];
    }
};

// GET /transfer/<to>: ten from account 0.
weft::Result<http::Response> answer(Bank& bank, http::Request& request) {
    std::string path(request.path());
    if (!path.starts_with("/transfer/")) return http::Response::plain(404);
    std::size_t to = std::stoul(path.substr(10));
    return http::Response::text(bank.transfer(0, to, 10) ? "done" : "refused");
}

weft::Result<void> use(Bank& bank) {
    http::Server server(
        [&bank](http::Request& request, weft::async::Context&) { return answer(bank, request); });
    net::Address address = WEFT_TRY(server.listen(net::Address::loopback(0)));
    auto serving = server.start();
    http::Client client;
    weft::async::Group customers;
    for (int i = 1; i <= 3; ++i) {
        WEFT_TRY(customers.go([&, i]() -> weft::Result<void> {
            std::string url = "http://" + address.to_string() + "/transfer/" + std::to_string(i);
            auto response = WEFT_TRY(client.get(url));
            sim::require(response.status == 200, "a transfer failed");
            WEFT_TRY(response.read_all());
            return {};
        }));
    }
    weft::Result<void> outcome = customers.wait();
    server.drain();
    WEFT_TRY(serving.join());
    return outcome;
}

void transfers() {
    Bank bank;
    weft::Result<void> outcome = weft::run([&] { return use(bank); }, {.workers = 2});
    if (!outcome) sim::fail("the service failed: " + outcome.error().message());
    sim::require(bank.total() == 400, "money was lost or made");
}

constexpr sim::Scenario kScenarios[] = {{"transfers", "three transfers at once", transfers}};

int main(int count, char** words) {
    return sim::run_tool("bank_sim", kScenarios, {words, words + count});
}
