#include "weft/js/watchdog.h"

// tidy: allow-file threads: a plain thread beside the runtime that looks at others

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/base/log.h"

namespace weft::js {
namespace {

clockid_t cpu_clock_of_this_thread() {
    clockid_t clock{};
    int error = ::pthread_getcpuclockid(::pthread_self(), &clock);
    WEFT_ASSERT(error == 0, "a thread has a processor clock");
    return clock;
}

std::int64_t cpu_ns(clockid_t clock) {
    timespec time{};
    // tidy: allow clock: the processor time of a thread, which Env does not have
    if (::clock_gettime(clock, &time) != 0) return 0;
    return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

}  // namespace

WatchedTurns::WatchedTurns(Watchdog& watchdog, v8::Isolate& isolate, Nanoseconds limit,
                           Nanoseconds patience, std::function<void()> on_long)
    : watchdog_(watchdog),
      isolate_(isolate),
      limit_(limit),
      patience_(patience),
      on_long_(std::move(on_long)),
      cpu_clock_(cpu_clock_of_this_thread()) {
    watchdog_.add(*this);
}

WatchedTurns::~WatchedTurns() { watchdog_.remove(*this); }

void WatchedTurns::begin() {
    ++turn_;
    // seq_cst: this store and the load of asleep_ are in one order with the watchdog's store of
    // asleep_ and its last look at the word; so either we see that it sleeps, or it sees that a
    // turn runs.
    word_.store(turn_ << kStateBits | Running, std::memory_order_seq_cst);
    if (watchdog_.asleep_.load(std::memory_order_seq_cst)) [[unlikely]]
        watchdog_.wake();
}

bool WatchedTurns::end() {
    std::uint64_t running = turn_ << kStateBits | Running;
    // Acquire-release: whoever ends the next turn comes after the end of this one.
    if (word_.compare_exchange_strong(running, turn_ << kStateBits | Idle,
                                      std::memory_order_acq_rel, std::memory_order_acquire))
        return false;
    // Acquire-release: the termination has been asked for, so that it can be taken back; and it is
    // not asked for again, as that begins with Ended.
    for (unsigned attempt = 0;; ++attempt) {
        std::uint64_t ended = turn_ << kStateBits | Ended;
        if (word_.compare_exchange_strong(ended, turn_ << kStateBits | Idle,
                                          std::memory_order_acq_rel, std::memory_order_acquire))
            break;
        env::spin_pause(attempt);
    }
    isolate_.CancelTerminateExecution();
    return true;
}

void WatchedTurns::renew() {
    std::uint64_t running = turn_ << kStateBits | Running;
    // Relaxed: the watchdog sees that the number changed, and reads nothing else of ours. It does
    // not sleep meanwhile, as something runs before and after.
    if (word_.compare_exchange_strong(running, (turn_ + 1) << kStateBits | Running,
                                      std::memory_order_relaxed, std::memory_order_relaxed))
        ++turn_;
}

void WatchedTurns::pause() {
    // Whoever has ended it meanwhile has come too late.
    static_cast<void>(end());
}

void WatchedTurns::end_now() {
    // Relaxed: end_by_force() looks again.
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    if ((word & kStateMask) == Running) end_by_force(word);
}

void WatchedTurns::end_by_force(std::uint64_t seen) {
    std::uint64_t condemned = (seen & ~kStateMask) | Condemned;
    // Fails when the turn has ended meanwhile.
    if (!word_.compare_exchange_strong(seen, condemned, std::memory_order_acq_rel,
                                       std::memory_order_relaxed))
        return;
    isolate_.TerminateExecution();
    // Release: the turn may take it back now.
    word_.store((condemned & ~kStateMask) | Ended, std::memory_order_release);
}

[[noreturn]] void Watchdog::end_process() {
    log(LogLevel::Error, "a turn of JavaScript does not end: the process is ended");
    // Without destructors and without a core: the isolate's thread is still at work.
    constexpr int kStatus = 3;
    std::_Exit(kStatus);
}

Watchdog::~Watchdog() {
    {
        std::lock_guard lock(lock_);
        WEFT_ASSERT(watched_.empty(), "a watchdog outlives what it watches");
        over_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void Watchdog::add(WatchedTurns& turns) {
    std::lock_guard lock(lock_);
    watched_.push_back(&turns);
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
}

void Watchdog::remove(WatchedTurns& turns) {
    std::lock_guard lock(lock_);
    std::erase(watched_, &turns);
}

void Watchdog::wake() {
    {
        std::lock_guard lock(lock_);
        woken_ = true;
    }
    changed_.notify_all();
}

void Watchdog::run() {
    std::unique_lock lock(lock_);
    Nanoseconds quiet{};
    while (!over_) {
        Nanoseconds pause = std::chrono::seconds(1);
        quiet = look(lock, pause) ? Nanoseconds::zero() : quiet + pause;
        if (quiet <= kQuiet) {
            changed_.wait_for(lock, pause);
            continue;
        }
        // seq_cst: see WatchedTurns::begin().
        asleep_.store(true, std::memory_order_seq_cst);
        woken_ = look(lock, pause);
        changed_.wait(lock, [&] { return over_ || woken_; });
        asleep_.store(false, std::memory_order_relaxed);
        quiet = Nanoseconds::zero();
    }
}

bool Watchdog::look(std::unique_lock<std::mutex>&, Nanoseconds& pause) {
    bool runs = false;
    for (WatchedTurns* turns : watched_) {
        pause = std::min(pause, turns->limit_ / kLooks);
        if (turns->on_long_) pause = std::min(pause, kLongTurn);
        // seq_cst: see WatchedTurns::begin().
        std::uint64_t word = turns->word_.load(std::memory_order_seq_cst);
        std::uint64_t state = word & WatchedTurns::kStateMask;
        if (state == WatchedTurns::Idle) continue;
        runs = true;
        std::int64_t now = cpu_ns(turns->cpu_clock_);
        if (state != WatchedTurns::Running) {
            // seen_cpu_ns_ is still of its beginning.
            Nanoseconds used(now - turns->seen_cpu_ns_);
            if (turns->patience_.count() > 0 && used >= turns->limit_ + turns->patience_)
                end_process();
            // Natives go on behind the script that was ended, and may call another: the
            // description of an error does.
            if (state == WatchedTurns::Ended) turns->end_by_force(word);
            continue;
        }
        if (word != turns->seen_) {
            turns->seen_ = word;
            turns->seen_cpu_ns_ = now;
        } else if (now - turns->seen_cpu_ns_ >= turns->limit_.count()) {
            turns->end_by_force(word);
        } else if (turns->on_long_) {
            turns->on_long_();
        }
    }
    return runs;
}

}  // namespace weft::js
