#include "weft/js/watchdog.h"

// tidy: allow-file threads: a plain thread beside the runtime that watches others

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
                           Nanoseconds overrun_max, std::function<void()> on_long)
    : watchdog_(watchdog),
      isolate_(isolate),
      limit_(limit),
      overrun_max_(overrun_max),
      on_long_(std::move(on_long)),
      cpu_clock_(cpu_clock_of_this_thread()) {
    WEFT_ASSERT(limit_ > Nanoseconds::zero(), "a turn may use some time");
    watchdog_.add(*this);
}

WatchedTurns::~WatchedTurns() {
    // Relaxed: of the owner's turns, and this is the owner.
    WEFT_ASSERT((word_.load(std::memory_order_relaxed) & kStateMask) == Idle,
                "an isolate ends between its turns");
    watchdog_.remove(*this);
}

void WatchedTurns::begin() {
    // Relaxed: only the owner begins and ends turns.
    WEFT_DASSERT((word_.load(std::memory_order_relaxed) & kStateMask) == Idle,
                 "a turn begins, or goes on, when none is watched");
    ++turn_;
    // seq_cst: this store and the load of is_waiting_ are in one total order with the watchdog's
    // store of is_waiting_ and its last load of the word. So either this thread sees that the
    // watchdog waits, or the watchdog sees that a turn runs.
    word_.store(turn_ << kStateBits | Running, std::memory_order_seq_cst);
    if (watchdog_.is_waiting_.load(std::memory_order_seq_cst)) [[unlikely]]
        watchdog_.notify();
}

bool WatchedTurns::end() {
    // Relaxed: only the owner changes the number, and only the owner makes it Idle.
    WEFT_DASSERT(word_.load(std::memory_order_relaxed) >> kStateBits == turn_,
                 "the word names the owner's turn");
    std::uint64_t running = turn_ << kStateBits | Running;
    // Acquire-release: a thread that terminates the next turn sees the end of this one.
    if (word_.compare_exchange_strong(running, turn_ << kStateBits | Idle,
                                      std::memory_order_acq_rel, std::memory_order_acquire))
        return false;
    // The exchange has failed, so `running` is the word that it found.
    WEFT_ASSERT((running & kStateMask) != Idle, "a turn ends once; to wait would last for ever");
    // Acquire-release: in the state Terminated V8 has been asked, so the request can be cancelled;
    // and V8 is not asked again, as that would begin in the state Terminated.
    for (unsigned attempt = 0;; ++attempt) {
        std::uint64_t terminated = turn_ << kStateBits | Terminated;
        if (word_.compare_exchange_strong(terminated, turn_ << kStateBits | Idle,
                                          std::memory_order_acq_rel, std::memory_order_acquire))
            break;
        env::spin_pause(attempt);
    }
    isolate_.CancelTerminateExecution();
    return true;
}

void WatchedTurns::renew() {
    // Relaxed: only the owner begins and ends turns.
    WEFT_DASSERT((word_.load(std::memory_order_relaxed) & kStateMask) != Idle,
                 "the limit is renewed in a turn");
    std::uint64_t running = turn_ << kStateBits | Running;
    // Relaxed: the watchdog only sees that the number has changed, and reads no other memory
    // through it. It does not begin to wait in between, as a turn runs before and after.
    if (word_.compare_exchange_strong(running, (turn_ + 1) << kStateBits | Running,
                                      std::memory_order_relaxed, std::memory_order_relaxed))
        ++turn_;
}

void WatchedTurns::pause() {
    // If the turn was terminated meanwhile, the termination is cancelled: it came too late.
    static_cast<void>(end());
}

void WatchedTurns::end_now() {
    // Relaxed: terminate() compares the word again.
    std::uint64_t word = word_.load(std::memory_order_relaxed);
    if ((word & kStateMask) == Running) terminate(word);
}

void WatchedTurns::terminate(std::uint64_t seen) {
    WEFT_DASSERT((seen & kStateMask) == Running || (seen & kStateMask) == Terminated,
                 "only one thread at a time may be terminating a turn");
    std::uint64_t terminating = (seen & ~kStateMask) | Terminating;
    // Fails when the turn has ended meanwhile.
    if (!word_.compare_exchange_strong(seen, terminating, std::memory_order_acq_rel,
                                       std::memory_order_relaxed))
        return;
    isolate_.TerminateExecution();
    // Release: pairs with the acquire in end(), which may cancel the termination from now on.
    word_.store((terminating & ~kStateMask) | Terminated, std::memory_order_release);
}

[[noreturn]] void Watchdog::end_process() {
    log(LogLevel::Error, "a turn of JavaScript does not end: the process is ended");
    // Without destructors and without a core dump: the isolate's thread is still running.
    constexpr int kStatus = 3;
    std::_Exit(kStatus);
}

Watchdog::~Watchdog() {
    {
        std::lock_guard lock(lock_);
        WEFT_ASSERT(watched_.empty(), "a watchdog outlives what it watches");
        stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void Watchdog::add(WatchedTurns& turns) {
    std::lock_guard lock(lock_);
    WEFT_ASSERT(!stopping_, "a watchdog outlives what it watches");
    WEFT_DASSERT(std::ranges::find(watched_, &turns) == watched_.end(), "added once");
    watched_.push_back(&turns);
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
}

void Watchdog::remove(WatchedTurns& turns) {
    std::lock_guard lock(lock_);
    std::size_t removed = std::erase(watched_, &turns);
    WEFT_ASSERT(removed == 1, "what is watched is removed once");
}

void Watchdog::notify() {
    {
        std::lock_guard lock(lock_);
        notified_ = true;
    }
    changed_.notify_all();
}

void Watchdog::run() {
    std::unique_lock lock(lock_);
    Nanoseconds idle{};
    while (!stopping_) {
        Nanoseconds pause = std::chrono::seconds(1);
        idle = check_turns(lock, pause) ? Nanoseconds::zero() : idle + pause;
        if (idle <= kIdleMax) {
            changed_.wait_for(lock, pause);
            continue;
        }
        // seq_cst: see WatchedTurns::begin().
        is_waiting_.store(true, std::memory_order_seq_cst);
        notified_ = check_turns(lock, pause);
        changed_.wait(lock, [&] { return stopping_ || notified_; });
        is_waiting_.store(false, std::memory_order_relaxed);
        idle = Nanoseconds::zero();
    }
}

bool Watchdog::check_turns(std::unique_lock<std::mutex>& lock, Nanoseconds& pause) {
    WEFT_ASSERT(lock.owns_lock(), "the list changes when an isolate begins or ends");
    bool runs = false;
    for (WatchedTurns* turns : watched_) {
        pause = std::min(pause, turns->limit_ / kChecksPerLimit);
        if (turns->on_long_) pause = std::min(pause, kLongTurn);
        // seq_cst: see WatchedTurns::begin().
        std::uint64_t word = turns->word_.load(std::memory_order_seq_cst);
        std::uint64_t state = word & WatchedTurns::kStateMask;
        if (state == WatchedTurns::Idle) continue;
        runs = true;
        std::int64_t now = cpu_ns(turns->cpu_clock_);
        if (state != WatchedTurns::Running) {
            // seen_cpu_ns_ is from the first check that saw this turn running.
            Nanoseconds used(now - turns->seen_cpu_ns_);
            if (turns->overrun_max_.count() > 0 && used >= turns->limit_ + turns->overrun_max_)
                end_process();
            // After the script was terminated, C++ goes on with the turn and may call more script:
            // describing an error does.
            if (state == WatchedTurns::Terminated) turns->terminate(word);
            continue;
        }
        if (word != turns->seen_) {
            turns->seen_ = word;
            turns->seen_cpu_ns_ = now;
        } else if (now - turns->seen_cpu_ns_ >= turns->limit_.count()) {
            turns->terminate(word);
        } else if (turns->on_long_) {
            turns->on_long_();
        }
    }
    return runs;
}

}  // namespace weft::js
