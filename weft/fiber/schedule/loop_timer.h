// LoopTimer: runs a Completion in the loop of a worker at a given time.
//
// For objects that live in a worker's loop and have no fiber, such as the timers of a script
// engine. When the time has come, the record is posted to the worker like any Completion; so it
// runs on the thread's own stack, in order with the other records, and never before its time.
//
// Owning worker only: in its loop or on one of its fibers, if that is a pinned worker. The timer is
// cancelled by its destructor; a record that has been posted by then still runs.
#pragma once

#include "weft/base/time.h"
#include "weft/fiber/completion.h"
#include "weft/fiber/schedule/timer.h"

namespace weft {

class Worker;

class LoopTimer {
public:
    // The record must outlive the timer, and its own run.
    explicit LoopTimer(Completion& record) : timer_(*this), record_(record) {}
    ~LoopTimer() { cancel(); }
    LoopTimer(const LoopTimer&) = delete;
    LoopTimer& operator=(const LoopTimer&) = delete;

    // Replaces an earlier deadline. Does nothing while the record is posted and has not run: the
    // record sets the timer again.
    void set(Instant deadline);
    void cancel();
    bool is_set() const { return state_ == State::Set; }
    // The record must call this first.
    void begin_run() { state_ = State::Idle; }

private:
    enum class State : unsigned char { Idle, Set, Posted };
    struct OwnTimer : Timer {
        explicit OwnTimer(LoopTimer& owner_in) : Timer(on_due), owner(owner_in) {}
        LoopTimer& owner;
    };
    static void on_due(Timer& timer, TimerEnd end);

    OwnTimer timer_;
    Completion& record_;
    Worker* worker_ = nullptr;  // while Set
    State state_ = State::Idle;
};

}  // namespace weft
