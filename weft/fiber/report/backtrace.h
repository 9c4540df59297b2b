// Backtraces of fibers: the addresses of the frames, innermost first, each inside the call
// instruction. Empty in builds without libunwind or, for running fibers, without libdw. Any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft {

struct Fiber;
struct StackSnapshot;

using Frames = std::vector<std::uintptr_t>;

// The frames of a fiber that does not run. The caller keeps it from being resumed (see dump.cpp).
Frames frames_of(Fiber& fiber);
// The frames of running fibers, one result for each snapshot.
std::vector<Frames> frames_of(std::span<const StackSnapshot> snapshots);

// As texts, without the runtime's own frames at both ends, by which a fiber was started and by
// which it waits. One result for each backtrace.
std::vector<std::vector<std::string>> describe_frames(std::span<const Frames> backtraces);

}  // namespace weft
