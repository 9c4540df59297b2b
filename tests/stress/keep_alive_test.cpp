#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <string>
#include <vector>

#include "tests/stress/service.h"
#include "weft/fiber/runtime.h"
#include "weft/net/socket.h"
#include "weft/testing/scale.h"

namespace weft::stress {
namespace {

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

std::uint64_t resident_kib(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/status");
    for (std::string word; file >> word;) {
        std::uint64_t kib = 0;
        if (word == "RssAnon:" && file >> kib) return kib;
    }
    return 0;
}

TEST(KeepAlive, FIB_13f_HTTP_4_ten_thousand_connections_are_kept_alive) {
    net::raise_descriptor_limit();
    std::size_t count = weft::testing::is_long() ? 10'000 : 2'000;
    auto outcome = run([&]() -> Result<void> {
        Service service = WEFT_TRY(Service::start({WEFT_HELLO_PROGRAM, "127.0.0.1:0"}));
        std::vector<KeptAlive> clients;
        KeptAlive first(WEFT_TRY(net::Socket::connect(service.address())));
        EXPECT_EQ(first.ask(kGet), KeptAlive::Answer::Kept);
        std::uint64_t before = resident_kib(service.process().pid());
        for (std::size_t index = 0; index < count; ++index)
            clients.emplace_back(WEFT_TRY(net::Socket::connect(service.address())));
        Instant begun = Clock::now();
        for (int round = 0; round < 3; ++round) {
            for (KeptAlive& client : clients) EXPECT_EQ(client.ask(kGet), KeptAlive::Answer::Kept);
        }
        ::testing::Test::RecordProperty(
            "requests_ms", static_cast<int>((Clock::now() - begun) / std::chrono::milliseconds(1)));
        std::uint64_t grown = resident_kib(service.process().pid()) - before;
        ::testing::Test::RecordProperty("bytes_each", static_cast<int>(grown * 1024 / count));
        // Of an idle connection nothing is left but its entry. Sanitizers keep more.
        if (!weft::testing::kSanitizer) {
            EXPECT_LT(grown * 1024 / count, 1024U);
        }
        ExitStatus status = WEFT_TRY(service.stop());
        EXPECT_TRUE(status.is_success());
        return {};
    });
    EXPECT_TRUE(outcome) << outcome.error().message();
}

}  // namespace
}  // namespace weft::stress
