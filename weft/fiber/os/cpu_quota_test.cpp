#include "weft/fiber/os/cpu_quota.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace weft {
namespace {

namespace fs = std::filesystem;

// A root with a /proc and a /sys of its own.
class CpuQuota : public ::testing::Test {
protected:
    CpuQuota()
        : root_(fs::path(::testing::TempDir()) / ("weft-quota." + std::to_string(getpid()))) {
        fs::remove_all(root_);
    }
    ~CpuQuota() override { fs::remove_all(root_); }

    void write(const std::string& path, const std::string& text) const {
        fs::create_directories((root_ / path).parent_path());
        std::ofstream(root_ / path) << text << "\n";
    }
    void mount_second(const std::string& shown = "/") const {
        write("proc/self/mountinfo",
              "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"
              "30 22 0:26 " +
                  shown + " /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw");
    }
    void mount_first(const std::string& shown = "/") const {
        write("proc/self/mountinfo",
              "31 22 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
              "32 22 0:28 " +
                  shown + " /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct");
    }
    std::optional<double> quota() const { return cpu_quota(root_); }

    fs::path root_;
};

TEST_F(CpuQuota, FIB_5a_there_is_none_without_groups) { EXPECT_EQ(quota(), std::nullopt); }

TEST_F(CpuQuota, FIB_5a_the_group_at_the_root_of_a_container_counts) {
    mount_second();
    write("proc/self/cgroup", "0::/");
    EXPECT_EQ(quota(), std::nullopt);
    write("sys/fs/cgroup/cpu.max", "max 100000");
    EXPECT_EQ(quota(), std::nullopt);
    write("sys/fs/cgroup/cpu.max", "240000 100000");
    EXPECT_EQ(quota(), 2.4);
}

TEST_F(CpuQuota, FIB_5a_a_nested_group_counts) {
    mount_second();
    write("proc/self/cgroup", "0::/system.slice/weft.service");
    write("sys/fs/cgroup/system.slice/weft.service/cpu.max", "150000 100000");
    EXPECT_EQ(quota(), 1.5);
}

TEST_F(CpuQuota, FIB_5a_the_tightest_of_the_groups_above_counts) {
    mount_second();
    write("proc/self/cgroup", "0::/a/b/c");
    write("sys/fs/cgroup/a/cpu.max", "300000 100000");
    write("sys/fs/cgroup/a/b/cpu.max", "100000 50000");
    write("sys/fs/cgroup/a/b/c/cpu.max", "400000 100000");
    EXPECT_EQ(quota(), 2);
}

// A container that does not hide the names of the groups around it.
TEST_F(CpuQuota, FIB_5a_a_group_seen_from_within_counts) {
    mount_second("/docker/4711");
    write("proc/self/cgroup", "0::/docker/4711/inner");
    write("sys/fs/cgroup/cpu.max", "500000 100000");
    EXPECT_EQ(quota(), 5);
    write("sys/fs/cgroup/inner/cpu.max", "200000 100000");
    EXPECT_EQ(quota(), 2);
    // A group elsewhere cannot be seen: what can be seen still counts.
    write("proc/self/cgroup", "0::/elsewhere");
    EXPECT_EQ(quota(), 5);
}

TEST_F(CpuQuota, FIB_5a_groups_of_version_one_count) {
    mount_first();
    write("proc/self/cgroup", "3:memory:/m\n4:cpu,cpuacct:/a/b\n0::/");
    write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "350000");
    write("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000");
    EXPECT_EQ(quota(), 3.5);
    write("sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1");
    write("sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us", "100000");
    EXPECT_EQ(quota(), 3.5);
    write("sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "50000");
    EXPECT_EQ(quota(), 0.5);
}

TEST_F(CpuQuota, FIB_5a_nonsense_is_no_limit) {
    mount_second();
    write("proc/self/cgroup", "nonsense\n0::/a");
    write("sys/fs/cgroup/a/cpu.max", "100000 0");
    EXPECT_EQ(quota(), std::nullopt);
}

}  // namespace
}  // namespace weft
