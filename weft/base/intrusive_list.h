#pragma once

#include <cstddef>
#include <iterator>
#include <utility>

#include "weft/base/assert.h"

namespace weft {

template <class T, auto Link>
class IntrusiveList;

// The member through which an object is linked into an IntrusiveList, at most one at a time. The
// object must be taken out of the list before it is destroyed.
class ListLink {
public:
    constexpr ListLink() noexcept = default;
    ListLink(const ListLink&) = delete;
    ListLink& operator=(const ListLink&) = delete;
    ~ListLink() { WEFT_DASSERT(!is_linked(), "a list still holds this"); }

    bool is_linked() const noexcept { return next_ != this; }

private:
    template <class T, auto Link>
    friend class IntrusiveList;

    // Both point to the neighbouring objects (not to their links) and are null at the ends. A next_
    // that points to this very link means "in no list"; in a list it never does.
    void* next_ = this;
    void* previous_ = nullptr;
};

// A doubly linked list of objects it does not own:
//
//     struct Waiter { ListLink link; };
//     IntrusiveList<Waiter, &Waiter::link> waiters;
//
// Every operation is O(1) and none allocates. Not synchronised: the owner's lock guards the list
// and the links of all its items. It must be empty when it is destroyed.
template <class T, auto Link>
class IntrusiveList {
public:
    class Iterator;

    constexpr IntrusiveList() noexcept = default;
    IntrusiveList(IntrusiveList&& other) noexcept
        : head_(std::exchange(other.head_, nullptr)), tail_(std::exchange(other.tail_, nullptr)) {}
    IntrusiveList& operator=(IntrusiveList&&) = delete;
    ~IntrusiveList() { WEFT_DASSERT(empty(), "a list must be drained before it ends"); }

    bool empty() const noexcept { return head_ == nullptr; }
    T* front() const noexcept { return head_; }  // null when empty
    T* back() const noexcept { return tail_; }   // null when empty
    static T* next(T& item) noexcept { return static_cast<T*>(link_of(item).next_); }

    void push_back(T& item) noexcept;
    void push_front(T& item) noexcept;
    T* pop_front() noexcept;  // null when empty

    // The item must be in this list. Whether it is in another one is not checked for every item.
    void erase(T& item) noexcept;

    // Moves all items of `other` to the end of this list.
    void splice_back(IntrusiveList& other) noexcept;

    // Advance an iterator before its item is erased.
    Iterator begin() const noexcept { return Iterator(head_); }
    Iterator end() const noexcept { return Iterator(nullptr); }

private:
    static ListLink& link_of(T& item) noexcept { return item.*Link; }

    T* head_ = nullptr;
    T* tail_ = nullptr;
};

template <class T, auto Link>
class IntrusiveList<T, Link>::Iterator {
public:
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::forward_iterator_tag;
    using pointer = T*;
    using reference = T&;

    Iterator() noexcept = default;
    T& operator*() const noexcept { return *item_; }
    T* operator->() const noexcept { return item_; }
    Iterator& operator++() noexcept {
        item_ = next(*item_);
        return *this;
    }
    Iterator operator++(int) noexcept {
        Iterator before = *this;
        ++*this;
        return before;
    }
    friend bool operator==(Iterator, Iterator) noexcept = default;

private:
    friend class IntrusiveList;
    explicit Iterator(T* item) noexcept : item_(item) {}

    T* item_ = nullptr;
};

template <class T, auto Link>
void IntrusiveList<T, Link>::push_back(T& item) noexcept {
    ListLink& link = link_of(item);
    WEFT_DASSERT(!link.is_linked(), "an item can be in one list only");
    link.next_ = nullptr;
    link.previous_ = tail_;
    if (tail_ != nullptr) {
        link_of(*tail_).next_ = &item;
    } else {
        head_ = &item;
    }
    tail_ = &item;
}

template <class T, auto Link>
void IntrusiveList<T, Link>::push_front(T& item) noexcept {
    ListLink& link = link_of(item);
    WEFT_DASSERT(!link.is_linked(), "an item can be in one list only");
    link.next_ = head_;
    link.previous_ = nullptr;
    if (head_ != nullptr) {
        link_of(*head_).previous_ = &item;
    } else {
        tail_ = &item;
    }
    head_ = &item;
}

template <class T, auto Link>
T* IntrusiveList<T, Link>::pop_front() noexcept {
    T* item = head_;
    if (item == nullptr) return nullptr;
    ListLink& link = link_of(*item);
    head_ = static_cast<T*>(link.next_);
    if (head_ != nullptr) {
        link_of(*head_).previous_ = nullptr;
    } else {
        tail_ = nullptr;
    }
    link.next_ = &link;
    return item;
}

template <class T, auto Link>
void IntrusiveList<T, Link>::erase(T& item) noexcept {
    ListLink& link = link_of(item);
    WEFT_DASSERT(link.is_linked(), "the item is in no list");
    auto* following = static_cast<T*>(link.next_);
    auto* preceding = static_cast<T*>(link.previous_);
    if (preceding != nullptr) {
        link_of(*preceding).next_ = following;
    } else {
        WEFT_DASSERT(head_ == &item, "the item is in another list");
        head_ = following;
    }
    if (following != nullptr) {
        link_of(*following).previous_ = preceding;
    } else {
        WEFT_DASSERT(tail_ == &item, "the item is in another list");
        tail_ = preceding;
    }
    link.next_ = &link;
    link.previous_ = nullptr;
}

template <class T, auto Link>
void IntrusiveList<T, Link>::splice_back(IntrusiveList& other) noexcept {
    WEFT_DASSERT(this != &other);
    if (other.empty()) return;
    if (empty()) {
        head_ = other.head_;
    } else {
        link_of(*tail_).next_ = other.head_;
        link_of(*other.head_).previous_ = tail_;
    }
    tail_ = std::exchange(other.tail_, nullptr);
    other.head_ = nullptr;
}

}  // namespace weft
