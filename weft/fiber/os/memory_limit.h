// How much memory this process may have.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace weft {

// In bytes: the least of the limits of its control group and of all groups above it, of version 1
// and 2, and the memory of the machine; none if neither is known. `root` is the folder of /proc and
// /sys: "/", except in tests. Any thread.
std::optional<std::uint64_t> memory_limit(const std::filesystem::path& root = "/");

}  // namespace weft
