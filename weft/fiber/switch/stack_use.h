// StackUse: whether a worker still runs on the stack of a fiber.
//
// A fiber may be woken before it has left its stack, and another worker may then find it in a
// queue. That worker must not resume it before its context is saved, and puts it back.
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
    // By the worker that resumes the fiber.
    void begin() {
        // Relaxed: the fiber is in no queue, so nobody else reads it.
        in_use_.store(true, std::memory_order_relaxed);
    }
    // By the same worker, when it has switched to another stack.
    void end() {
        // Release: the saved context is complete; pairs with is_over().
        in_use_.store(false, Order::kLeave);
    }
    // Any thread. True: the context is saved.
    bool is_over() const {
        // Acquire: the saved context; pairs with end().
        return !in_use_.load(Order::kLook);
    }
    // By the worker of a fiber that has ended, which nobody will resume.
    void forget() {
        // Relaxed: the block is handed to its next user by a queue or a lock.
        in_use_.store(false, std::memory_order_relaxed);
    }
    // A momentary value, for diagnosis.
    bool seems_over() const { return !in_use_.load(std::memory_order_relaxed); }

private:
    SchedulerAtomic<bool> in_use_{false};
};

using StackUse = BasicStackUse<StackOrder>;

}  // namespace weft
