// Inbox: a queue into which any thread posts, and from which the owner takes everything at once.
//
// Posting pushes on a stack by one compare-and-swap; taking swaps the stack out and reverses it. So
// items of one sender keep their order, each is taken exactly once, and the poster that finds the
// inbox empty knows that it has to wake the owner.
#pragma once

#include "weft/base/assert.h"
#include "weft/base/atomic.h"
#include "weft/base/planted.h"

namespace weft {

// The steps and memory orders; inbox_model_test.cpp shows what each is needed for.
struct InboxOrder {
    // seq_cst: published before the poster tests whether the owner sleeps. It also releases the
    // item and its link to take_all().
    static constexpr std::memory_order kPost = std::memory_order_seq_cst;
    // Acquire: sees the items and links that the posters released.
    static constexpr std::memory_order kTake = std::memory_order_acquire;
    static constexpr bool kExchanges = true;
    static constexpr bool kTurnsRound = true;
};

// T has a member `T* next`, which belongs to the inbox from post() until the item is taken.
template <class T, class Order = InboxOrder>
class Inbox {
public:
    // Any thread. True if the inbox was empty: the owner may sleep and has to be woken.
    bool post(T& item) {
        T* head = head_.load(std::memory_order_relaxed);
        do {
            WEFT_DASSERT(head != &item, "an item is posted again only after it was taken");
            item.next = head;
        } while (
            !head_.compare_exchange_weak(head, &item, Order::kPost, std::memory_order_relaxed));
        return head == nullptr;
    }

    // Owner, or the watchman on its behalf. The oldest first, linked by `next`; null when empty.
    T* take_all() {
        T* newest = take_stack();
        T* oldest = nullptr;
        if (!Order::kTurnsRound || WEFT_PLANTED("inbox.newest_first")) return newest;
        while (newest) {
            T* next = newest->next;
            newest->next = oldest;
            oldest = newest;
            newest = next;
        }
        return oldest;
    }

    // seq_cst: called after the owner has announced its sleep; pairs with post().
    bool empty() const { return head_.load(std::memory_order_seq_cst) == nullptr; }

private:
    T* take_stack() {
        if (Order::kExchanges) return head_.exchange(nullptr, Order::kTake);
        T* newest = head_.load(Order::kTake);
        head_.store(nullptr, std::memory_order_release);
        return newest;
    }

    Atomic<T*> head_{nullptr};
};

}  // namespace weft
