// Floating-point control state (rounding, traps) of the fibers that asked to keep their own.
// Everybody else runs with the default, so that a switch does not have to touch it.
#pragma once

#include "weft/fiber/switch/fiber_block.h"

namespace weft::float_state {

// Saves what `left` has set and loads what `entered` had set, or the default.
void change(Fiber& left, Fiber& entered);
std::uint32_t default_control();

}  // namespace weft::float_state
