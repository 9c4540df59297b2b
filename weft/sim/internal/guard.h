// Detects what cannot be simulated: real clocks, sleeps, randomness, threads and locks.
//
// The library is linked before the C library, so calls of the program (and of the C++ library for
// it: std::chrono clocks, std::thread, std::random_device, std::mutex) come here first. On the real
// machine they are passed on. In a simulation they fail the run with a sentence that says what to
// use instead, because they would make one seed give different runs. Calls under env::Unseen are
// passed on as well.
#pragma once

namespace weft::sim {

// Does nothing; a call of it makes the linker keep the guard.
void set_guard();

}  // namespace weft::sim
