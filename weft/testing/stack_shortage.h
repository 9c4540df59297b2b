// For death tests: a time in which fibers get no stacks.
#pragma once

#include <vector>

#include "weft/fiber/fiber.h"
#include "weft/sync/event.h"
#include "weft/testing/short_memory.h"

namespace weft::testing {

// Spawns fibers that hold their stacks until no stack is left. It is used in a fiber of a runtime
// with one worker, which starts the others when that fiber yields; use_one_heap() and fill_heap()
// are called before.
class StackShortage {
public:
    StackShortage() {
        limit_address_space(16 << 20);
        int refused = 0;
        while (refused < 10 && holders_.size() < 1000) {
            holders_.push_back(spawn([this] { return over_.wait(); }));
            for (int i = 0; i < 4; ++i) yield();
            refused += holders_.back().is_done() ? 1 : 0;
        }
    }
    // Ends the shortage; returns how many fibers got no stack.
    int end() {
        over_.set();
        int refused = 0;
        for (Future<void>& holder : holders_) refused += holder.join() ? 0 : 1;
        lift_limit();
        return refused;
    }

private:
    Event over_;
    std::vector<Future<void>> holders_;
};

}  // namespace weft::testing
