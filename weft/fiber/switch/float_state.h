// Floating-point control state (rounding, traps) of fibers with FloatState::Keep. All others run
// with the default, so that a switch between them does not have to touch it.
#pragma once

#include "weft/fiber/switch/fiber_block.h"

namespace weft::float_state {

// Saves the state of `left` and loads that of `entered`, if they keep theirs; else the default.
void change(Fiber& left, Fiber& entered);
std::uint32_t default_control();

}  // namespace weft::float_state
