// RunQueue: a worker's bounded queue of runnable fibers, with one owner and any number of thieves.
//
// The owner pushes and may take the newest; every worker, the owner included, may take the oldest.
// So one structure serves as a FIFO of woken fibers and as a LIFO of fresh ones. A queue that is
// never stolen from (Takers::OwnerOnly) needs no locked instruction. Indices are 64 bits wide and
// only grow (except for the owner's short step back in pop_newest), so no thief can mistake a
// reused slot for the one it read.
//
// Memory ordering: a push publishes the fiber by the release store of `end_`, which the taker's
// load of `end_` acquires. `begin_` and `end_` are also seq_cst where the owner and a thief may
// meet on the last element: each writes its own index before reading the other's, and they must not
// both miss.
#pragma once

#include <array>
#include <cstdint>

#include "weft/base/assert.h"
#include "weft/base/atomic.h"
#include "weft/base/planted.h"

namespace weft {

// The steps and memory orders; run_queue_model_test.cpp shows what each is needed for.
struct RunQueueOrder {
    // Release: publishes the item to its taker.
    static constexpr std::memory_order kPush = std::memory_order_release;
    // seq_cst: the owner steps back before it reads begin_; a thief moves begin_ before it reads
    // end_.
    static constexpr std::memory_order kStepBack = std::memory_order_seq_cst;
    static constexpr std::memory_order kSteal = std::memory_order_seq_cst;
    static constexpr bool kHeedsThieves = true;  // a push reads begin_
    static constexpr bool kStepsBackFirst = true;
    static constexpr bool kRaces = true;      // the owner competes for the last one
    static constexpr bool kExchanges = true;  // the oldest is taken by compare-and-swap
};

template <class T, unsigned Capacity = 256, class Order = RunQueueOrder>
class RunQueue {
    static_assert((Capacity & (Capacity - 1)) == 0);

public:
    static constexpr unsigned kCapacity = Capacity;
    enum class Takers : bool { Anybody, OwnerOnly };

    explicit RunQueue(Takers takers = Takers::Anybody) : takers_(takers) {}

    // Owner only. False when full.
    bool push(T* item) {
        std::uint64_t end = end_.load(std::memory_order_relaxed);
        // Acquire: the slot about to be overwritten has been read by the thief that moved begin_.
        std::uint64_t begin = Order::kHeedsThieves ? begin_.load(std::memory_order_acquire) : end;
        WEFT_DASSERT(end - begin <= Capacity, "thieves take no more than was pushed");
        if (end - begin >= Capacity) return false;
        append(end, item);
        return true;
    }

    // Owner only. Null when empty.
    T* pop_newest() {
        std::uint64_t end = end_.load(std::memory_order_relaxed);
        // begin_ only grows, so an old value can only make the queue look longer than it is.
        std::uint64_t oldest = begin_.load(std::memory_order_relaxed);
        if (oldest == end) return nullptr;
        if (takers_ == Takers::OwnerOnly) {
            end_.store(end - 1, std::memory_order_relaxed);
            return slot(end - 1).load(std::memory_order_relaxed);
        }
        if (oldest + 1 == end) {
            // One is left, and it is also the oldest: no need to step back first.
            T* only = slot(oldest).load(std::memory_order_relaxed);
            return move_begin(oldest, end) ? only : nullptr;
        }
        std::uint64_t last = end - 1;
        std::uint64_t begin = oldest;
        if (!Order::kStepsBackFirst) begin = begin_.load(std::memory_order_seq_cst);
        end_.store(last, Order::kStepBack);
        if (Order::kStepsBackFirst) begin = begin_.load(std::memory_order_seq_cst);
        if (begin > last) {
            end_.store(end, std::memory_order_relaxed);
            return nullptr;
        }
        // Relaxed: the owner's own store.
        T* item = slot(last).load(std::memory_order_relaxed);
        if (begin < last) return item;
        // The last one belongs to the worker that moves begin_.
        if (!move_begin(begin, begin + 1)) item = nullptr;
        // Release: a thief that reads the index again must also see the items pushed before it.
        end_.store(end, std::memory_order_release);
        return item;
    }

    // Owner only. Takes the oldest and puts `item` behind the newest; null, and nothing put, when
    // empty. Never needs room.
    T* exchange_oldest(T* item) {
        if (takers_ == Takers::Anybody) {
            T* oldest = pop_oldest();
            if (oldest) append(end_.load(std::memory_order_relaxed), item);
            return oldest;
        }
        std::uint64_t begin = begin_.load(std::memory_order_relaxed);
        std::uint64_t end = end_.load(std::memory_order_relaxed);
        if (begin == end) return nullptr;
        WEFT_DASSERT(end - begin <= Capacity, "a slot is overwritten only after it was taken");
        T* oldest = slot(begin).load(std::memory_order_relaxed);
        // Relaxed, here and below: the owner is alone with the queue.
        begin_.store(begin + 1, std::memory_order_relaxed);
        slot(end).store(item, std::memory_order_relaxed);
        end_.store(end + 1, std::memory_order_relaxed);
        return oldest;
    }

    // Owner only. Null when empty.
    T* take_oldest() {
        if (takers_ == Takers::Anybody) return pop_oldest();
        std::uint64_t begin = begin_.load(std::memory_order_relaxed);
        if (begin == end_.load(std::memory_order_relaxed)) return nullptr;
        begin_.store(begin + 1, std::memory_order_relaxed);
        return slot(begin).load(std::memory_order_relaxed);
    }

    // Any thread, of a queue that anybody may take from. Null when empty.
    T* pop_oldest() {
        WEFT_DASSERT(takers_ == Takers::Anybody, "nobody steals from this queue");
        std::uint64_t begin = begin_.load(Order::kSteal);
        for (;;) {
            // seq_cst: reads end_ after begin_; pairs with pop_newest. It also acquires the slot.
            std::uint64_t end = end_.load(Order::kSteal);
            if (begin >= end) return nullptr;
            T* item = slot(begin).load(std::memory_order_relaxed);
            if (!Order::kExchanges) {
                begin_.store(begin + 1, std::memory_order_seq_cst);
                return item;
            }
            if (begin_.compare_exchange_weak(begin, begin + 1, Order::kSteal, Order::kSteal))
                return item;
            if (WEFT_PLANTED("run_queue.gives_twice")) return item;
        }
    }

    // Any thread; a momentary value.
    unsigned size() const {
        std::uint64_t begin = begin_.load(std::memory_order_relaxed);
        std::uint64_t end = end_.load(std::memory_order_relaxed);
        return end > begin ? static_cast<unsigned>(end - begin) : 0;
    }
    // Any thread. seq_cst: called by a worker that has announced its sleep and checks once more.
    bool empty() const {
        return begin_.load(std::memory_order_seq_cst) >= end_.load(std::memory_order_seq_cst);
    }

private:
    void append(std::uint64_t end, T* item) {
        slot(end).store(item, std::memory_order_relaxed);
        end_.store(end + 1, Order::kPush);
    }
    // By the owner: takes the last one, unless a thief was faster (false).
    bool move_begin(std::uint64_t from, std::uint64_t to) {
        if (!Order::kRaces) {
            begin_.store(to, std::memory_order_seq_cst);
            return true;
        }
        return begin_.compare_exchange_strong(from, to, std::memory_order_seq_cst,
                                              std::memory_order_relaxed);
    }
    SchedulerAtomic<T*>& slot(std::uint64_t index) { return slots_[index & (Capacity - 1)]; }

    alignas(64) SchedulerAtomic<std::uint64_t> begin_{0};
    alignas(64) SchedulerAtomic<std::uint64_t> end_{0};
    const Takers takers_;
    std::array<SchedulerAtomic<T*>, Capacity> slots_{};
};

}  // namespace weft
