// select: waits for the first of several operations and performs that one, and only that one.
//
//     Result<std::size_t> chosen = select(
//         on_receive(jobs, [&](Result<Job> job) { ... }),              // Closed when drained
//         on_send(results, std::move(result), [&](Result<void> sent) { ... }),
//         on_timeout(Deadline::after(1s), [&] { ... }),
//         on_cancel(token, [&] { ... }));
//
// Of the cases that are ready, one is chosen at random with equal probability, so a busy channel
// cannot hide another one, a timeout or a cancelled token. If none is ready, select waits. It
// returns the index of the case whose handler ran. With otherwise(handler) it does not wait: that
// handler runs when no other case is ready. When the ambient token ends the wait, no handler runs
// and the error is returned: Cancelled or TimedOut.
//
// A closed channel is always ready: on_receive gets what is left, then Closed; on_send gets Closed.
// A null channel (both take pointers, too) never is: use it to switch a case off. An item given by
// std::move is moved from only if it was sent; any other item is copied.
//
// Handlers run in the calling fiber or thread when no lock is held and no entry is queued any more:
// they may wait, select again, close channels and throw.
//
// Any fiber, any plain thread. The channels may be of any types, and one may occur more than once.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <type_traits>
#include <utility>

#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/fiber/cancel.h"
#include "weft/sync/channel.h"
#include "weft/sync/internal/select_case.h"
#include "weft/sync/limits.h"

namespace weft {

// The handler takes a Result<T>.
template <class T, std::invocable<Result<T>> Handler>
auto on_receive(Channel<T>* channel, Handler handler) {
    return sync_internal::ReceiveCase<T, Handler>(sync_internal::state_of(channel),
                                                  std::move(handler));
}
template <class T, std::invocable<Result<T>> Handler>
auto on_receive(Channel<T>& channel, Handler handler) {
    return on_receive(&channel, std::move(handler));
}

// The handler takes a Result<void>. `item` must live until select returns.
template <class T, class Item, std::invocable<Result<void>> Handler>
    requires std::convertible_to<Item&&, T>
auto on_send(Channel<T>* channel, Item&& item, Handler handler) {
    // An rvalue is kept by reference, so that an item which is not sent stays with the caller.
    using Kept = std::conditional_t<std::same_as<Item, T>, T&&, T>;
    return sync_internal::SendCase<T, Kept, Handler>(sync_internal::state_of(channel),
                                                     std::forward<Item>(item), std::move(handler));
}
template <class T, class Item, std::invocable<Result<void>> Handler>
    requires std::convertible_to<Item&&, T>
auto on_send(Channel<T>& channel, Item&& item, Handler handler) {
    return on_send(&channel, std::forward<Item>(item), std::move(handler));
}

template <std::invocable Handler>
auto on_timeout(Deadline deadline, Handler handler) {
    return sync_internal::TimeoutCase<Handler>(deadline, std::move(handler));
}
template <class Rep, class Period, std::invocable Handler>
auto on_timeout(std::chrono::duration<Rep, Period> duration, Handler handler) {
    return on_timeout(Deadline::after(duration), std::move(handler));
}

// A token besides the ambient one. At most one of these in a select.
template <std::invocable Handler>
auto on_cancel(const CancelToken& token, Handler handler) {
    return sync_internal::CancelCase<Handler>(token, std::move(handler));
}

template <std::invocable Handler>
auto otherwise(Handler handler) {
    return sync_internal::OtherwiseCase<Handler>(std::move(handler));
}

// The cases must have been made for this call.
template <std::derived_from<sync_internal::SelectCase>... Cases>
Result<std::size_t> select(Cases&&... cases) {
    static_assert(sizeof...(Cases) >= 1 && sizeof...(Cases) <= kSelectCasesMax);
    constexpr auto count_of = [](sync_internal::CaseKind kind) {
        return ((Cases::kKind == kind) + ...);
    };
    static_assert(count_of(sync_internal::CaseKind::Timeout) <= 1, "the earlier one would do");
    static_assert(count_of(sync_internal::CaseKind::Cancel) <= 1, "make a token of the tokens");
    static_assert(count_of(sync_internal::CaseKind::Otherwise) <= 1, "only one can be meant");

    std::array<sync_internal::SelectCase*, sizeof...(Cases)> list{&cases...};
    std::size_t chosen = WEFT_TRY(sync_internal::choose(list));
    list[chosen]->run();
    return chosen;
}

}  // namespace weft
