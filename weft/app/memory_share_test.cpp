#include "weft/app/memory_share.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "weft/testing/captured_log.h"

namespace weft::app {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMib = 1024 * 1024;

TEST(MemoryShare, HST_1_a_heap_is_a_share_of_the_memory) {
    EXPECT_EQ(heap_mib_share(512 * kMib, 1), 128U);
    EXPECT_EQ(heap_mib_share(512 * kMib, 4), 32U);
    EXPECT_EQ(heap_mib_share(64 * kMib, 8), 16U);
    EXPECT_EQ(heap_mib_share(64 * 1024 * kMib, 4), 256U);
    EXPECT_EQ(heap_mib_share(std::nullopt, 4), 256U);
}

TEST(MemoryShare, HST_1_the_heap_follows_the_control_group_where_nobody_says_otherwise) {
    fs::path root = fs::path(::testing::TempDir()) / ("weft-share." + std::to_string(getpid()));
    fs::create_directories(root / "proc/self");
    fs::create_directories(root / "sys/fs/cgroup");
    std::ofstream(root / "proc/meminfo") << "MemTotal:       16314772 kB\n";
    std::ofstream(root / "proc/self/mountinfo")
        << "30 22 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n";
    std::ofstream(root / "proc/self/cgroup") << "0::/\n";
    std::ofstream(root / "sys/fs/cgroup/memory.max") << 400 * kMib << "\n";
    ServeConfig config;
    config.apps.resize(2);
    config.apps[0].limits.heap_mib = 77;
    weft::testing::CapturedLog log;
    set_log_level(LogLevel::Info);
    set_heap_limits(config, root);
    EXPECT_EQ(config.apps[0].limits.heap_mib, 77U);
    EXPECT_EQ(config.apps[1].limits.heap_mib, 50U);
    EXPECT_TRUE(log.contains("50 MiB of heap an isolate"));
    fs::remove_all(root);
}

}  // namespace
}  // namespace weft::app
