#include "weft/fiber/os/signal.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/atomic.h"
#include "weft/base/env.h"
#include "weft/base/sanitizer.h"
#include "weft/base/spin_lock.h"
#include "weft/fiber/waiter.h"

namespace weft {

struct SignalWatch::State {
    std::uint64_t signals = 0;  // a bit for each signal, as everywhere in this file
    std::uint64_t pending = 0;
    bool waiting = false;
    WaitRef waiter;
    State* next = nullptr;          // of all watches
    State* next_claimed = nullptr;  // of those to be resumed
};

struct SignalHook::State {
    int signal = 0;
    std::function<void(int signal)> callback;
    Deadline alarm = Deadline::never();
    std::function<void()> on_alarm;
    bool calling = false;
    State* next = nullptr;
};

namespace {

constexpr int kSignalMax = 64;
constexpr std::int64_t kPollMsMax = 3'600'000;

constexpr std::uint64_t bit_of(int signal) { return std::uint64_t{1} << (signal - 1); }

// One for the process. It has no destructor, because a handler may run late. Any thread.
class SignalDispatcher {
public:
    Result<void> acquire(std::uint64_t signals);
    void release(std::uint64_t signals);

    void add(SignalWatch::State& watch);
    void remove(SignalWatch::State& watch);
    Result<int> wait(SignalWatch::State& watch, Deadline deadline);

    void add(SignalHook::State& hook);
    void remove(SignalHook::State& hook);
    void call_at(SignalHook::State& hook, Deadline deadline, std::function<void()> callback);

    bool is_used();

    // Called in a signal handler.
    void record_arrival(int signal);

private:
    template <class State>
    static void unlink(State*& first, State& state);
    Result<void> start();
    void wake_thread();
    Result<void> install(int signal);
    void refresh_mask();
    void tell_watches(std::uint64_t signals);
    void call_hooks(std::uint64_t signals);
    bool sleep();
    Deadline next_alarm();
    void call_alarms();
    static void thread_main(void* dispatcher);

    Atomic<std::uint64_t> arrived_{0};  // signals that the thread has not handled yet
    Atomic<int> pipe_writer_{-1};
    SpinLock start_lock_;
    int pipe_reader_ = -1;  // written under start_lock_; then read by the thread only
    SpinLock lock_;         // guards all that follows, and all states
    std::array<unsigned, kSignalMax + 1> users_{};
    std::array<struct sigaction, kSignalMax + 1> former_{};
    SignalWatch::State* watches_ = nullptr;
    SignalHook::State* hooks_ = nullptr;
};
constinit SignalDispatcher dispatcher;  // tidy: allow global: signals belong to the process

extern "C" void weft_on_signal(int signal) {
    int before = errno;
    dispatcher.record_arrival(signal);
    errno = before;
}

void SignalDispatcher::record_arrival(int signal) {
    // Release: the mark must be visible before the byte.
    arrived_.fetch_or(bit_of(signal), std::memory_order_release);
    wake_thread();
}

void SignalDispatcher::wake_thread() {
    char byte = 0;
    // A full pipe wakes the thread as well. Acquire: pairs with start(), which has started the
    // thread.
    static_cast<void>(!::write(pipe_writer_.load(std::memory_order_acquire), &byte, 1));
}

bool SignalDispatcher::is_used() {
    SpinGuard guard(lock_);
    return watches_ || hooks_;
}

Result<void> SignalDispatcher::start() {
    if (env::current()) return Error(ErrorKind::Unavailable, "a simulated machine has no signals");
    // The spin lock is held over a few system calls, but only once in the life of the process.
    SpinGuard guard(start_lock_);
    // Relaxed: written under the lock only.
    if (pipe_writer_.load(std::memory_order_relaxed) >= 0) return {};
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return Error::from_errno(errno);
    ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
    pipe_reader_ = ends[0];
    if (env::start_thread(thread_main, this, "weft-signal").handle == 0) {
        ::close(ends[0]);
        ::close(ends[1]);
        return Error(ErrorKind::OutOfMemory, "no thread for signals could be started");
    }
    // Release: pairs with wake_thread().
    pipe_writer_.store(ends[1], std::memory_order_release);
    return {};
}

Result<void> SignalDispatcher::install(int signal) {
    WEFT_DASSERT(lock_.is_locked());
    WEFT_DASSERT(signal >= 1 && signal <= kSignalMax, "bits_of() refuses other numbers");
    auto index = static_cast<std::size_t>(signal);
    if (users_[index]++ != 0) return {};
    struct sigaction action{};
    action.sa_handler = weft_on_signal;
    // On the alternate stack, if the thread has one: the interrupted stack may be that of a fiber.
    action.sa_flags = SA_ONSTACK;
    // The thread sanitizer calls the handler only after the interrupted call has returned.
    if (!sanitizer::has_tsan()) action.sa_flags |= SA_RESTART;
    sigfillset(&action.sa_mask);
    if (::sigaction(signal, &action, &former_[index]) == 0) return {};
    --users_[index];
    return Error::from_errno(errno);
}

Result<void> SignalDispatcher::acquire(std::uint64_t signals) {
    WEFT_TRY(start());
    std::uint64_t installed = 0;
    Result<void> result;
    {
        SpinGuard guard(lock_);
        for (int signal = 1; signal <= kSignalMax && result; ++signal) {
            if (!(signals & bit_of(signal))) continue;
            result = install(signal);
            if (result) installed |= bit_of(signal);
        }
    }
    if (!result) {
        release(installed);
        return result;
    }
    wake_thread();  // it unblocks these signals, in case all other threads block them
    return {};
}

void SignalDispatcher::release(std::uint64_t signals) {
    {
        SpinGuard guard(lock_);
        for (int signal = 1; signal <= kSignalMax; ++signal) {
            if (!(signals & bit_of(signal))) continue;
            auto index = static_cast<std::size_t>(signal);
            WEFT_ASSERT(users_[index] > 0, "a signal is released as often as it was acquired");
            if (--users_[index] == 0) ::sigaction(signal, &former_[index], nullptr);
        }
    }
    wake_thread();
}

template <class State>
void SignalDispatcher::unlink(State*& first, State& state) {
    State** place = &first;
    while (*place != &state) place = &(*place)->next;
    *place = state.next;
}

void SignalDispatcher::add(SignalWatch::State& watch) {
    SpinGuard guard(lock_);
    watch.next = watches_;
    watches_ = &watch;
}

void SignalDispatcher::remove(SignalWatch::State& watch) {
    SpinGuard guard(lock_);
    WEFT_ASSERT(!watch.waiting, "a signal watch ended during a wait on it");
    unlink(watches_, watch);
}

void SignalDispatcher::add(SignalHook::State& hook) {
    SpinGuard guard(lock_);
    hook.next = hooks_;
    hooks_ = &hook;
}

void SignalDispatcher::remove(SignalHook::State& hook) {
    for (unsigned attempt = 0;; ++attempt) {
        {
            SpinGuard guard(lock_);
            if (!hook.calling) return unlink(hooks_, hook);
        }
        env::spin_pause(attempt);
    }
}

Result<int> SignalDispatcher::wait(SignalWatch::State& watch, Deadline deadline) {
    auto take = [&] {
        int signal = std::countr_zero(watch.pending) + 1;
        watch.pending &= ~bit_of(signal);
        return signal;
    };
    lock_.lock();
    if (watch.pending != 0 || watch.waiting) {
        bool misused = watch.waiting;
        int signal = misused ? 0 : take();
        lock_.unlock();
        if (misused) return Error(ErrorKind::Misuse, "a signal watch has one waiter at a time");
        return signal;
    }
    Waiter waiter(WaitReason::Signal, &watch);
    watch.waiter = waiter.ref();
    watch.waiting = true;
    lock_.unlock();
    Wake wake = waiter.wait(deadline);
    Result<void> waited = waiter.to_result(wake);
    SpinGuard guard(lock_);
    watch.waiting = false;
    if (watch.pending != 0) return take();
    if (!waited) return waited.error();
    WEFT_UNREACHABLE();
}

void SignalDispatcher::thread_main(void* argument) {
    auto& self = *static_cast<SignalDispatcher*>(argument);
    int reader = self.pipe_reader_;
    char bytes[64];
    for (;;) {
        self.refresh_mask();
        if (!self.sleep()) {
            self.call_alarms();
            continue;
        }
        if (env::real::read(reader, bytes, sizeof bytes) <= 0) return;
        // Acquire: pairs with record_arrival().
        std::uint64_t signals = self.arrived_.exchange(0, std::memory_order_acquire);
        if (signals == 0) continue;
        self.tell_watches(signals);
        self.call_hooks(signals);
    }
}

// False: the deadline of an alarm came before a signal.
bool SignalDispatcher::sleep() {
    Deadline until = next_alarm();
    int milliseconds = -1;
    if (!until.is_never()) {
        auto left = std::chrono::ceil<std::chrono::milliseconds>(until.remaining(Clock::now()));
        milliseconds = static_cast<int>(std::min<std::int64_t>(left.count(), kPollMsMax));
    }
    pollfd wanted{.fd = pipe_reader_, .events = POLLIN, .revents = 0};
    int ready = ::poll(&wanted, 1, milliseconds);
    // Interrupted by a signal (-1): its byte is in the pipe.
    return ready != 0;
}

Deadline SignalDispatcher::next_alarm() {
    SpinGuard guard(lock_);
    Deadline next = Deadline::never();
    for (SignalHook::State* hook = hooks_; hook; hook = hook->next)
        next = std::min(next, hook->alarm);
    return next;
}

// Walks the list like call_hooks().
void SignalDispatcher::call_alarms() {
    Instant now = Clock::now();
    lock_.lock();
    for (SignalHook::State* hook = hooks_; hook; hook = hook->next) {
        if (!hook->alarm.expired(now)) continue;
        hook->alarm = Deadline::never();
        WEFT_ASSERT(!hook->calling, "hooks are called by one thread, one after the other");
        hook->calling = true;
        lock_.unlock();
        hook->on_alarm();
        lock_.lock();
        hook->calling = false;
    }
    lock_.unlock();
}

void SignalDispatcher::call_at(SignalHook::State& hook, Deadline deadline,
                               std::function<void()> callback) {
    {
        SpinGuard guard(lock_);
        hook.alarm = deadline;
        std::swap(hook.on_alarm, callback);
    }
    wake_thread();
}

void SignalDispatcher::refresh_mask() {
    sigset_t others;
    sigfillset(&others);
    {
        SpinGuard guard(lock_);
        for (int signal = 1; signal <= kSignalMax; ++signal) {
            if (users_[static_cast<std::size_t>(signal)] != 0) sigdelset(&others, signal);
        }
    }
    for (int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT})
        sigdelset(&others, own);
    ::pthread_sigmask(SIG_SETMASK, &others, nullptr);
}

void SignalDispatcher::tell_watches(std::uint64_t signals) {
    SignalWatch::State* claimed = nullptr;
    {
        SpinGuard guard(lock_);
        for (SignalWatch::State* watch = watches_; watch; watch = watch->next) {
            watch->pending |= signals & watch->signals;
            if (watch->pending == 0 || !watch->waiting) continue;
            if (!watch->waiter.try_claim(Wake::Ready)) continue;
            watch->next_claimed = claimed;
            claimed = watch;
        }
    }
    while (SignalWatch::State* watch = claimed) {
        claimed = watch->next_claimed;
        WaitRef waiter = watch->waiter;  // a copy: the waiter may destroy the watch once resumed
        waiter.resume();
    }
}

// The lock is released during a call. A hook that is being called stays in the list, because
// remove() waits for the call, so the walk can go on from it.
void SignalDispatcher::call_hooks(std::uint64_t signals) {
    lock_.lock();
    for (SignalHook::State* hook = hooks_; hook; hook = hook->next) {
        if (!(signals & bit_of(hook->signal))) continue;
        WEFT_ASSERT(!hook->calling, "hooks are called by one thread, one after the other");
        hook->calling = true;
        lock_.unlock();
        hook->callback(hook->signal);
        lock_.lock();
        hook->calling = false;
    }
    lock_.unlock();
}

Result<std::uint64_t> bits_of(std::initializer_list<int> signals) {
    std::uint64_t bits = 0;
    for (int signal : signals) {
        if (signal < 1 || signal > kSignalMax) return Error::from_errno(EINVAL);
        bits |= bit_of(signal);
    }
    if (bits == 0) return Error(ErrorKind::Misuse, "a watch for no signal");
    return bits;
}

}  // namespace

Result<SignalWatch> SignalWatch::open(std::initializer_list<int> signals) {
    auto state = std::make_unique<State>();
    state->signals = WEFT_TRY(bits_of(signals));
    // In the list before the handler is installed, so that no signal is lost.
    dispatcher.add(*state);
    if (Result<void> acquired = dispatcher.acquire(state->signals); !acquired) {
        dispatcher.remove(*state);
        return acquired.error();
    }
    return SignalWatch(std::move(state));
}

SignalWatch::SignalWatch(std::unique_ptr<State> state) : state_(std::move(state)) {}
SignalWatch::SignalWatch(SignalWatch&&) noexcept = default;

SignalWatch& SignalWatch::operator=(SignalWatch&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
}

SignalWatch::~SignalWatch() {
    if (!state_) return;
    dispatcher.release(state_->signals);
    dispatcher.remove(*state_);
}

Result<int> SignalWatch::wait(Deadline deadline) {
    if (!state_) return ErrorKind::Closed;
    return dispatcher.wait(*state_, deadline);
}

bool signals_are_watched() { return dispatcher.is_used(); }

Result<int> wait_for_signal(std::initializer_list<int> signals, Deadline deadline) {
    SignalWatch watch = WEFT_TRY(SignalWatch::open(signals));
    return watch.wait(deadline);
}

Result<SignalHook> SignalHook::open(int signal, std::function<void(int signal)> callback) {
    std::uint64_t bits = WEFT_TRY(bits_of({signal}));
    auto state = std::make_unique<State>();
    state->signal = signal;
    state->callback = std::move(callback);
    dispatcher.add(*state);
    if (Result<void> acquired = dispatcher.acquire(bits); !acquired) {
        dispatcher.remove(*state);
        return acquired.error();
    }
    return SignalHook(std::move(state));
}

SignalHook::SignalHook(std::unique_ptr<State> state) : state_(std::move(state)) {}
SignalHook::SignalHook(SignalHook&&) noexcept = default;

SignalHook& SignalHook::operator=(SignalHook&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
}

void SignalHook::call_at(Deadline deadline, std::function<void()> callback) {
    dispatcher.call_at(*state_, deadline, std::move(callback));
}

SignalHook::~SignalHook() {
    if (!state_) return;
    dispatcher.release(bit_of(state_->signal));
    dispatcher.remove(*state_);
}

}  // namespace weft
