// ReasonWord: why a node of the cancellation tree has ended, if it has. The first reason stays.
//
// Any thread. All of it is seq_cst: who ends a node marks it before it looks for those who wait,
// and who waits publishes that before it looks at the reason; so one of the two sees the other.
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
    // True for the one who ends it.
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
    // What `unasked` gives, if nobody has asked yet.
    template <class Unasked>
    CancelReason get(Unasked unasked) const {
        CancelReason reason = word_.load(std::memory_order_seq_cst);
        return reason == kUnasked ? unasked() : reason;
    }

    // Of a node whose owner wants to know when it is first asked for.
    bool is_unasked() const { return word_.load(std::memory_order_seq_cst) == kUnasked; }
    void expect_asking() {
        CancelReason expected = CancelReason::None;
        // mark() may win.
        word_.compare_exchange_strong(expected, kUnasked, std::memory_order_seq_cst,
                                      std::memory_order_seq_cst);
    }
    // True for the first who asks.
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
