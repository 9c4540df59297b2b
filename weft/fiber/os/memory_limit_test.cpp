#include "weft/fiber/os/memory_limit.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace weft {
namespace {

namespace fs = std::filesystem;

// A root with a /proc and a /sys of its own.
class MemoryLimit : public ::testing::Test {
protected:
    MemoryLimit()
        : root_(fs::path(::testing::TempDir()) / ("weft-memory." + std::to_string(getpid()))) {
        fs::remove_all(root_);
    }
    ~MemoryLimit() override { fs::remove_all(root_); }

    void write(const std::string& path, const std::string& text) const {
        fs::create_directories((root_ / path).parent_path());
        std::ofstream(root_ / path) << text << "\n";
    }

    fs::path root_;
};

TEST_F(MemoryLimit, FIB_5_without_groups_it_is_the_memory_of_the_machine) {
    EXPECT_EQ(memory_limit(root_), std::nullopt);
    write("proc/meminfo", "MemTotal:       16314772 kB\nMemFree:         1 kB");
    EXPECT_EQ(memory_limit(root_), 16314772ULL * 1024);
}

TEST_F(MemoryLimit, FIB_5_the_tightest_of_the_groups_above_counts) {
    write("proc/meminfo", "MemTotal:       16314772 kB");
    write("proc/self/mountinfo", "30 22 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw");
    write("proc/self/cgroup", "0::/system.slice/weft.service");
    write("sys/fs/cgroup/system.slice/weft.service/memory.max", "max");
    EXPECT_EQ(memory_limit(root_), 16314772ULL * 1024);
    write("sys/fs/cgroup/system.slice/memory.max", "536870912");
    EXPECT_EQ(memory_limit(root_), 536870912U);
    write("sys/fs/cgroup/system.slice/weft.service/memory.max", "268435456");
    EXPECT_EQ(memory_limit(root_), 268435456U);
}

TEST_F(MemoryLimit, FIB_5_groups_of_the_first_version_count) {
    write("proc/meminfo", "MemTotal:       16314772 kB");
    write("proc/self/mountinfo",
          "31 22 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
          "32 22 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct");
    write("proc/self/cgroup", "9:memory:/box\n4:cpu,cpuacct:/other");
    write("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "9223372036854771712");
    EXPECT_EQ(memory_limit(root_), 16314772ULL * 1024);
    write("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "134217728");
    EXPECT_EQ(memory_limit(root_), 134217728U);
}

}  // namespace
}  // namespace weft
