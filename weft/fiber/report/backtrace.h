// Where a fiber is: the addresses of its frames, innermost first, each inside the call that it
// stands for. Empty where libunwind or libdw is not there.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft {

struct Fiber;
struct StackSnapshot;

using Frames = std::vector<std::uintptr_t>;

// Of a fiber that does not run. The caller holds it back (see dump.cpp).
Frames frames_of(Fiber& fiber);
// Of running ones, one each.
std::vector<Frames> frames_of(std::span<const StackSnapshot> snapshots);

// As texts, without the runtime's own frames at both ends: how a fiber was started, and how it
// waits. One answer for each.
std::vector<std::vector<std::string>> describe_frames(std::span<const Frames> backtraces);

}  // namespace weft
