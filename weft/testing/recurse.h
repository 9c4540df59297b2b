// A function that uses up its stack, for tests of what is said about an overflow.
#pragma once

namespace weft::testing {

// Half a kibibyte of frame a level, and no level can be left out by the compiler.
[[gnu::noinline]] inline int recurse(int levels) {
    volatile char frame[512];
    frame[levels % 512] = static_cast<char>(levels);
    if (levels == 0) return frame[0];
    return recurse(levels - 1) + frame[levels % 512];
}

}  // namespace weft::testing
