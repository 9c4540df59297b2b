// Watchdog: ends a turn of JavaScript that computes too long, and never the next one.
//
// One thread watches all isolates of a process. Each has a word that says which of its turns runs.
// When the thread has seen the same turn use more processor time than its limit, it moves the word
// from Running to Condemned, which only one of the two sides can do, asks V8 to end the execution
// and says so. A turn that finds itself condemned at its end waits for that and takes the
// termination back, so that it cannot hit the turn after it; until then it is told again and again.
// While no isolate runs, the thread sleeps without a time limit.
//
// It counts processor time of the owner's thread, not time of the wall: a busy machine does not end
// a turn that has hardly run.
//
// Some functions of V8 do not look whether they are to end. Where somebody will start another
// process, one whose turn goes on all the same is ended.
#pragma once

// tidy: allow-file threads: a plain thread beside the runtime that looks at others

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

// The part of one isolate; owned by it.
class WatchedTurns {
public:
    // On the isolate's own thread.
    // `patience`: how long a turn may go on after it was told to end, until the process is ended;
    // zero: for ever.
    // `on_long`: called by the watchdog again and again while a turn goes on that it has seen
    // before; it must not wait. May be null.
    WatchedTurns(Watchdog& watchdog, v8::Isolate& isolate, Nanoseconds limit, Nanoseconds patience,
                 std::function<void()> on_long = {});
    ~WatchedTurns();
    WatchedTurns(const WatchedTurns&) = delete;
    WatchedTurns& operator=(const WatchedTurns&) = delete;

    // The owner, around each turn.
    void begin();
    // True when the turn was ended by force; the isolate is good for the next one.
    [[nodiscard]] bool end();
    // The owner, in a turn: what comes now has the whole time of a turn again. Does nothing when
    // the turn was ended by force meanwhile.
    void renew();
    // The owner, in a turn: nothing ends it until the next begin(), which goes on with it.
    void pause();
    // Any thread: ends the turn that runs now, if one does.
    void end_now();

private:
    friend class Watchdog;
    enum State : std::uint64_t { Idle, Running, Condemned, Ended };
    static constexpr unsigned kStateBits = 2;
    static constexpr std::uint64_t kStateMask = (1U << kStateBits) - 1;

    // `seen`: the word, of a turn that runs or was told to end before.
    void end_by_force(std::uint64_t seen);

    Watchdog& watchdog_;
    v8::Isolate& isolate_;
    const Nanoseconds limit_;
    const Nanoseconds patience_;
    const std::function<void()> on_long_;
    const clockid_t cpu_clock_;
    std::uint64_t turn_ = 0;         // the owner's count
    Atomic<std::uint64_t> word_{0};  // turn << kStateBits | state
    // The watchdog's.
    std::uint64_t seen_ = 0;
    std::int64_t seen_cpu_ns_ = 0;
};

// Any thread. It outlives all that it watches.
class Watchdog {
public:
    Watchdog() = default;
    ~Watchdog();
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

private:
    friend class WatchedTurns;
    static constexpr int kLooks = 5;  // in the time that a turn may take
    static constexpr Nanoseconds kLongTurn = std::chrono::milliseconds(20);
    // So long nothing runs before the thread sleeps without a time limit.
    static constexpr Nanoseconds kQuiet = std::chrono::seconds(1);

    void add(WatchedTurns& turns);
    void remove(WatchedTurns& turns);
    void wake();
    void run();
    [[noreturn]] static void end_process();
    // True: something runs.
    bool look(std::unique_lock<std::mutex>& lock, Nanoseconds& pause);

    std::mutex lock_;
    std::condition_variable changed_;
    std::vector<WatchedTurns*> watched_;
    bool over_ = false;
    bool woken_ = false;
    // Set by the thread before it sleeps without a time limit.
    Atomic<bool> asleep_{false};
    std::thread thread_;
};

}  // namespace weft::js
