// Ear: cancels a token when the other side of a connection says something, or hangs up.
//
// For one who waits for something else meanwhile. Owned by one fiber; the descriptor outlives it,
// and has no other dormant while the ear listens.
#pragma once

#include "weft/base/atomic.h"
#include "weft/base/env.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/io.h"

namespace weft::http {

class Ear : private Dormant {
public:
    // The token is a child of `parent`.
    explicit Ear(Descriptor& descriptor, const CancelToken& parent = {})
        : Dormant{on_event}, descriptor_(descriptor), source_(parent) {}
    ~Ear() { stop(); }
    Ear(const Ear&) = delete;
    Ear& operator=(const Ear&) = delete;

    // False: it may have said something already. Where there is no scheduler nothing is heard.
    bool listen() {
        auto armed = descriptor_.arm(*this, kReadable | kHangUp);
        if (!armed) return true;
        listens_ = *armed;
        return listens_;
    }
    void stop() {
        if (!std::exchange(listens_, false) || descriptor_.disarm(*this)) return;
        // Acquire: the callee has left; pairs with its release.
        for (unsigned attempt = 0; !heard_.load(std::memory_order_acquire);)
            env::spin_pause(attempt++);
    }

    // After stop().
    bool has_heard() const { return heard_.load(std::memory_order_acquire); }
    CancelToken token() const { return source_.token(); }

private:
    static void on_event(Dormant& dormant, std::uint8_t) {
        auto& self = static_cast<Ear&>(dormant);
        self.source_.cancel();
        // Release: the last touch; pairs with stop().
        self.heard_.store(true, std::memory_order_release);
    }

    Descriptor& descriptor_;
    CancelSource source_;
    Atomic<bool> heard_{false};
    bool listens_ = false;
};

}  // namespace weft::http
