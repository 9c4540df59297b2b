// Counts the turns of a fiber that is always ready, beside a fiber that never needs to wait. Used
// on a runtime with one worker: there it gets a turn each time that the other gives up its own.
#pragma once

#include <cstddef>

#include "weft/fiber/fiber.h"

namespace weft::testing {

// The most operations without a wait in one turn (docs/design/013).
inline constexpr std::size_t kTurnOperationsMax = 128;

class TurnCounter {
public:
    TurnCounter()
        : fiber_(spawn([this] {
              for (; !stop_; ++turns_) yield();
          })) {
        yield();
        turns_ = 0;
    }
    ~TurnCounter() {
        stop_ = true;
        static_cast<void>(fiber_.join());
    }
    TurnCounter(const TurnCounter&) = delete;
    TurnCounter& operator=(const TurnCounter&) = delete;

    std::size_t turns() const { return turns_; }

private:
    std::size_t turns_ = 0;
    bool stop_ = false;
    Future<void> fiber_;
};

}  // namespace weft::testing
