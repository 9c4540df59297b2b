#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/time.h>

#include <chrono>
#include <fstream>

#include "tests/stress/service.h"
#include "weft/fiber/runtime.h"
#include "weft/testing/scale.h"

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

TEST(Descriptors, NET_3_a_service_without_descriptors_rests_and_recovers_within_a_second) {
    // The undefined-behaviour sanitizer opens a pipe to look at memory, and takes its failure for
    // a fault of the program.
    if (weft::testing::kAddressSanitizer) GTEST_SKIP() << "the sanitizer needs descriptors itself";
    auto outcome = run([]() -> Result<void> {
        Service service = WEFT_TRY(Service::start({WEFT_HELLO_PROGRAM, "127.0.0.1:0"}));
        rlimit few{.rlim_cur = 64, .rlim_max = 64};
        EXPECT_EQ(prlimit(service.process().pid(), RLIMIT_NOFILE, &few, nullptr), 0);
        std::vector<KeptAlive> clients;
        for (int index = 0; index < 200; ++index)
            clients.emplace_back(WEFT_TRY(net::Socket::connect(service.address())));
        // Those that were accepted are served, and the others cost next to nothing: not even a
        // tenth of a second of one core.
        EXPECT_EQ(clients.front().ask(kGet), KeptAlive::Answer::Kept);
        std::uint64_t before = cpu_ticks(service.process().pid());
        WEFT_TRY(weft::sleep_for(1s));
        EXPECT_LE(cpu_ticks(service.process().pid()) - before, 10U);
        // Who has something to say takes the place of one who says nothing.
        clients.emplace_back(WEFT_TRY(net::Socket::connect(service.address())));
        EXPECT_EQ(clients.back().ask(kGet), KeptAlive::Answer::Kept);
        // Room again: who comes is accepted.
        for (std::size_t index = 0; index < 150; ++index) clients[index].socket().close();
        Instant freed = Clock::now();
        clients.emplace_back(WEFT_TRY(net::Socket::connect(service.address())));
        EXPECT_EQ(clients.back().ask(kGet), KeptAlive::Answer::Kept);
        EXPECT_LT(Clock::now() - freed, 1s);
        ExitStatus status = WEFT_TRY(service.stop());
        EXPECT_TRUE(status.is_success());
        return {};
    });
    EXPECT_TRUE(outcome) << outcome.error().message();
}

}  // namespace
}  // namespace weft::stress
