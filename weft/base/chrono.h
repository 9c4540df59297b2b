// Durations, instants and clocks of std::chrono without its calendar and its streams, which no
// header of ours needs and every program would have to compile.
#pragma once

// tidy: allow-file foreign: parts of the standard library, where it has them
#if __has_include(<bits/chrono.h>)
#include <bits/chrono.h>
#else
#include <chrono>
#endif
