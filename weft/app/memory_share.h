// The limit on the heap of an isolate if the configuration does not set one.
//
// Values; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "weft/app/config.h"

namespace weft::app {

// A quarter of the memory that the process may use, divided among its isolates; between 16 and
// 256 MiB. Only a quarter, because a full heap may grow once to twice its size, and ArrayBuffers
// are limited separately.
std::size_t heap_mib_share(std::optional<std::uint64_t> memory_bytes, std::size_t isolates);

// Sets that limit for every application without one, and logs it once. `root` is the folder that
// contains /proc and /sys: "/" except in tests.
void set_heap_limits(ServeConfig& config, const std::filesystem::path& root = "/");

}  // namespace weft::app
