#include "weft/fiber/os/control_groups.h"

#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace weft {
namespace {

namespace fs = std::filesystem;

// Where a hierarchy of groups is mounted, and which of its groups is at the mount point: a
// container often sees its own group only.
struct Hierarchy {
    GroupVersion version;
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

// From a line of /proc/self/mountinfo, proc(5):
//     36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
std::optional<Hierarchy> hierarchy_of(const std::string& line, const fs::path& root,
                                      std::string_view controller) {
    std::istringstream words(line);
    std::string skipped, shown, mount_point, word;
    if (!(words >> skipped >> skipped >> skipped >> shown >> mount_point)) return std::nullopt;
    while (words >> word && word != "-") {}
    std::string type, source, options;
    if (!(words >> type >> source >> options)) return std::nullopt;
    bool is_second = type == "cgroup2";
    if (!is_second && (type != "cgroup" || !contains(options, controller))) return std::nullopt;
    return Hierarchy{is_second ? GroupVersion::Two : GroupVersion::One, shown,
                     root / fs::path(mount_point).relative_path()};
}

// The path of this process's group, from a line of /proc/self/cgroup: "0::/path" of version 2,
// "4:cpu,cpuacct:/path" of version 1.
std::optional<std::string> group_of(const std::string& line, GroupVersion version,
                                    std::string_view controller) {
    std::size_t first = line.find(':');
    if (first == std::string::npos) return std::nullopt;
    std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) return std::nullopt;
    std::string_view controllers(line.data() + first + 1, second - first - 1);
    bool fits =
        version == GroupVersion::Two ? controllers.empty() : contains(controllers, controller);
    if (!fits) return std::nullopt;
    return line.substr(second + 1);
}

// The folder of `group`, if it is visible in the hierarchy; else that of the group at the mount
// point.
fs::path folder_of(const Hierarchy& hierarchy, const std::string& group) {
    fs::path below = fs::path(group).lexically_relative(hierarchy.shown);
    if (below.empty() || *below.begin() == "..") return hierarchy.mount_point;
    return (hierarchy.mount_point / below).lexically_normal();
}

}  // namespace

void visit_groups(const fs::path& root, std::string_view controller,
                  const std::function<void(const fs::path& folder, GroupVersion version)>& visit) {
    std::ifstream mounts(root / "proc/self/mountinfo");
    for (std::string mount; std::getline(mounts, mount);) {
        std::optional<Hierarchy> hierarchy = hierarchy_of(mount, root, controller);
        if (!hierarchy) continue;
        std::ifstream groups(root / "proc/self/cgroup");
        for (std::string line; std::getline(groups, line);) {
            std::optional<std::string> group = group_of(line, hierarchy->version, controller);
            if (!group) continue;
            fs::path folder = folder_of(*hierarchy, *group);
            while (folder != hierarchy->mount_point && folder.has_relative_path()) {
                visit(folder, hierarchy->version);
                folder = folder.parent_path();
            }
            visit(hierarchy->mount_point, hierarchy->version);
        }
    }
}

}  // namespace weft
