#include "weft/fiber/os/memory_limit.h"

#include <algorithm>
#include <fstream>
#include <string>

#include "weft/fiber/os/control_groups.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

std::optional<std::uint64_t> limit_of(const fs::path& group, GroupVersion version) {
    // Without a limit version 1 has a number near 2^63, which is larger than the machine's memory;
    // version 2 has "max".
    std::ifstream file(group /
                       (version == GroupVersion::Two ? "memory.max" : "memory.limit_in_bytes"));
    std::uint64_t bytes = 0;
    if (!(file >> bytes)) return std::nullopt;
    return bytes;
}

// From the first line of /proc/meminfo, proc(5): "MemTotal:       16314772 kB".
std::optional<std::uint64_t> memory_of_machine(const fs::path& root) {
    std::ifstream file(root / "proc/meminfo");
    std::string key;
    std::uint64_t kib = 0;
    if (!(file >> key >> kib) || key != "MemTotal:") return std::nullopt;
    return kib * 1024;
}

}  // namespace

std::optional<std::uint64_t> memory_limit(const fs::path& root) {
    std::optional<std::uint64_t> tightest = memory_of_machine(root);
    visit_groups(root, "memory", [&](const fs::path& folder, GroupVersion version) {
        std::optional<std::uint64_t> limit = limit_of(folder, version);
        if (limit) tightest = std::min(tightest.value_or(*limit), *limit);
    });
    return tightest;
}

}  // namespace weft
