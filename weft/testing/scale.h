// How much a test does in this build and this run.
//
// `make test` runs a slice; with WEFT_TEST_LONG=1 tests run at the full counts of the contract.
// Sanitizers are slow, and the thread sanitizer has room for only some thousand fibers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string_view>

#include "weft/base/sanitizer.h"

namespace weft::testing {

#ifdef WEFT_ASAN
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif
#ifdef WEFT_TSAN
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif
inline constexpr bool kSanitizer = kAddressSanitizer || kThreadSanitizer;

// At most so many fibers may live at the same time under the thread sanitizer.
inline constexpr std::size_t kThreadSanitizerFibersMax = 2'000;

inline bool is_long() {
    const char* text = std::getenv("WEFT_TEST_LONG");
    return text && std::string_view(text) == "1";
}

// A number of fibers that live at the same time.
constexpr std::size_t scaled(std::size_t fibers) {
    return kThreadSanitizer ? std::min(fibers, kThreadSanitizerFibersMax) : fibers;
}
inline std::size_t scaled(std::size_t slice, std::size_t full) {
    return scaled(is_long() ? full : slice);
}

// A number of repetitions.
constexpr std::size_t repeats(std::size_t count) {
    return kSanitizer ? std::max<std::size_t>(count / 10, 1) : count;
}

}  // namespace weft::testing
