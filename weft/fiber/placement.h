// Where things run: for those who spread their work over the workers of a runtime themselves, as
// servers do with their listeners.
//
// In a fiber, and in what runs in a worker's loop (a Dormant, a Completion, a Timer).
#pragma once

#include <optional>
#include <vector>

#include "weft/base/result.h"
#include "weft/fiber/completion.h"

namespace weft {

// The workers that may run what the caller spawns: its own if that is pinned, else all that are
// not. NoRuntime on a plain thread.
Result<std::vector<unsigned>> workers_here();

// The number of the worker that runs the caller, until its next wait; nothing on a plain thread.
std::optional<unsigned> worker_here();

// Runs the record on that worker, by one of those numbers.
Result<void> post_here(unsigned worker, Completion& completion);

}  // namespace weft
