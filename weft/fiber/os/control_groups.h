// The control groups of this process: where their limits stand.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

namespace weft {

enum class GroupVersion : bool { One, Two };

// Calls visit() for the folder of the process's group of a controller ("cpu", "memory") and those
// of all groups above it that can be seen, of version 1 and 2. `root` is where /proc and /sys lie:
// "/", but for tests. Any thread.
void visit_groups(
    const std::filesystem::path& root, std::string_view controller,
    const std::function<void(const std::filesystem::path& folder, GroupVersion version)>& visit);

}  // namespace weft
