// A function that uses up its stack, for tests of the report of an overflow.
#pragma once

namespace weft::testing {

// Each level takes a frame of half a kibibyte, and the compiler cannot remove a level.
[[gnu::noinline]] inline int recurse(int levels) {
    volatile char frame[512];
    frame[levels % 512] = static_cast<char>(levels);
    if (levels == 0) return frame[0];
    return recurse(levels - 1) + frame[levels % 512];
}

}  // namespace weft::testing
