#include "weft/fiber/schedule/stop_step.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

#include "weft/base/env.h"
#include "weft/base/log.h"
#include "weft/fiber/cancel.h"

namespace weft {

void StopStep::end() {
    // Release: the waiter for the end sees what the owner did.
    if (state_.exchange(kStepEnded, std::memory_order_release) == kStepAwaited)
        env::futex_wake(state_.futex_address(), UINT32_MAX);
}

bool StopStep::wait(Deadline deadline) const {
    if (owner_ == &current_cell()) return true;
    std::uint32_t state = kStepOpen;
    // Acquire: see end().
    if (state_.compare_exchange_strong(state, kStepAwaited, std::memory_order_acquire,
                                       std::memory_order_acquire))
        state = kStepAwaited;
    std::int64_t until =
        deadline.is_never() ? kNeverNs : deadline.instant().time_since_epoch().count();
    while (state != kStepEnded) {
        if (deadline.expired(Clock::now())) return false;
        env::futex_wait(state_.futex_address(), kStepAwaited, until);
        state = state_.load(std::memory_order_acquire);  // as above
    }
    return true;
}

void stop_in_order(CancelState& root, Deadline deadline) {
    // The tokens keep the nodes alive, and so the steps in them.
    std::vector<CancelToken> nodes = root.nodes_with(&StopStep::kKey);
    auto step_of = [](const CancelToken& token) -> const StopStep& {
        return *static_cast<const StopStep*>(token.state()->find_here(&StopStep::kKey));
    };
    auto rank_of = [&](const CancelToken& token) { return step_of(token).rank(); };
    std::ranges::sort(nodes, std::greater(), rank_of);
    std::size_t missing = 0;
    for (auto first = nodes.begin(); first != nodes.end();) {
        std::uint64_t rank = rank_of(*first);
        auto last = std::ranges::find_if(
            first, nodes.end(), [&](const CancelToken& token) { return rank_of(token) != rank; });
        for (auto at = first; at != last; ++at) at->state()->cancel(CancelReason::Shutdown);
        // Once the deadline has passed, the others are only cancelled, in the same order.
        for (bool in_time = missing == 0; first != last; ++first)
            if (in_time && !step_of(*first).wait(deadline)) ++missing;
    }
    if (missing != 0) log(LogLevel::Warn, "shutdown: {} scopes did not end in their turn", missing);
}

}  // namespace weft
