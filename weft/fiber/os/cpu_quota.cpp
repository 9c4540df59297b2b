#include "weft/fiber/os/cpu_quota.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

#include "weft/fiber/os/control_groups.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

std::optional<double> limit_of(const fs::path& group, GroupVersion version) {
    double period = 0;
    if (version == GroupVersion::Two) {
        std::ifstream file(group / "cpu.max");
        std::string quota;  // a number, or "max"
        if (!(file >> quota >> period) || quota == "max" || period <= 0) return std::nullopt;
        return std::strtod(quota.c_str(), nullptr) / period;
    }
    double quota = -1;  // also the content of the file when there is no limit
    std::ifstream quotas(group / "cpu.cfs_quota_us");
    std::ifstream periods(group / "cpu.cfs_period_us");
    if (!(quotas >> quota) || !(periods >> period) || quota < 0 || period <= 0) return std::nullopt;
    return quota / period;
}

}  // namespace

std::optional<double> cpu_quota(const fs::path& root) {
    std::optional<double> tightest;
    visit_groups(root, "cpu", [&](const fs::path& folder, GroupVersion version) {
        std::optional<double> limit = limit_of(folder, version);
        if (limit) tightest = std::min(tightest.value_or(*limit), *limit);
    });
    return tightest;
}

}  // namespace weft
