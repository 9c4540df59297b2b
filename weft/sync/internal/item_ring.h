// ItemRing<T>: the stored items of a channel, oldest first, in a ring whose number of slots is a
// power of two; `room()` of them may be used. Not synchronised: the channel's lock guards it. It
// never allocates: the channel allocates the slots, outside its lock.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/sync/limits.h"

namespace weft::sync_internal {

template <class T>
class ItemRing {
public:
    // Owns slots that hold no items; its destructor frees them.
    class Slots {
    public:
        Slots() = default;
        explicit Slots(T* slots) : slots_(slots) {}
        Slots(Slots&& other) noexcept : slots_(std::exchange(other.slots_, nullptr)) {}
        Slots& operator=(Slots&& other) noexcept {
            std::swap(slots_, other.slots_);
            return *this;
        }
        ~Slots() { ::operator delete(slots_, std::align_val_t(alignof(T))); }
        explicit operator bool() const { return slots_ != nullptr; }
        T* release() { return std::exchange(slots_, nullptr); }

    private:
        T* slots_ = nullptr;
    };

    ItemRing() = default;
    ItemRing(const ItemRing&) = delete;
    ItemRing& operator=(const ItemRing&) = delete;
    ~ItemRing() {
        while (!is_empty()) drop_front();
        Slots(std::exchange(slots_, nullptr));
    }

    // Empty when there is no memory.
    static Slots allocate(std::uint32_t room) {
        WEFT_ASSERT(room != 0 && room <= kChannelItemsMax, "a rendezvous stores no items");
        std::size_t bytes = 0;
        if (__builtin_mul_overflow(std::size_t{std::bit_ceil(room)}, sizeof(T), &bytes)) return {};
        if (env::fails(Allocation::Buffer)) return {};
        void* slots = ::operator new(bytes, std::align_val_t(alignof(T)), std::nothrow);
        return Slots(static_cast<T*>(slots));
    }

    std::uint32_t size() const { return tail_ - head_; }
    std::uint32_t room() const { return room_; }  // 0 before there are slots
    bool is_empty() const { return head_ == tail_; }
    bool is_full() const { return size() >= room_; }

    void push(T& item) {
        WEFT_DASSERT(!is_full(), "an item would be stored over another one");
        std::construct_at(slot(tail_++), std::move(item));
    }
    T& front() {
        WEFT_DASSERT(!is_empty());
        return *slot(head_);
    }
    void drop_front() {
        WEFT_DASSERT(!is_empty());
        std::destroy_at(slot(head_++));
    }

    // Moves the items to the new slots and returns the old ones.
    Slots replace(Slots fresh, std::uint32_t room) {
        WEFT_ASSERT(size() <= room, "the items fit into the new slots");
        T* slots = fresh.release();
        WEFT_ASSERT((slots == nullptr) == (room == 0), "the room is that of the slots");
        std::uint32_t count = 0;
        while (!is_empty()) {
            std::construct_at(slots + count++, std::move(front()));
            drop_front();
        }
        head_ = 0;
        tail_ = count;
        room_ = room;
        mask_ = room == 0 ? 0 : std::bit_ceil(room) - 1;
        return Slots(std::exchange(slots_, slots));
    }

private:
    T* slot(std::uint32_t index) const { return slots_ + (index & mask_); }

    T* slots_ = nullptr;
    std::uint32_t head_ = 0;  // of the oldest item; indices only grow, and wrap
    std::uint32_t tail_ = 0;  // after the newest
    std::uint32_t mask_ = 0;
    std::uint32_t room_ = 0;
};

}  // namespace weft::sync_internal
