// PeerWatch: cancels a token when bytes from the peer of a connection arrive, or the peer closes.
//
// It lets a fiber wait for something else under that token and still notice the peer. Owned by one
// fiber, which calls everything here. The descriptor outlives the watch, and nothing else may be
// armed on it between start() and stop().
#pragma once

#include "weft/base/assert.h"
#include "weft/base/atomic.h"
#include "weft/base/env.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/io.h"

namespace weft::http {

class PeerWatch : private Dormant {
public:
    // The token is a child of `parent`.
    explicit PeerWatch(Descriptor& descriptor, const CancelToken& parent = {})
        : Dormant{on_event}, descriptor_(descriptor), source_(parent) {}
    ~PeerWatch() { stop(); }
    PeerWatch(const PeerWatch&) = delete;
    PeerWatch& operator=(const PeerWatch&) = delete;

    // False: something may have arrived already, and nothing is watched; try to read. On a plain
    // thread, which has no reactor, this returns true and nothing is ever noticed.
    bool start() {
        WEFT_ASSERT(!is_started_, "stop() comes before the next start()");
        WEFT_ASSERT(!has_fired(), "stop() could not await the second call of on_event()");
        auto armed = descriptor_.arm(*this, kReadable | kHangUp);
        if (!armed) return true;
        is_started_ = *armed;
        return is_started_;
    }
    // Afterwards on_event() does not run any more. Idempotent.
    void stop() {
        if (!std::exchange(is_started_, false) || descriptor_.disarm(*this)) return;
        // Acquire: on_event() has finished with this object; pairs with its release.
        for (unsigned attempt = 0; !fired_.load(std::memory_order_acquire);)
            env::spin_pause(attempt++);
    }

    // Whether something arrived. Ask after stop().
    bool has_fired() const {
        WEFT_DASSERT(!is_started_, "on_event() may run at any moment");
        return fired_.load(std::memory_order_acquire);
    }
    CancelToken token() const { return source_.token(); }

private:
    static void on_event(Dormant& dormant, std::uint8_t) {
        auto& self = static_cast<PeerWatch&>(dormant);
        // Relaxed: on_event() itself is the only writer.
        WEFT_DASSERT(!self.fired_.load(std::memory_order_relaxed), "a watch fires once");
        self.source_.cancel();
        // Release: this is the last access to the object; pairs with the acquire in stop().
        self.fired_.store(true, std::memory_order_release);
    }

    Descriptor& descriptor_;
    CancelSource source_;
    Atomic<bool> fired_{false};
    bool is_started_ = false;
};

}  // namespace weft::http
