// DescriptorWatch: cancels a token at the first of some events of a descriptor, while its owner
// does something else: the peer has hung up, or has sent something.
//
// begin(), arm() and stop() are for its owner, one fiber or loop at a time. The token is cancelled
// by any worker, or by whoever closes the descriptor; stop() waits until that call is over. Token
// and descriptor outlive stop().
#pragma once

#include <cstdint>
#include <utility>

#include "weft/async/context.h"
#include "weft/base/assert.h"
#include "weft/base/atomic.h"
#include "weft/base/env.h"
#include "weft/base/result.h"
#include "weft/net/socket.h"

namespace weft::http {

class DescriptorWatch : private Dormant {
public:
    DescriptorWatch() : Dormant{on_event} {}
    ~DescriptorWatch() { WEFT_DASSERT(!is_armed_, "a watch is stopped before it ends"); }
    DescriptorWatch(const DescriptorWatch&) = delete;
    DescriptorWatch& operator=(const DescriptorWatch&) = delete;

    // Which token the next arm() is for; has_fired() is false from here on.
    void begin(CancelState* token) {
        WEFT_DASSERT(!is_armed_, "the last watch was stopped");
        token_ = token;
        // Relaxed: nothing is armed, so nobody else reads it.
        fired_.store(false, std::memory_order_relaxed);
    }
    // True: armed, until stop(). False: one of the events may have come before, and nothing was
    // armed. An error: there is no scheduler, or the descriptor is closed.
    Result<bool> arm(Descriptor& descriptor, std::uint8_t events) {
        WEFT_DASSERT(token_ && !is_armed_, "begin() comes first, and one watch at a time");
        Result<bool> armed = descriptor.arm(*this, events);
        is_armed_ = armed && *armed;
        return armed;
    }
    // As if one of the events had come, after an arm() that gave false.
    void fire() { on_event(*this, 0); }
    // The token is not touched after this.
    void stop(Descriptor& descriptor) {
        if (!std::exchange(is_armed_, false)) return;
        if (descriptor.disarm(*this)) return;
        for (unsigned attempt = 0; !has_fired();) env::spin_pause(attempt++);
    }
    // Acquire: whoever cancels the token does not touch this any more.
    bool has_fired() const { return fired_.load(std::memory_order_acquire); }

private:
    static void on_event(Dormant& dormant, std::uint8_t) {
        auto& self = static_cast<DescriptorWatch&>(dormant);
        self.token_->cancel(CancelReason::Cancelled);
        // Release: the last touch; pairs with the acquire in has_fired().
        self.fired_.store(true, std::memory_order_release);
    }

    CancelState* token_ = nullptr;
    Atomic<bool> fired_{false};
    bool is_armed_ = false;
};

}  // namespace weft::http
