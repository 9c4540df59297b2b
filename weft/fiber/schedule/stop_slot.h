// StopSlot: refers to the GracefulStop of a runtime, if it has one.
//
// The handles own the stop. A stop that has begun is also owned by the slot, until the workers have
// ended, so that it receives a second signal even if the last handle has gone meanwhile.
//
// Any thread.
#pragma once

#include <memory>
#include <utility>

#include "weft/base/spin_lock.h"

namespace weft {

struct StopSignals;

class StopSlot {
public:
    std::shared_ptr<StopSignals> get() const {
        SpinGuard guard(lock_);
        return stop_.lock();
    }
    bool put_if_empty(const std::shared_ptr<StopSignals>& stop) {
        SpinGuard guard(lock_);
        if (!stop_.expired()) return false;
        stop_ = stop;
        return true;
    }
    // Takes ownership of the stop. It releases nothing, because the caller may be the thread for
    // which the destructor of the stop waits.
    void keep() {
        SpinGuard guard(lock_);
        if (!kept_) kept_ = stop_.lock();
    }
    // Gives up ownership.
    void release() {
        std::shared_ptr<StopSignals> kept;  // destroyed after the lock is released
        SpinGuard guard(lock_);
        kept = std::exchange(kept_, nullptr);
    }
    bool is_empty() const {
        SpinGuard guard(lock_);
        return stop_.expired();
    }

private:
    mutable SpinLock lock_;
    std::weak_ptr<StopSignals> stop_;
    std::shared_ptr<StopSignals> kept_;  // owners: the handles, and this once it has begun
};

}  // namespace weft
