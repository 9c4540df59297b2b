#include <gtest/gtest.h>

#include <chrono>

#include "tests/stress/service.h"
#include "weft/base/atomic.h"
#include "weft/fiber/runtime.h"
#include "weft/sync/wait_group.h"
#include "weft/testing/eventually.h"
#include "weft/testing/scale.h"
#include "weft/testing/stall_watch.h"

namespace weft::stress {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

constexpr int kClients = 64;

struct Tally {
    Atomic<std::uint64_t> answered{0};
    Atomic<std::uint64_t> lost{0};
    Atomic<int> connected{0};  // clients that have had an answer
};

// Asks until it is told that this was the last answer.
Result<void> load(const net::Address& address, Tally& tally) {
    KeptAlive client(WEFT_TRY(net::Socket::connect(address)));
    for (bool is_first = true;; is_first = false) {
        switch (client.ask(kGet)) {
        // Relaxed: counts that are read when everybody has been joined.
        case KeptAlive::Answer::Lost: tally.lost.fetch_add(1, std::memory_order_relaxed); return {};
        case KeptAlive::Answer::Last:
            tally.answered.fetch_add(1, std::memory_order_relaxed);
            return {};
        case KeptAlive::Answer::Kept: tally.answered.fetch_add(1, std::memory_order_relaxed);
        }
        if (is_first) tally.connected.fetch_add(1, std::memory_order_relaxed);
    }
}

// How many requests a service has lost that was told to end so long after all had connected.
Result<std::uint64_t> lost_in_drain(Nanoseconds moment) {
    Service service = WEFT_TRY(Service::start({WEFT_HELLO_PROGRAM, "127.0.0.1:0"}));
    Tally tally;
    std::vector<Future<void>> clients;
    for (int index = 0; index < kClients; ++index)
        clients.push_back(spawn([&] { return load(service.address(), tally); }));
    // Who comes after the signal is refused, and has lost nothing.
    EXPECT_TRUE(weft::testing::eventually(
        [&] { return tally.connected.load(std::memory_order_relaxed) == kClients; }));
    WEFT_TRY(weft::sleep_for(moment));
    ExitStatus status = WEFT_TRY(service.stop());
    EXPECT_TRUE(status.is_success()) << status.code << " " << status.signal;
    for (auto& client : clients) WEFT_TRY(client.join());
    // At least one each: how many more depends on what else the machine does.
    EXPECT_GE(tally.answered.load(std::memory_order_relaxed), std::uint64_t{kClients});
    return tally.lost.load(std::memory_order_relaxed);
}

TEST(Drain, HTTP_4_a_service_that_gets_sigterm_under_load_loses_no_request) {
    std::size_t rounds = weft::testing::is_long() ? 100 : 5;
    auto outcome = run([&]() -> Result<void> {
        for (std::size_t round = 0; round < rounds; ++round) {
            // Each round at another moment.
            auto moment = 20ms + std::chrono::milliseconds(round * 7 % 50);
            // One between an answer and its next request has a tenth of a second for that.
            EXPECT_TRUE(weft::testing::unless_stalled(50ms, [&]() -> ::testing::AssertionResult {
                Result<std::uint64_t> lost = lost_in_drain(moment);
                if (!lost) return ::testing::AssertionFailure() << lost.error().message();
                if (*lost == 0) return ::testing::AssertionSuccess();
                return ::testing::AssertionFailure() << *lost << " were lost in round " << round;
            }));
        }
        return {};
    });
    EXPECT_TRUE(outcome) << outcome.error().message();
}

}  // namespace
}  // namespace weft::stress
