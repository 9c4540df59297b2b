// How large the heap of an isolate may be where the configuration does not say so.
//
// Values; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "weft/app/config.h"

namespace weft::app {

// A quarter of the memory that the process may have, shared out among its isolates: a heap that
// fills up is let grow once to twice its size, and buffers count apart. Between 16 and 256 MiB.
std::size_t heap_mib_share(std::optional<std::uint64_t> memory_bytes, std::size_t isolates);

// Gives every application without a limit of its own that share, and says so in the log, once.
// `root` is where /proc and /sys lie: "/", but for tests.
void set_heap_limits(ServeConfig& config, const std::filesystem::path& root = "/");

}  // namespace weft::app
