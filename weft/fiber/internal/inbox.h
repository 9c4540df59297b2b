// A mailbox: any thread posts, the owner takes everything at once in arrival order.
//
// Posting pushes on a stack by one compare-and-swap; taking swaps the stack out and turns it round.
// So records of one sender keep their order, each is taken exactly once, and a post into an empty
// inbox is known to be the one that has to wake the owner.
#pragma once

#include "weft/base/atomic.h"
#include "weft/base/planted.h"

namespace weft {

// T has a member `T* next`, which belongs to the inbox from post() until the item is taken.
template <class T>
class Inbox {
public:
    // Any thread. True if the inbox was empty: the owner may be asleep and has to be told.
    bool post(T& item) {
        T* head = head_.load(std::memory_order_relaxed);
        do {
            item.next = head;
            // seq_cst: published before the poster looks whether the owner sleeps. It also releases
            // the item and its link to take_all().
        } while (!head_.compare_exchange_weak(head, &item, std::memory_order_seq_cst,
                                              std::memory_order_relaxed));
        return head == nullptr;
    }

    // Owner only. The oldest first, linked by `next`; null when empty.
    T* take_all() {
        // Acquire: sees the items and links that the posters released.
        T* newest = head_.exchange(nullptr, std::memory_order_acquire);
        T* oldest = nullptr;
        if (WEFT_PLANTED("inbox.newest_first")) return newest;
        while (newest) {
            T* next = newest->next;
            newest->next = oldest;
            oldest = newest;
            newest = next;
        }
        return oldest;
    }

    // Owner only. seq_cst: asked after the owner has announced its sleep; pairs with post().
    bool empty() const { return head_.load(std::memory_order_seq_cst) == nullptr; }

private:
    Atomic<T*> head_{nullptr};
};

}  // namespace weft
