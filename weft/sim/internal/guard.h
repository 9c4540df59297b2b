// Notices what a simulation cannot play: real clocks, sleeps, randomness, threads and locks.
//
// The library stands before the C library, so calls of the program (and of the C++ library for it:
// std::chrono clocks, std::thread, std::random_device, std::mutex) come here first. On the real
// machine they are passed on. In a simulation they fail the run with a sentence that says what to
// use instead, for they would make one seed give different runs. What is done under env::Unseen is
// passed on as well.
#pragma once

namespace weft::sim {

// Makes the linker keep the guard.
void set_guard();

}  // namespace weft::sim
