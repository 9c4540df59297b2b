// How many cpus the control groups of this process let it use.
#pragma once

#include <filesystem>
#include <optional>

namespace weft {

// The least of the limits of its group and of all groups above it, of version 1 and 2; none if
// there is no limit or no such group. `root` is the folder of /proc and /sys: "/", except in tests.
// Any thread.
std::optional<double> cpu_quota(const std::filesystem::path& root = "/");

}  // namespace weft
