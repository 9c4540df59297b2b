#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/time.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "tests/stress/service.h"
#include "weft/fiber/runtime.h"
#include "weft/testing/scale.h"
#include "weft/testing/stall_watch.h"

namespace weft::stress {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

// Clock ticks that the process has used.
std::uint64_t cpu_ticks(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string text((std::istreambuf_iterator<char>(file)), {});
    std::istringstream fields(text.substr(text.rfind(')') + 2));
    std::string skipped;
    for (int index = 0; index < 11; ++index) fields >> skipped;
    std::uint64_t user = 0;
    std::uint64_t system = 0;
    fields >> user >> system;
    return user + system;
}

constexpr std::size_t kClients = 200;  // many more than it has descriptors

Result<void> fill_up(const net::Address& address, std::vector<KeptAlive>& clients) {
    while (clients.size() < kClients) clients.emplace_back(WEFT_TRY(net::Socket::connect(address)));
    return {};
}

// How long somebody waits for his answer when most of the others have just left.
Result<Nanoseconds> time_to_recover(const net::Address& address, std::vector<KeptAlive>& clients) {
    WEFT_TRY(fill_up(address, clients));
    clients.erase(clients.begin(), clients.begin() + 150);
    Instant freed = Clock::now();
    clients.emplace_back(WEFT_TRY(net::Socket::connect(address)));
    EXPECT_EQ(clients.back().ask(kGet), KeptAlive::Answer::Kept);
    return Clock::now() - freed;
}

TEST(Descriptors, NET_3_a_service_without_descriptors_rests_and_recovers_within_a_second) {
    // The undefined-behaviour sanitizer opens a pipe to look at memory, and takes its failure for
    // a fault of the program.
    if (weft::testing::kAddressSanitizer) GTEST_SKIP() << "the sanitizer needs descriptors itself";
    auto outcome = run([]() -> Result<void> {
        Service service = WEFT_TRY(Service::start({WEFT_HELLO_PROGRAM, "127.0.0.1:0"}));
        rlimit few{.rlim_cur = 64, .rlim_max = 64};
        EXPECT_EQ(prlimit(service.process().pid(), RLIMIT_NOFILE, &few, nullptr), 0);
        std::vector<KeptAlive> clients;
        WEFT_TRY(fill_up(service.address(), clients));
        // Those that were accepted are served, and the others cost next to nothing: not even a
        // tenth of a second of one core. Where connecting took long, the first who were accepted
        // have made room for later ones.
        EXPECT_TRUE(std::ranges::any_of(clients, [](KeptAlive& client) {
            return client.ask(kGet) == KeptAlive::Answer::Kept;
        }));
        std::uint64_t before = cpu_ticks(service.process().pid());
        WEFT_TRY(weft::sleep_for(1s));
        EXPECT_LE(cpu_ticks(service.process().pid()) - before, 10U);
        // Who has something to say takes the place of one who says nothing.
        clients.emplace_back(WEFT_TRY(net::Socket::connect(service.address())));
        EXPECT_EQ(clients.back().ask(kGet), KeptAlive::Answer::Kept);
        // Room again: who comes is accepted.
        EXPECT_TRUE(weft::testing::unless_stalled(500ms, [&]() -> ::testing::AssertionResult {
            Result<Nanoseconds> time = time_to_recover(service.address(), clients);
            if (!time) return ::testing::AssertionFailure() << time.error().message();
            if (*time < 1s) return ::testing::AssertionSuccess();
            return ::testing::AssertionFailure() << *time / 1ms << " ms";
        }));
        ExitStatus status = WEFT_TRY(service.stop());
        EXPECT_TRUE(status.is_success());
        return {};
    });
    EXPECT_TRUE(outcome) << outcome.error().message();
}

}  // namespace
}  // namespace weft::stress
