// SharedQueue: a queue that all workers share: first in, first out, unbounded, under a lock.
#pragma once

#include <cstdint>

#include "weft/base/assert.h"
#include "weft/base/atomic.h"
#include "weft/base/spin_lock.h"

namespace weft {

struct SharedQueueOrder {
    // seq_cst: stored before the caller looks for a sleeper; a worker that falls asleep reads the
    // size after its announcement.
    static constexpr std::memory_order kSize = std::memory_order_seq_cst;
};

// T has a member `next`, which belongs to the queue until the item is popped.
template <class T, class Order = SharedQueueOrder>
class SharedQueue {
public:
    // Any thread: a chain linked by `next`. The caller then looks for a sleeper.
    void push(T* first, T* last, unsigned count) {
        SpinGuard guard(lock_);
        WEFT_DASSERT(!first_ == !last_, "both ends are there, or none");
        last->next = nullptr;
        if (last_) {
            last_->next = first;
        } else {
            first_ = first;
        }
        last_ = last;
        // Relaxed: written under the lock only.
        size_.store(size_.load(std::memory_order_relaxed) + count, Order::kSize);
    }

    // Any worker: up to `limit` items linked by `next`; null when there are none.
    T* pop(unsigned limit) {
        // Relaxed: a hint; an item that comes right after it is found at the next call.
        if (size_.load(std::memory_order_relaxed) == 0) return nullptr;
        SpinGuard guard(lock_);
        T* first = first_;
        if (!first) return nullptr;
        T* last = first;
        unsigned count = 1;
        while (count < limit && last->next) {
            last = static_cast<T*>(last->next);
            ++count;
        }
        first_ = static_cast<T*>(last->next);
        if (!first_) last_ = nullptr;
        last->next = nullptr;
        // Relaxed: written under the lock only.
        std::uint64_t size = size_.load(std::memory_order_relaxed);
        WEFT_ASSERT(size >= count && (size == count) == !first_, "the size is that of the queue");
        size_.store(size - count, Order::kSize);
        return first;
    }

    // seq_cst: see SharedQueueOrder.
    std::uint64_t size() const { return size_.load(std::memory_order_seq_cst); }

private:
    SpinLock lock_;
    T* first_ = nullptr;
    T* last_ = nullptr;
    Atomic<std::uint64_t> size_{0};
};

}  // namespace weft
