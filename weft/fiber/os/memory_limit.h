// How much memory this process may have.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace weft {

// In bytes: the tightest limit of its control group and of all groups above it, of version 1 and 2,
// and what the machine has; none if neither can be told. `root` is where /proc and /sys lie: "/",
// but for tests. Any thread.
std::optional<std::uint64_t> memory_limit(const std::filesystem::path& root = "/");

}  // namespace weft
