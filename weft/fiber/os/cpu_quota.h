// How many cpus the control groups of this process let it use.
#pragma once

#include <filesystem>
#include <optional>

namespace weft {

// The tightest limit of its group and of all groups above it, of version 1 and 2; none if there is
// no limit or no such group. `root` is where /proc and /sys lie: "/", but for tests. Any thread.
std::optional<double> cpu_quota(const std::filesystem::path& root = "/");

}  // namespace weft
