// ChannelState<T>: the steps of sending and receiving, under the channel's lock. Channel and select
// are both built from them, so that they cannot disagree. Any fiber or thread.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/planted.h"
#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/fiber/turn.h"
#include "weft/sync/internal/channel_core.h"
#include "weft/sync/internal/item_ring.h"
#include "weft/sync/limits.h"

namespace weft::sync_internal {

// A send or receive that need not wait accesses only the first cache line.
template <class T>
struct alignas(64) ChannelState : ChannelCore {
    explicit ChannelState(std::uint32_t capacity) : ChannelCore(capacity) {}

    // Lock held. If `wake` has a cell afterwards, the caller resumes it without the lock.
    Attempt put(T& item, WaitRef& wake);
    Attempt take(Result<T>& item, WaitRef& wake);
    // Puts an item into a result that holds Closed: an error that need not be destroyed.
    static void fill(Result<T>& empty, T& item) {
        WEFT_DASSERT(!empty.has_value());
        std::construct_at(&empty, std::in_place, std::move(item));
    }
    // Lock held. Whether put() or take() may succeed; a queued entry can turn out to be stale.
    bool can_put() const { return closed_ || !receivers_.empty() || ring_.size() < capacity_; }
    bool can_take() const { return closed_ || !senders_.empty() || !ring_.is_empty(); }

    // Called with the lock held; they release it. False on failure: then `error`, or the error of
    // `item`, says why. It must be Closed at the call.
    bool put_or_wait(T& item, const Until& until, Error& error);
    bool take_or_wait(Result<T>& item, const Until& until);
    // Called with the lock held; they release it unless the outcome is MustWait.
    Attempt put_or_keep_lock(T& item);
    Attempt take_or_keep_lock(Result<T>& item);

    // Called without the lock. The caller tries again, as others may have taken the new slots.
    Attempt grow();
    Attempt grow_and_put(T& item);
    // An unbounded channel that is empty frees its slots, without the lock.
    bool has_excess_slots() const {
        return ring_.room() > kChannelSlotsKept && capacity_ == kUnbounded;
    }
    bool shrink_and_take(Result<T>& item, const Until& until);

    ItemRing<T> ring_;
    const std::uint64_t id_ = next_channel_id();
};

template <class T>
inline Attempt ChannelState<T>::put(T& item, WaitRef& wake) {
    WEFT_DASSERT(lock_.is_locked());
    if (closed_) return Attempt::Closed;
    if (WEFT_PLANTED("channel.stores_past_receiver") && !ring_.is_full()) {
        ring_.push(item);
        return Attempt::Done;
    }
    bool planted_loss = WEFT_PLANTED("channel.drops_item_on_late_claim") && !receivers_.empty();
    if (ChannelEntry* receiver = claim(receivers_)) {
        WEFT_DASSERT(ring_.is_empty(), "a receiver waits only while no item is stored");
        fill(*static_cast<Result<T>*>(receiver->item), item);
        wake = receiver->ref;
        return Attempt::Done;
    }
    if (planted_loss) return Attempt::Done;
    if (!ring_.is_full()) {
        ring_.push(item);
        return Attempt::Done;
    }
    return ring_.room() == capacity_ ? Attempt::MustWait : Attempt::MustGrow;
}

template <class T>
inline Attempt ChannelState<T>::take(Result<T>& item, WaitRef& wake) {
    WEFT_DASSERT(lock_.is_locked());
    ChannelEntry* sender = claim(senders_);
    WEFT_DASSERT(!sender || ring_.size() == capacity_, "a sender waits only while it is full");
    if (sender) wake = sender->ref;
    if (!ring_.is_empty()) {
        fill(item, ring_.front());
        ring_.drop_front();
        // The slot that is now free goes to the sender that has waited longest.
        if (sender && !WEFT_PLANTED("channel.drops_the_waiting_item"))
            ring_.push(*static_cast<T*>(sender->item));
        return Attempt::Done;
    }
    if (sender) {
        fill(item, *static_cast<T*>(sender->item));
        return Attempt::Done;
    }
    return closed_ ? Attempt::Closed : Attempt::MustWait;
}

template <class T>
inline Attempt ChannelState<T>::put_or_keep_lock(T& item) {
    WaitRef wake;
    Attempt attempt = put(item, wake);
    if (attempt == Attempt::MustWait) return attempt;
    lock_.unlock();
    if (wake.cell()) wake.resume();
    if (attempt == Attempt::MustGrow) [[unlikely]]
        return grow_and_put(item);
    return attempt;
}

template <class T>
inline Attempt ChannelState<T>::take_or_keep_lock(Result<T>& item) {
    WaitRef wake;
    Attempt attempt = take(item, wake);
    if (attempt == Attempt::MustWait) return attempt;
    lock_.unlock();
    if (wake.cell()) wake.resume();
    return attempt;
}

// The wait is a tail call, here and below: after a switch the processor mispredicts the return from
// each frame, except from those that all waits share; so no frame is added here.
template <class T>
[[gnu::noinline]] bool ChannelState<T>::put_or_wait(T& item, const Until& until, Error& error) {
    Attempt attempt = put_or_keep_lock(item);
    if (attempt == Attempt::Done) {
        turn::passed("channel.send", this, &item);
        return true;
    }
    if (attempt == Attempt::MustWait) return wait(senders_, &item, until, error);
    turn::may_wait("channel.send", this);
    error = error_of(attempt);
    return false;
}

template <class T>
[[gnu::noinline]] bool ChannelState<T>::take_or_wait(Result<T>& item, const Until& until) {
    Attempt attempt = take_or_keep_lock(item);
    if (attempt != Attempt::MustWait) {
        turn::passed("channel.receive", this, attempt == Attempt::Done ? &*item : nullptr);
        return attempt == Attempt::Done;
    }
    if (has_excess_slots()) [[unlikely]]
        return shrink_and_take(item, until);
    return wait(receivers_, &item, until, item.error());
}

template <class T>
[[gnu::noinline, gnu::cold]] Attempt ChannelState<T>::grow_and_put(T& item) {
    Attempt grown = grow();
    if (grown != Attempt::Done) return grown;
    lock_.lock();
    return put_or_keep_lock(item);
}

template <class T>
Attempt ChannelState<T>::grow() {
    std::uint32_t room = capacity_;
    if (capacity_ == kUnbounded) {
        SpinGuard guard(lock_);
        room = ring_.room() == 0 ? kChannelSlotsMin : ring_.room() * 2;
        if (room > kChannelItemsMax) return Attempt::AtLimit;
    }
    auto slots = ItemRing<T>::allocate(room);
    if (!slots) return Attempt::OutOfMemory;
    SpinGuard guard(lock_);
    if (ring_.room() < room) slots = ring_.replace(std::move(slots), room);
    return Attempt::Done;
}

template <class T>
[[gnu::noinline, gnu::cold]] bool ChannelState<T>::shrink_and_take(Result<T>& item,
                                                                   const Until& until) {
    {
        auto slots = ring_.replace({}, 0);
        lock_.unlock();
    }
    lock_.lock();
    return take_or_wait(item, until);
}

}  // namespace weft::sync_internal
