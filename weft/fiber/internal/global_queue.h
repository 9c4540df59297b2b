// A queue of fibers that all workers share: first in first out, unbounded, under a lock.
#pragma once

#include <cstdint>

#include "weft/base/atomic.h"
#include "weft/base/spin_lock.h"
#include "weft/fiber/internal/fiber_block.h"

namespace weft {

class GlobalQueue {
public:
    // Any thread: a chain linked by `next`. The caller then looks for a sleeper.
    void push(Fiber* first, Fiber* last, unsigned count) {
        SpinGuard guard(lock_);
        last->next = nullptr;
        if (last_) {
            last_->next = first;
        } else {
            first_ = first;
        }
        last_ = last;
        // seq_cst: added before the look for a sleeper. Written under the lock only.
        size_.store(size_.load(std::memory_order_relaxed) + count, std::memory_order_seq_cst);
    }

    // Any worker: up to `limit` fibers linked by `next`; null when there are none.
    Fiber* pop(unsigned limit) {
        // Relaxed: a guess; what comes right after it is seen at the next look.
        if (size_.load(std::memory_order_relaxed) == 0) return nullptr;
        SpinGuard guard(lock_);
        Fiber* first = first_;
        if (!first) return nullptr;
        Fiber* last = first;
        unsigned count = 1;
        while (count < limit && last->next) {
            last = static_cast<Fiber*>(last->next);
            ++count;
        }
        first_ = static_cast<Fiber*>(last->next);
        if (!first_) last_ = nullptr;
        last->next = nullptr;
        // seq_cst, as in push(): read by a worker that is about to sleep.
        size_.store(size_.load(std::memory_order_relaxed) - count, std::memory_order_seq_cst);
        return first;
    }

    std::uint64_t size() const { return size_.load(std::memory_order_seq_cst); }

private:
    SpinLock lock_;
    Fiber* first_ = nullptr;
    Fiber* last_ = nullptr;
    Atomic<std::uint64_t> size_{0};
};

}  // namespace weft
