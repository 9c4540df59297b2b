// The control groups of this process: the folders in which their limits are.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

namespace weft {

enum class GroupVersion : bool { One, Two };

// Calls visit() for the folder of the process's group of a controller ("cpu", "memory"), and for
// those of all visible groups above it, of version 1 and 2. `root` is the folder of /proc and /sys:
// "/", except in tests. Any thread.
void visit_groups(
    const std::filesystem::path& root, std::string_view controller,
    const std::function<void(const std::filesystem::path& folder, GroupVersion version)>& visit);

}  // namespace weft
