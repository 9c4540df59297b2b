#include "weft/fiber/schedule/timer.h"

#include <algorithm>
#include <bit>

#include "weft/base/assert.h"
#include "weft/base/planted.h"

namespace weft {
namespace {

// A stable merge sort of a list by deadline.
template <class List>
void sort_by_deadline(List& list) {
    auto later = [](Timer& a, Timer& b) { return a.deadline() > b.deadline(); };
    std::size_t count = 0;
    for (Timer& timer : list) static_cast<void>(timer), ++count;
    if (count < 2) return;
    List half;
    for (std::size_t i = 0; i < count / 2; ++i) half.push_back(*list.pop_front());
    sort_by_deadline(half);
    sort_by_deadline(list);
    List merged;
    while (!half.empty() && !list.empty()) {
        List& from = later(*half.front(), *list.front()) ? list : half;
        merged.push_back(*from.pop_front());
    }
    merged.splice_back(half);
    merged.splice_back(list);
    list.splice_back(merged);
}

}  // namespace

TimerWheel::~TimerWheel() {
    List dropped;
    {
        SpinGuard guard(lock_);
        for (List& slot : slots_) {
            for (Timer& timer : slot) timer.slot_ = Timer::kNoSlot;
            dropped.splice_back(slot);
        }
    }
    while (Timer* timer = dropped.pop_front()) {
        if (timer->callback_) timer->callback_(*timer, TimerEnd::Dropped);
    }
}

std::uint64_t TimerWheel::tick_of(Instant instant) {
    std::int64_t ns = instant.time_since_epoch().count();
    return ns <= 0 ? 0 : static_cast<std::uint64_t>(ns) >> kTickBits;
}

// The level is that of the highest digit in which the timer's tick differs from the present one. So
// every timer of a level is ahead of the present digit there, and the lowest level is due first.
void TimerWheel::insert(Timer& timer) {
    std::uint64_t tick = std::max(tick_of(timer.deadline_), tick_);
    // Never 0, so that equal ticks belong to the lowest level.
    std::uint64_t difference = (tick ^ tick_) | 1;
    unsigned level = (63U - static_cast<unsigned>(std::countl_zero(difference))) / kSlotBits;
    unsigned index = (tick >> (level * kSlotBits)) & (kSlots - 1);
    WEFT_DASSERT(level < kLevels, "the wheel reaches as far as the clock");
    timer.slot_ = static_cast<std::uint16_t>(level * kSlots + index);
    slots_[timer.slot_].push_back(timer);
    occupied_[level] |= std::uint64_t{1} << index;
}

void TimerWheel::erase(Timer& timer) {
    WEFT_DASSERT(timer.slot_ < kLevels * kSlots, "only a timer in the wheel is taken out");
    List& slot = slots_[timer.slot_];
    slot.erase(timer);
    if (slot.empty())
        occupied_[timer.slot_ / kSlots] &= ~(std::uint64_t{1} << (timer.slot_ % kSlots));
    timer.slot_ = Timer::kNoSlot;
}

// The earliest occupied slot; false when no timer is set.
bool TimerWheel::first_slot(Slot& slot) const {
    unsigned level = 0;
    while (level < kLevels && occupied_[level] == 0) ++level;
    if (level == kLevels) return false;
    auto index = static_cast<unsigned>(std::countr_zero(occupied_[level]));
    unsigned shift = level * kSlotBits;
    std::uint64_t above = ~std::uint64_t{0} << (shift + kSlotBits);
    slot = {level, index, (tick_ & above) | (std::uint64_t{index} << shift)};
    return true;
}

void TimerWheel::set(Timer& timer, Instant deadline) {
    SpinGuard guard(lock_);
    WEFT_DASSERT(timer.slot_ == Timer::kNoSlot, "a timer is in one wheel at a time");
    timer.deadline_ = deadline;
    insert(timer);
    std::int64_t ns = deadline.time_since_epoch().count();
    // Relaxed: written under the lock; readers only use it to decide whether to take the lock.
    if (ns < next_due_ns_.load(std::memory_order_relaxed))
        next_due_ns_.store(ns, std::memory_order_relaxed);
}

bool TimerWheel::cancel(Timer& timer) {
    SpinGuard guard(lock_);
    if (timer.slot_ == Timer::kNoSlot) return false;
    if (WEFT_PLANTED("timer.ignores_cancel")) return true;
    erase(timer);
    return true;
}

// Advances to the earliest occupied slot that has begun by `now`. Moves its due timers to `due`, or
// its timers to lower levels. False when nothing more is due.
bool TimerWheel::take_due_slot(Instant now, List& due) {
    Slot slot{};
    if (!first_slot(slot) || slot.start > tick_of(now)) return false;
    WEFT_DASSERT(!slots_[slot.level * kSlots + slot.index].empty(), "a marked slot has timers");
    tick_ = std::max(tick_, slot.start);
    occupied_[slot.level] &= ~(std::uint64_t{1} << slot.index);
    List moved;
    moved.splice_back(slots_[slot.level * kSlots + slot.index]);
    if (slot.level == 0) return take_due(now, moved, due);
    while (Timer* timer = moved.pop_front()) insert(*timer);
    return true;
}

// Moves the due timers of a slot of the lowest level to `due`, in the order of their deadlines; the
// others go back into the slot. False if none was due.
bool TimerWheel::take_due(Instant now, List& timers, List& due) {
    List taken;
    bool sorted = true;
    Instant latest = Instant::min();
    while (Timer* timer = timers.pop_front()) {
        if (timer->deadline_ > now && !WEFT_PLANTED("timer.fires_early")) {
            insert(*timer);
            continue;
        }
        timer->slot_ = Timer::kNoSlot;
        sorted &= timer->deadline_ >= latest;
        latest = timer->deadline_;
        taken.push_back(*timer);
    }
    if (taken.empty()) return false;
    if (!sorted) sort_by_deadline(taken);
    due.splice_back(taken);
    return true;
}

WaitCell* TimerWheel::expire(Instant now) {
    WaitCell* first = nullptr;
    WaitCell** end = &first;
    List callbacks;
    {
        SpinGuard guard(lock_);
        List due;
        while (take_due_slot(now, due)) {}
        tick_ = std::max(tick_, tick_of(now));
        // Relaxed: as in set().
        next_due_ns_.store(find_next_due(), std::memory_order_relaxed);
        while (Timer* timer = due.pop_front()) {
            if (timer->callback_) {
                callbacks.push_back(*timer);
            } else if (timer->wait_.try_claim(Wake::TimedOut) ||
                       WEFT_PLANTED("timer.wakes_twice")) {
                // The cell is ours until it is resumed. The timer lies in the waiter's frame, and
                // is not touched after the lock is released.
                *end = timer->wait_.cell();
                end = &timer->wait_.cell()->next;
            }
        }
        *end = nullptr;
    }
    while (Timer* timer = callbacks.pop_front()) timer->callback_(*timer, TimerEnd::Due);
    return first;
}

void TimerWheel::refresh_next_due() {
    SpinGuard guard(lock_);
    // Relaxed: as in set().
    next_due_ns_.store(find_next_due(), std::memory_order_relaxed);
}

// With the lock held. The exact deadline if the first slot has few timers, else the start of that
// slot: expire() will then move its timers to lower levels.
std::int64_t TimerWheel::find_next_due() {
    Slot slot{};
    if (!first_slot(slot)) return kNeverNs;
    Instant earliest = Instant::max();
    unsigned scanned = 0;
    for (Timer& timer : slots_[slot.level * kSlots + slot.index]) {
        earliest = std::min(earliest, timer.deadline_);
        if (slot.level > 0 && ++scanned == kScanMax)
            return static_cast<std::int64_t>(slot.start << kTickBits);
    }
    return earliest.time_since_epoch().count();
}

}  // namespace weft
