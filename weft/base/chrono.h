// The durations, time points and clocks of std::chrono without its calendar and stream operators,
// which no header of Weft needs and which would lengthen the compilation of every program.
#pragma once

// tidy: allow-file foreign: parts of the standard library, if it is split that way
#if __has_include(<bits/chrono.h>)
#include <bits/chrono.h>
#else
#include <chrono>
#endif
