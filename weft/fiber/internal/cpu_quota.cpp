#include "weft/fiber/internal/cpu_quota.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace weft {
namespace {

namespace fs = std::filesystem;

enum class Version : bool { One, Two };

// Where a hierarchy of groups can be seen, and which of its groups stands there: a container often
// sees its own group only.
struct Hierarchy {
    Version version;
    std::string shown;  // the path of the group at the mount point
    fs::path mount_point;
};

// `word` in "a,b,c".
bool contains(std::string_view list, std::string_view word) {
    while (!list.empty()) {
        std::size_t comma = list.find(',');
        if (list.substr(0, comma) == word) return true;
        if (comma == std::string_view::npos) return false;
        list.remove_prefix(comma + 1);
    }
    return false;
}

// Of a line of /proc/self/mountinfo, proc(5):
//     36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
std::optional<Hierarchy> hierarchy_of(const std::string& line, const fs::path& root) {
    std::istringstream words(line);
    std::string skipped, shown, mount_point, word;
    if (!(words >> skipped >> skipped >> skipped >> shown >> mount_point)) return std::nullopt;
    while (words >> word && word != "-") {}
    std::string type, source, options;
    if (!(words >> type >> source >> options)) return std::nullopt;
    bool is_second = type == "cgroup2";
    if (!is_second && (type != "cgroup" || !contains(options, "cpu"))) return std::nullopt;
    return Hierarchy{is_second ? Version::Two : Version::One, shown,
                     root / fs::path(mount_point).relative_path()};
}

// The path of this process's group, from a line of /proc/self/cgroup: "0::/path" of version 2,
// "4:cpu,cpuacct:/path" of version 1.
std::optional<std::string> group_of(const std::string& line, Version version) {
    std::size_t first = line.find(':');
    if (first == std::string::npos) return std::nullopt;
    std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) return std::nullopt;
    std::string_view controllers(line.data() + first + 1, second - first - 1);
    bool fits = version == Version::Two ? controllers.empty() : contains(controllers, "cpu");
    if (!fits) return std::nullopt;
    return line.substr(second + 1);
}

std::optional<double> limit_of(const fs::path& group, Version version) {
    double period = 0;
    if (version == Version::Two) {
        std::ifstream file(group / "cpu.max");
        std::string quota;  // a number, or "max"
        if (!(file >> quota >> period) || quota == "max" || period <= 0) return std::nullopt;
        return std::strtod(quota.c_str(), nullptr) / period;
    }
    double quota = -1;  // which is also what the file says when there is no limit
    std::ifstream quotas(group / "cpu.cfs_quota_us");
    std::ifstream periods(group / "cpu.cfs_period_us");
    if (!(quotas >> quota) || !(periods >> period) || quota < 0 || period <= 0) return std::nullopt;
    return quota / period;
}

// The folder of `group`, if it can be seen in the hierarchy; else that of the group that can.
fs::path folder_of(const Hierarchy& hierarchy, const std::string& group) {
    fs::path below = fs::path(group).lexically_relative(hierarchy.shown);
    if (below.empty() || *below.begin() == "..") return hierarchy.mount_point;
    return (hierarchy.mount_point / below).lexically_normal();
}

void tighten(std::optional<double>& limit, std::optional<double> other) {
    if (other) limit = std::min(limit.value_or(*other), *other);
}

}  // namespace

std::optional<double> cpu_quota(const fs::path& root) {
    std::optional<double> tightest;
    std::ifstream mounts(root / "proc/self/mountinfo");
    for (std::string mount; std::getline(mounts, mount);) {
        std::optional<Hierarchy> hierarchy = hierarchy_of(mount, root);
        if (!hierarchy) continue;
        std::ifstream groups(root / "proc/self/cgroup");
        for (std::string line; std::getline(groups, line);) {
            std::optional<std::string> group = group_of(line, hierarchy->version);
            if (!group) continue;
            fs::path folder = folder_of(*hierarchy, *group);
            while (folder != hierarchy->mount_point && folder.has_relative_path()) {
                tighten(tightest, limit_of(folder, hierarchy->version));
                folder = folder.parent_path();
            }
            tighten(tightest, limit_of(hierarchy->mount_point, hierarchy->version));
        }
    }
    return tightest;
}

}  // namespace weft
