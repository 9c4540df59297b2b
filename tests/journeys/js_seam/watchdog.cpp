#include "tests/journeys/js_seam/watchdog.h"

#include "weft/base/assert.h"

namespace weft::journeys {

Watchdog::Watchdog(v8::Isolate& isolate, Nanoseconds limit) : isolate_(isolate), limit_(limit) {
    thread_ = env::start_thread(thread_main, this, "js-watchdog");
    WEFT_ASSERT(thread_.handle != 0, "no thread for the watchdog");
}

Watchdog::~Watchdog() {
    over_.store(1, std::memory_order_release);
    env::futex_wake(over_.futex_address(), 1);
    env::join_thread(thread_);
}

void Watchdog::begin() {
    ++dispatch_;
    // Release: whoever ends this dispatch comes after its predecessor's end.
    word_.store(dispatch_ << kStateBits | Running, std::memory_order_release);
}

bool Watchdog::end() {
    std::uint64_t running = dispatch_ << kStateBits | Running;
    // Acquire-release: as in begin().
    if (word_.compare_exchange_strong(running, dispatch_ << kStateBits | Idle,
                                      std::memory_order_acq_rel, std::memory_order_acquire))
        return false;
    // Acquire: the termination has been asked for, so that it can be taken back.
    for (unsigned attempt = 0; (word_.load(std::memory_order_acquire) & kStateMask) != Ended;
         ++attempt)
        env::spin_pause(attempt);
    isolate_.CancelTerminateExecution();
    word_.store(dispatch_ << kStateBits | Idle, std::memory_order_release);
    return true;
}

void Watchdog::thread_main(void* self) { static_cast<Watchdog*>(self)->look_around(); }

void Watchdog::look_around() {
    std::uint64_t seen = 0;
    int looks = 0;
    // Acquire: pairs with the destructor.
    while (over_.load(std::memory_order_acquire) == 0) {
        std::int64_t next_look = env::now_ns() + (limit_ / kLooks).count();
        env::futex_wait(over_.futex_address(), 0, next_look);
        std::uint64_t word = word_.load(std::memory_order_acquire);
        looks = word == seen ? looks + 1 : 0;
        seen = word;
        if ((word & kStateMask) == Running && looks >= kLooks) end_by_force(word);
    }
}

void Watchdog::end_by_force(std::uint64_t running) {
    std::uint64_t condemned = (running & ~kStateMask) | Condemned;
    // Fails when the dispatch has ended meanwhile.
    if (!word_.compare_exchange_strong(running, condemned, std::memory_order_acq_rel,
                                       std::memory_order_relaxed))
        return;
    isolate_.TerminateExecution();
    // Release: the dispatch may take it back now.
    word_.store((condemned & ~kStateMask) | Ended, std::memory_order_release);
}

}  // namespace weft::journeys
