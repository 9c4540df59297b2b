// ReasonWord: why a node of the cancel tree was cancelled, if it was. The first reason stays.
//
// Any thread. All accesses are seq_cst: the canceller marks the node before it looks for waiters,
// and a waiter publishes its wait before it reads the reason; so at least one sees the other.
#pragma once

#include <cstdint>

#include "weft/base/atomic.h"

namespace weft {

enum class CancelReason : std::uint8_t { None, Cancelled, DeadlineExceeded, Shutdown };

struct ReasonOrder {
    static constexpr std::memory_order kMark = std::memory_order_seq_cst;
};

template <class Order>
class BasicReasonWord {
public:
    // True for the one caller that cancels the node.
    [[nodiscard]] bool mark(CancelReason reason) {
        CancelReason expected = CancelReason::None;
        while (!word_.compare_exchange_strong(expected, reason, Order::kMark,
                                              std::memory_order_seq_cst)) {
            if (expected != CancelReason::None && expected != kUnasked) return false;
        }
        return true;
    }
    CancelReason get() const {
        return get([] { return CancelReason::None; });
    }
    // The result of `unasked()`, if nobody has asked for the reason yet.
    template <class Unasked>
    CancelReason get(Unasked unasked) const {
        CancelReason reason = word_.load(std::memory_order_seq_cst);
        return reason == kUnasked ? unasked() : reason;
    }

    // For a node whose owner wants to know when its reason is first asked for.
    bool is_unasked() const { return word_.load(std::memory_order_seq_cst) == kUnasked; }
    void expect_asking() {
        CancelReason expected = CancelReason::None;
        // mark() may win.
        word_.compare_exchange_strong(expected, kUnasked, std::memory_order_seq_cst,
                                      std::memory_order_seq_cst);
    }
    // True for the first caller only.
    [[nodiscard]] bool ask() {
        CancelReason expected = kUnasked;
        return word_.compare_exchange_strong(expected, CancelReason::None,
                                             std::memory_order_seq_cst, std::memory_order_seq_cst);
    }

private:
    // In place of None while nobody has asked.
    static constexpr auto kUnasked = static_cast<CancelReason>(0xff);

    Atomic<CancelReason> word_{CancelReason::None};
};

using ReasonWord = BasicReasonWord<ReasonOrder>;

}  // namespace weft
