// StopPlace: where a runtime has its GracefulStop, if it has one.
//
// The handles own the stop. One that has begun is kept here as well, until the workers have ended,
// so that a second signal is heard by it also when the last handle has gone meanwhile.
//
// Any thread.
#pragma once

#include <memory>
#include <utility>

#include "weft/base/spin_lock.h"

namespace weft {

struct StopSignals;

class StopPlace {
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
    // Nothing is let go here: the caller may be the thread that the stop's end would wait for.
    void keep() {
        SpinGuard guard(lock_);
        if (!kept_) kept_ = stop_.lock();
    }
    void let_go() {
        std::shared_ptr<StopSignals> kept;  // ends after the lock is let go
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
    std::shared_ptr<StopSignals> kept_;  // owners: the handles, and this when it has begun
};

}  // namespace weft
