// A memory fence between two threads whose whole cost falls on one side.
//
// Two threads each write one word and then read the other's; at least one of them must see what the
// other wrote. With a fence on both sides each pays. Here the side that does it often, light(),
// only keeps the compiler from changing the order, and the side that does it rarely, heavy(), asks
// the kernel to let every running thread of the process pass a full fence (membarrier(2)). Any
// thread.
#pragma once

namespace weft::asymmetric_fence {

// False where the kernel has no such call: then both sides need ordered operations of their own. In
// simulation always true, because all simulated threads are one.
bool is_available();

[[gnu::always_inline]] inline void light() { asm volatile("" ::: "memory"); }
void heavy();  // only where it is available

}  // namespace weft::asymmetric_fence
