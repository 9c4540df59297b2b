// Channel<T>: items pass from those who send to those who receive, each item once, in order.
//
//     Channel<Job> jobs(64);                        // bounded: send waits while 64 are stored
//     Channel<Job> meeting(0);                      // rendezvous: send waits for the receiver
//     auto events = Channel<Event>::unbounded();    // send never waits
//
//     Result<void> sent = jobs.send(std::move(job));
//     WEFT_TRY(jobs.for_each(work));                // until closed and drained
//     for (Result<Job> job : jobs) ...              // the same; an error comes as the last item
//
// Any fiber and any plain thread, on both ends at once; a fiber parks, a thread blocks. Waiters are
// served in the order of their arrival. An item is handed over directly to a waiting receiver.
//
// A send that fails leaves the item with the caller: send(std::move(item)) moves from `item` only
// when it succeeds; an item that is not moved is copied. A call that need not wait succeeds even
// when the deadline has passed or the token is cancelled. A wait ends with TimedOut or Cancelled,
// also because of the ambient token; the call has then neither sent nor received an item.
//
// close() may be called from anywhere, at any time, also repeatedly. Stored items are still
// received, then receivers get Closed; senders get Closed at once, waiting ones too.
//
// A resource: it is neither copied nor moved (share it by reference, or by std::shared_ptr), and
// must outlive every wait in it. It may be destroyed as soon as the last call that waited has
// returned. T must be nothrow move constructible. The first send that stores an item allocates the
// slots and fails with OutOfMemory if it cannot; an unbounded channel doubles them when it is full.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/turn.h"
#include "weft/sync/internal/channel_state.h"
#include "weft/sync/limits.h"

namespace weft {

template <class T>
class Channel;

namespace sync_internal {
template <class T>
ChannelState<T>& state_of(Channel<T>& channel);
}

template <class T>
class Channel {
    static_assert(std::is_object_v<T> && std::is_nothrow_move_constructible_v<T>,
                  "an item must move without throwing, or it could be lost half-way");

public:
    class Iterator;

    // A capacity of zero makes a rendezvous. At most kChannelItemsMax.
    explicit Channel(std::size_t capacity) : state_(static_cast<std::uint32_t>(capacity)) {
        WEFT_ASSERT(capacity <= kChannelItemsMax, "take Channel::unbounded()");
    }
    static Channel unbounded() { return Channel(Unbounded()); }
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;

    // Waits while full. Closed, TimedOut, Cancelled, OutOfMemory, Limit.
    template <std::convertible_to<T> Item = T>
    [[gnu::always_inline]] Result<void> send(Item&& item) {
        return send_by(own(std::forward<Item>(item)), sync_internal::kForever);
    }
    template <std::convertible_to<T> Item = T>
    Result<void> send(Item&& item, const CancelToken& token) {
        return send_until(std::forward<Item>(item), Deadline::never(), token);
    }
    template <class Rep, class Period, std::convertible_to<T> Item = T>
    Result<void> send_for(Item&& item, std::chrono::duration<Rep, Period> duration) {
        return send_within(own(std::forward<Item>(item)), saturate(duration));
    }
    template <std::convertible_to<T> Item = T>
    Result<void> send_until(Item&& item, Deadline deadline, const CancelToken& token = {}) {
        return send_by(own(std::forward<Item>(item)), Until(deadline, token));
    }
    // Unavailable when it would have to wait.
    template <std::convertible_to<T> Item = T>
    Result<void> try_send(Item&& item) {
        turn::step("channel.try_send", this);
        return try_send_item(own(std::forward<Item>(item)));
    }

    // Waits while empty. Closed when closed and drained, TimedOut, Cancelled.
    [[gnu::always_inline]] Result<T> receive() { return receive_by(sync_internal::kForever); }
    Result<T> receive(const CancelToken& token) {
        return receive_by(Until(Deadline::never(), token));
    }
    template <class Rep, class Period>
    Result<T> receive_for(std::chrono::duration<Rep, Period> duration);
    Result<T> receive_until(Deadline deadline, const CancelToken& token = {}) {
        return receive_by(Until(deadline, token));
    }
    // Unavailable when it would have to wait.
    Result<T> try_receive() {
        turn::step("channel.try_receive", this);
        return try_receive_item();
    }

    // Calls `function` with each item until the channel is closed and drained. The error is that of
    // a wait that was cancelled or timed out, or of the function, which may return a Result<void>.
    template <class Function>
    Result<void> for_each(Function&& function);
    // For a range-for that is left when the channel is closed and drained. When a wait was
    // cancelled or timed out, its error is the last item, so that no loop ends early unnoticed.
    Iterator begin() { return Iterator(*this); }
    std::default_sentinel_t end() const { return {}; }

    void close() noexcept {
        turn::step("channel.close", this);
        state_.close();
    }

    // Snapshots, which may be out of date on return; the items of waiting senders do not count.
    bool is_closed() const;
    std::size_t size() const;
    bool is_empty() const { return size() == 0; }
    // kChannelItemsMax when unbounded.
    std::size_t capacity() const;

private:
    template <class Item>
    friend sync_internal::ChannelState<Item>& sync_internal::state_of(Channel<Item>& channel);
    using State = sync_internal::ChannelState<T>;
    using Attempt = sync_internal::Attempt;
    using Until = sync_internal::Until;
    struct Unbounded {};

    explicit Channel(Unbounded) : state_(State::kUnbounded) {}
    // An rvalue is passed on by reference and moved from only on success; any other item is copied.
    static T&& own(T&& item) { return std::move(item); }
    template <class Item>
    static T own(Item&& item) {
        return std::forward<Item>(item);
    }
    Result<void> send_by(T&& item, const Until& until);
    Result<void> send_within(T&& item, Nanoseconds duration);
    Result<void> try_send_item(T&& item);
    Result<T> receive_by(const Until& until);
    Result<T> try_receive_item();

    mutable State state_;
};

// A single-pass iterator: each increment receives the next item.
template <class T>
class Channel<T>::Iterator {
public:
    using value_type = Result<T>;
    using difference_type = std::ptrdiff_t;

    explicit Iterator(Channel& channel)
        : channel_(&channel),
          item_(channel.receive()),
          failed_(!item_ && item_.error().kind() != ErrorKind::Closed) {}
    Result<T> operator*() { return std::move(item_); }
    Iterator& operator++() {
        if (failed_) {
            item_ = ErrorKind::Closed;
            return *this;
        }
        std::destroy_at(&item_);
        std::construct_at(&item_, channel_->receive());
        failed_ = !item_ && item_.error().kind() != ErrorKind::Closed;
        return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& iterator, std::default_sentinel_t) {
        return !iterator.item_ && iterator.item_.error().kind() == ErrorKind::Closed;
    }

private:
    Channel* channel_;
    Result<T> item_;
    bool failed_;  // item_ is the error that ended the loop, to be given as the last item
};

template <class T>
template <class Function>
Result<void> Channel<T>::for_each(Function&& function) {
    using Returned = std::invoke_result_t<Function&, T>;
    static_assert(std::is_void_v<Returned> || std::is_same_v<Returned, Result<void>>,
                  "the function of for_each() returns nothing or a Result<void>");
    for (;;) {
        Result<T> item = receive();
        if (!item && item.error().kind() == ErrorKind::Closed) return {};
        if (!item) return item.error();
        if constexpr (std::is_void_v<Returned>) {
            function(std::move(*item));
        } else if (Result<void> done = function(std::move(*item)); !done) {
            return done;
        }
    }
}

template <class T>
[[gnu::always_inline]] inline Result<void> Channel<T>::send_by(T&& item, const Until& until) {
    state_.lock_.lock();
    if (!state_.ring_.is_full() && state_.receivers_.empty() && !state_.closed_) [[likely]] {
        state_.ring_.push(item);
        state_.lock_.unlock();
        turn::passed("channel.send", this, &item);
        return {};
    }
    Error error = ErrorKind::Closed;
    if (state_.put_or_wait(item, until, error)) [[likely]]
        return {};
    return error;
}

template <class T>
[[gnu::always_inline]] inline Result<T> Channel<T>::receive_by(const Until& until) {
    state_.lock_.lock();
    Result<T> item(ErrorKind::Closed);  // until an item is received
    if (!state_.ring_.is_empty() && state_.senders_.empty()) [[likely]] {
        State::fill(item, state_.ring_.front());
        state_.ring_.drop_front();
        state_.lock_.unlock();
        turn::passed("channel.receive", this, &*item);
    } else {
        state_.take_or_wait(item, until);
    }
    return item;
}

template <class T>
Result<void> Channel<T>::try_send_item(T&& item) {
    state_.lock_.lock();
    Attempt attempt = state_.put_or_keep_lock(item);
    if (attempt == Attempt::MustWait) state_.lock_.unlock();
    if (attempt != Attempt::Done) return error_of(attempt);
    return {};
}

template <class T>
Result<T> Channel<T>::try_receive_item() {
    Result<T> item(ErrorKind::Closed);
    state_.lock_.lock();
    if (state_.take_or_keep_lock(item) == Attempt::MustWait) {
        state_.lock_.unlock();
        item.error() = ErrorKind::Unavailable;
    }
    return item;
}

// The clock is read only if the call has to wait.
template <class T>
Result<void> Channel<T>::send_within(T&& item, Nanoseconds duration) {
    turn::may_wait("channel.send_for", this, turn::cost_of(sizeof(T)));
    Result<void> sent = try_send_item(std::move(item));
    if (sent || sent.error().kind() != ErrorKind::Unavailable) return sent;
    return send_by(std::move(item), Until(Deadline::after(duration)));
}

template <class T>
template <class Rep, class Period>
Result<T> Channel<T>::receive_for(std::chrono::duration<Rep, Period> duration) {
    turn::may_wait("channel.receive_for", this, turn::cost_of(sizeof(T)));
    Result<T> item = try_receive_item();
    if (item || item.error().kind() != ErrorKind::Unavailable) return item;
    return receive_by(Until(Deadline::after(duration)));
}

template <class T>
bool Channel<T>::is_closed() const {
    turn::step("channel.is_closed", this);
    SpinGuard guard(state_.lock_);
    return state_.closed_;
}

template <class T>
std::size_t Channel<T>::size() const {
    turn::step("channel.size", this);
    SpinGuard guard(state_.lock_);
    return state_.ring_.size();
}

template <class T>
std::size_t Channel<T>::capacity() const {
    return state_.capacity_ == State::kUnbounded ? kChannelItemsMax : state_.capacity_;
}

namespace sync_internal {

// For select.
template <class T>
ChannelState<T>& state_of(Channel<T>& channel) {
    return channel.state_;
}

}  // namespace sync_internal
}  // namespace weft
