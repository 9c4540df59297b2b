// StackUse: whether a worker runs on the stack of a fiber.
//
// Who wakes a fiber may do so before it has left its stack, and another worker may find it in a
// queue then: it puts the fiber back. This closes the gap between "woken" and "has left".
#pragma once

#include "weft/base/atomic.h"

namespace weft {

struct StackOrder {
    static constexpr std::memory_order kLeave = std::memory_order_release;
    static constexpr std::memory_order kLook = std::memory_order_acquire;
};

template <class Order>
class BasicStackUse {
public:
    // By the worker that goes on in the fiber.
    void begin() {
        // Relaxed: the fiber is in no queue, so nobody else looks.
        in_use_.store(true, std::memory_order_relaxed);
    }
    // By the same, when it is on another stack.
    void end() {
        // Release: the saved context is complete; pairs with is_over().
        in_use_.store(false, Order::kLeave);
    }
    // By anybody: the context is saved.
    bool is_over() const {
        // Acquire: the saved context; pairs with end().
        return !in_use_.load(Order::kLook);
    }
    // Of a fiber that has ended, by its worker: nobody will go on in it.
    void forget() {
        // Relaxed: whoever has the block next is given it.
        in_use_.store(false, std::memory_order_relaxed);
    }
    // For diagnosis.
    bool seems_over() const { return !in_use_.load(std::memory_order_relaxed); }

private:
    SchedulerAtomic<bool> in_use_{false};
};

using StackUse = BasicStackUse<StackOrder>;

}  // namespace weft
