// Watchdog: terminates a turn of JavaScript that computes too long, and never the next one.
//
// One thread watches all isolates of a process. Each isolate has a word with the number and the
// state of its turn. When the thread has seen the same turn use more processor time than its limit,
// it moves the word from Running to Terminating, asks V8 to terminate the execution, and moves the
// word on to Terminated. A turn that finds at its end that it is no longer Running waits for
// Terminated and cancels the termination, so that it cannot hit the next turn. A turn that goes on
// is asked again at every check. While no isolate runs, the thread waits without a time limit.
//
// It counts the processor time of the owner's thread, not elapsed time: on a busy machine a turn
// that has hardly run is not terminated.
//
// Some functions of V8 do not check whether they are to terminate. If a supervisor will start
// another process, a process whose turn goes on all the same can be ended (`overrun_max`).
#pragma once

// tidy: allow-file threads: a plain thread beside the runtime that watches others

#include <v8.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/base/time.h"

namespace weft::js {

class Watchdog;

// The turns of one isolate, which owns this. The owner's thread only, unless said otherwise.
class WatchedTurns {
public:
    // `limit`: processor time of a turn; not zero.
    // `overrun_max`: processor time that a turn may use after V8 was asked to terminate it, until
    // the process is ended; zero: unlimited.
    // `on_long`: called by the watchdog's thread at each check that finds a turn it has seen
    // before; it must not wait. May be null.
    WatchedTurns(Watchdog& watchdog, v8::Isolate& isolate, Nanoseconds limit,
                 Nanoseconds overrun_max, std::function<void()> on_long = {});
    ~WatchedTurns();
    WatchedTurns(const WatchedTurns&) = delete;
    WatchedTurns& operator=(const WatchedTurns&) = delete;

    // Around each turn.
    void begin();
    // True when the turn was terminated; the isolate can take the next one.
    [[nodiscard]] bool end();
    // In a turn: it may use the whole limit again from now on. Does nothing when the turn was
    // terminated meanwhile.
    void renew();
    // In a turn: it is not watched until the next begin(), which continues it.
    void pause();
    // Any thread: terminates the turn that runs, if any.
    void end_now();

private:
    friend class Watchdog;
    // Terminating: V8 is being asked to terminate the turn. Terminated: V8 has been asked.
    enum State : std::uint64_t { Idle, Running, Terminating, Terminated };
    static constexpr unsigned kStateBits = 2;
    static constexpr std::uint64_t kStateMask = (1U << kStateBits) - 1;

    // Any thread. `seen`: the word of a turn that is Running or Terminated.
    void terminate(std::uint64_t seen);

    Watchdog& watchdog_;
    v8::Isolate& isolate_;
    const Nanoseconds limit_;
    const Nanoseconds overrun_max_;
    const std::function<void()> on_long_;
    const clockid_t cpu_clock_;
    std::uint64_t turn_ = 0;         // the number of the turn; written by the owner only
    Atomic<std::uint64_t> word_{0};  // turn << kStateBits | state
    // The watchdog's thread only: the word of the last check at which a new turn ran, and the
    // thread's processor time then.
    std::uint64_t seen_ = 0;
    std::int64_t seen_cpu_ns_ = 0;
};

// The thread that watches. Any thread may make and destroy it; it outlives all WatchedTurns.
class Watchdog {
public:
    Watchdog() = default;
    ~Watchdog();
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

private:
    friend class WatchedTurns;
    static constexpr int kChecksPerLimit = 5;  // within the time limit of a turn
    // The longest time between two checks where on_long is to be called.
    static constexpr Nanoseconds kLongTurn = std::chrono::milliseconds(20);
    // After this time without a turn the thread waits without a time limit.
    static constexpr Nanoseconds kIdleMax = std::chrono::seconds(1);

    void add(WatchedTurns& turns);
    void remove(WatchedTurns& turns);
    void notify();
    void run();
    [[noreturn]] static void end_process();
    // Checks every isolate, with lock_ held. `pause` is lowered to the time until the next check.
    // True: some turn is not Idle.
    bool check_turns(std::unique_lock<std::mutex>& lock, Nanoseconds& pause);

    std::mutex lock_;
    std::condition_variable changed_;
    std::vector<WatchedTurns*> watched_;
    bool stopping_ = false;
    bool notified_ = false;
    // Set by the thread before it waits without a time limit.
    Atomic<bool> is_waiting_{false};
    std::thread thread_;
};

}  // namespace weft::js
