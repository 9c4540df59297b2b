// For death tests: a time in which fibers get no stacks.
#pragma once

#include <vector>

#include "weft/fiber/fiber.h"
#include "weft/sync/event.h"
#include "weft/testing/short_memory.h"

namespace weft::testing {

// Fibers that hold stacks until there are none left. In a fiber, whose worker begins the others in
// their turn; after use_one_heap() and fill_heap().
class Drought {
public:
    Drought() {
        limit_address_space(16 << 20);
        int refused = 0;
        while (refused < 10 && hogs_.size() < 1000) {
            hogs_.push_back(spawn([this] { return over_.wait(); }));
            for (int i = 0; i < 4; ++i) yield();
            refused += hogs_.back().is_done() ? 1 : 0;
        }
    }
    // How many were refused.
    int end() {
        over_.set();
        int refused = 0;
        for (Future<void>& hog : hogs_) refused += hog.join() ? 0 : 1;
        lift_limit();
        return refused;
    }

private:
    Event over_;
    std::vector<Future<void>> hogs_;
};

}  // namespace weft::testing
