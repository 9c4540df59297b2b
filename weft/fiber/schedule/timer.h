// Timers: the hierarchical timer wheel of a worker.
//
// Eight levels of 64 slots; a slot of the lowest level is 2^16 ns wide. Setting and cancelling
// touch one list and one bit under the wheel's lock; a cancelled timer leaves nothing behind. One
// expire() fires waits in the order of their deadlines, equal deadlines in the order in which they
// were set; then callbacks, in the same order. No timer fires before its exact deadline, which is
// kept beside the slot.
//
// A wheel belongs to a worker, but an idle worker may expire the timers of a busy one, and a fiber
// that has moved cancels its timer from afar; hence the lock. It is never held over a callback or
// the waking of a fiber.
#pragma once

#include <array>
#include <cstdint>

#include "weft/base/atomic.h"
#include "weft/base/intrusive_list.h"
#include "weft/base/spin_lock.h"
#include "weft/base/time.h"
#include "weft/fiber/waiter.h"

namespace weft {

class TimerWheel;

enum class TimerEnd : std::uint8_t {
    Due,
    Dropped,  // the wheel ends with its runtime; the timer will not fire
};

// Either wakes a wait or calls a function. In one wheel at a time. Its owner keeps it alive and in
// place until it has fired or cancel() has returned.
class Timer {
public:
    using Callback = void (*)(Timer& timer, TimerEnd end);

    explicit Timer(WaitRef wait) : wait_(wait) {}
    // Called in the scheduler of some worker: it must not wait. The timer may be set again or
    // destroyed in it.
    explicit Timer(Callback callback) : callback_(callback) {}
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

    Instant deadline() const { return deadline_; }

private:
    friend class TimerWheel;

    ListLink link_;
    Instant deadline_{};
    WaitRef wait_;
    Callback callback_ = nullptr;
    std::uint16_t slot_ = kNoSlot;  // level * 64 + index while in the wheel; under its lock

    static constexpr std::uint16_t kNoSlot = 0xffff;
};

class TimerWheel {
public:
    TimerWheel() = default;
    ~TimerWheel();
    TimerWheel(const TimerWheel&) = delete;
    TimerWheel& operator=(const TimerWheel&) = delete;

    // Owning worker only (while it sleeps, it would sleep past the new deadline).
    void set(Timer& timer, Instant deadline);
    // Any thread. False if the timer has fired or is about to call its callback.
    bool cancel(Timer& timer);

    // Any worker. Fires what is due at `now`. The cells of claimed waits are returned, linked by
    // `next`, earliest deadline first, for the caller to resume; callbacks are called here, after
    // the lock is released.
    WaitCell* expire(Instant now);

    // Any thread: a time before which nothing is due; kNeverNs when no timer is set.
    std::int64_t next_due_ns() const { return next_due_ns_.load(std::memory_order_relaxed); }
    // Any worker: moves next_due_ns() to the true next deadline where that is cheap to find.
    void refresh_next_due();

private:
    static constexpr unsigned kLevels = 8;
    static constexpr unsigned kSlots = 64;
    static constexpr unsigned kSlotBits = 6;
    static constexpr unsigned kTickBits = 16;
    static constexpr unsigned kScanMax = 64;

    using List = IntrusiveList<Timer, &Timer::link_>;

    static std::uint64_t tick_of(Instant instant);
    void insert(Timer& timer);
    void erase(Timer& timer);
    struct Slot {
        unsigned level;
        unsigned index;
        std::uint64_t start;  // in ticks
    };
    bool first_slot(Slot& slot) const;
    bool take_due_slot(Instant now, List& due);
    bool take_due(Instant now, List& timers, List& due);
    std::int64_t find_next_due();

    SpinLock lock_;
    std::uint64_t tick_ = 0;  // every timer of an earlier tick has been taken out
    Atomic<std::int64_t> next_due_ns_{kNeverNs};
    std::array<std::uint64_t, kLevels> occupied_{};
    std::array<List, kLevels * kSlots> slots_;
};

}  // namespace weft
