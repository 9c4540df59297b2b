// Waits for something that another thread or fiber is about to do.
#pragma once

#include <chrono>
#include <concepts>

#include "weft/base/time.h"
#include "weft/fiber/fiber.h"

namespace weft::testing {

inline constexpr std::chrono::seconds kEventuallyMax{20};

// True as soon as `condition()` is; false when it was not within kEventuallyMax. Any fiber and any
// thread; between two checks a fiber sleeps and a thread blocks. Use it only where there is nothing
// to wait for; a join or a park is better.
template <std::predicate Condition>
[[nodiscard]] bool eventually(Condition condition) {
    Deadline deadline = Deadline::after(kEventuallyMax);
    while (!condition()) {
        if (deadline.expired(Clock::now())) return false;
        if (!weft::sleep_for(std::chrono::microseconds(200))) weft::yield();
    }
    return true;
}

}  // namespace weft::testing
