#include "weft/fiber/graceful_stop.h"

#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/base/log.h"
#include "weft/base/spin_lock.h"
#include "weft/fiber/blocking.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/os/signal.h"
#include "weft/fiber/report/dump.h"
#include "weft/fiber/runtime.h"
#include "weft/fiber/schedule/scheduler.h"
#include "weft/fiber/schedule/worker.h"
#include "weft/fiber/wait/lent_wait.h"

namespace weft {

struct StopEntry {
    enum class State : std::uint8_t { Registered, Running, Over };

    std::function<Result<void>()> close;
    // The next two are guarded by the lock of the StopState.
    State state = State::Registered;
    const Fiber* caller = nullptr;  // while it runs
    LentWait ended;                 // completed when it has run
};

namespace {

Result<void> call(StopEntry& entry) {
    try {
        return entry.close();
    } catch (...) {
        return Error::from_current_exception();
    }
}

// Errors are ignored: nothing can be done about a closed stderr.
void write_to_stderr(const std::string& text) {
    static_cast<void>(!write(STDERR_FILENO, text.data(), text.size()));
}

// The hooks of a stop, and how far the drain has got. It is apart from StopSignals because the
// drain's fiber owns it as well, and the last owner of StopSignals must not be a fiber or a thread
// for which the destructor of a signal hook waits.
class StopState : public std::enable_shared_from_this<StopState> {
public:
    StopState(Scheduler& stopped, StopOptions how) : scheduler_(stopped), options_(how) {}

    // Returns how often it was called before; the first call begins the drain.
    unsigned begin();
    Nanoseconds time_to_end() const { return options_.drain + options_.unwinding; }
    void report_what_is_stuck() const;
    void cancel() {
        log(LogLevel::Info, "stopping: told twice, so everything is cancelled");
        scheduler_.cancel_all();
    }
    void add(std::shared_ptr<StopEntry> entry);
    void take_back(StopEntry& entry);
    bool has_begun() const {
        SpinGuard guard(lock_);
        return times_begun_ != 0;
    }

private:
    template <class Function>
    void spawn(std::string_view name, fiber_internal::Counted counted, Function&& function);
    void give_up_draining(const Error& reason);
    void start_drain();
    void drain();
    std::shared_ptr<StopEntry> take_newest();

    Scheduler& scheduler_;
    const StopOptions options_;
    mutable SpinLock lock_;  // guards all that follows
    std::vector<std::shared_ptr<StopEntry>> entries_;
    unsigned times_begun_ = 0;
    bool drains_ = false;  // a fiber calls the entries, or is about to
};

constexpr unsigned kReportSecondsMax = 5;

// Unblocks the signal in this thread.
void let_through(int signal) {
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, signal);
    ::pthread_sigmask(SIG_UNBLOCK, &own, nullptr);
}

[[noreturn]] void end_by(int signal) {
    ::signal(signal, SIG_DFL);
    let_through(signal);
    ::raise(signal);
    ::_exit(128 + signal);
}

unsigned StopState::begin() {
    unsigned times = 0;
    std::size_t hooks = 0;
    {
        SpinGuard guard(lock_);
        times = times_begun_++;
        hooks = entries_.size();
        if (times == 0) drains_ = true;
    }
    if (times > 0) return times;
    scheduler_.stop_slot().keep();
    log(LogLevel::Info, "stopping: {} hooks to call, then at most {} ms to drain", hooks,
        std::chrono::duration_cast<std::chrono::milliseconds>(options_.drain).count());
    start_drain();
    return times;
}

void StopState::report_what_is_stuck() const {
    log(LogLevel::Error,
        "stopping: {} fibers and {} blocking calls did not end when they were cancelled, so the "
        "process ends without them",
        scheduler_.live(false), scheduler_.blocking().in_flight());
    write_to_stderr(dump_fibers());
}

// Starts a fiber that only the end of the runtime cancels, whatever the caller's token is. Without
// memory for it, or in a runtime that is cancelled already, there is no drain: everything is
// cancelled at once.
template <class Function>
void StopState::spawn(std::string_view name, fiber_internal::Counted counted, Function&& function) {
    Error error = ErrorKind::Other;
    SpawnOptions how{.name = name, .token = &scheduler_.root()};
    fiber_internal::BodyWithFallback duty{
        std::forward<Function>(function),
        [self = shared_from_this()](const Error& reason) { self->give_up_draining(reason); }};
    Result<void> ready = scheduler_.start();
    if (!ready) error = ready.error();
    if (!ready || !fiber_internal::start(&scheduler_, how, counted, fiber_internal::Joinable::No,
                                         std::move(duty), error))
        give_up_draining(error);
}

void StopState::give_up_draining(const Error& reason) {
    if (reason.kind() == ErrorKind::OutOfMemory)
        log(LogLevel::Warn, "stopping: no memory to drain, so everything is cancelled");
    scheduler_.cancel_all();
}

void StopState::start_drain() {
    auto call_hooks = [self = shared_from_this()] { self->drain(); };
    auto limit = [target = &scheduler_, time = options_.drain] {
        // If the sleep ends early, the runtime is ending anyway.
        if (sleep_for(time)) target->cancel_all();
    };
    // First, so that the time limit also covers the hooks: one of them may wait for ever.
    spawn("drain limit", fiber_internal::Counted::No, std::move(limit));
    spawn("drain", fiber_internal::Counted::Yes, std::move(call_hooks));
}

std::shared_ptr<StopEntry> StopState::take_newest() {
    SpinGuard guard(lock_);
    if (entries_.empty()) {
        drains_ = false;
        return nullptr;
    }
    std::shared_ptr<StopEntry> entry = std::move(entries_.back());
    entries_.pop_back();
    WEFT_ASSERT(entry->state == StopEntry::State::Registered, "a hook is called once");
    entry->state = StopEntry::State::Running;
    entry->caller = weft::current();
    return entry;
}

void StopState::drain() {
    while (std::shared_ptr<StopEntry> entry = take_newest()) {
        Result<void> outcome = call(*entry);
        if (!outcome)
            log(LogLevel::Warn, "a function of on_drain() failed: {}", outcome.error().message());
        entry->close = nullptr;  // destroys its captures before its hook is told of the end
        {
            SpinGuard guard(lock_);
            WEFT_ASSERT(entry->state == StopEntry::State::Running, "a hook ends after its call");
            entry->state = StopEntry::State::Over;
            entry->caller = nullptr;
        }
        entry->ended.complete();
    }
}

void StopState::add(std::shared_ptr<StopEntry> entry) {
    bool start = false;
    {
        SpinGuard guard(lock_);
        entries_.push_back(std::move(entry));
        start = times_begun_ != 0 && !std::exchange(drains_, true);
    }
    if (start)
        spawn("drain", fiber_internal::Counted::Yes,
              [self = shared_from_this()] { self->drain(); });
}

void StopState::take_back(StopEntry& entry) {
    std::shared_ptr<StopEntry> removed;  // destroyed after the lock is released
    {
        SpinGuard guard(lock_);
        if (entry.state == StopEntry::State::Registered) {
            auto place = entries_.begin();
            while (place != entries_.end() && place->get() != &entry) ++place;
            WEFT_ASSERT(place != entries_.end(), "a registered hook is in the list");
            removed = std::move(*place);
            entries_.erase(place);
            return;
        }
        if (entry.caller && entry.caller == weft::current()) return;
    }
    entry.ended.wait_to_the_end(WaitReason::Job, &entry);
}

}  // namespace

struct StopSignals {
    StopSignals(Scheduler& scheduler, StopOptions options)
        : state(std::make_shared<StopState>(scheduler, options)) {}

    Result<void> open();
    void on_signal(int signal);
    void end_the_process();

    // Owners: this, and the fiber that drains.
    const std::shared_ptr<StopState> state;
    bool was_told = false;  // used by the signal thread only
    // Last, so destroyed first: they use the state, and the other two use `dump`.
    std::optional<SignalHook> dump;
    std::optional<SignalHook> terminate;
    std::optional<SignalHook> interrupt;
};

Result<void> StopSignals::open() {
    if (env::current()) return {};
    auto stop = [this](int signal) { on_signal(signal); };
    dump = WEFT_TRY(SignalHook::open(SIGUSR1, [](int) { write_to_stderr(dump_fibers()); }));
    terminate = WEFT_TRY(SignalHook::open(SIGTERM, stop));
    interrupt = WEFT_TRY(SignalHook::open(SIGINT, stop));
    return {};
}

// On the signal thread, because all workers may be stuck.
void StopSignals::on_signal(int signal) {
    if (std::exchange(was_told, true)) {
        log(LogLevel::Warn, "stopping: told again, so the process ends at once");
        end_by(signal);
    }
    static_cast<void>(state->begin());
    dump->call_at(Deadline::after(state->time_to_end()), [this] { end_the_process(); });
}

void StopSignals::end_the_process() {
    // A stuck thread may hold a lock that the report needs: if it takes too long, the kernel ends
    // the process.
    ::signal(SIGALRM, SIG_DFL);
    let_through(SIGALRM);
    ::alarm(kReportSecondsMax);
    state->report_what_is_stuck();
    ::_exit(EXIT_FAILURE);
}

DrainHook::DrainHook(std::shared_ptr<StopSignals> signals, std::shared_ptr<StopEntry> entry)
    : signals_(std::move(signals)), entry_(std::move(entry)) {}

void DrainHook::take_back() noexcept {
    if (!entry_) return;
    signals_->state->take_back(*entry_);
    entry_ = nullptr;
    signals_ = nullptr;
}

static Error no_runtime() {
    return Error(ErrorKind::NoRuntime, "a graceful stop needs a fiber around it, or a Runtime");
}

Result<GracefulStop> GracefulStop::open(Scheduler& scheduler, StopOptions options) {
    auto signals = std::make_shared<StopSignals>(scheduler, options);
    WEFT_TRY(signals->open());
    if (!scheduler.stop_slot().put_if_empty(signals)) {
        return Error(ErrorKind::Misuse,
                     "this runtime has a GracefulStop already: take GracefulStop::current()");
    }
    return GracefulStop(std::move(signals));
}

Result<GracefulStop> GracefulStop::on_signals(Runtime& runtime, StopOptions options) {
    Scheduler* scheduler = Scheduler::above(*runtime.root().state());
    return scheduler ? open(*scheduler, options) : Result<GracefulStop>(no_runtime());
}

Result<GracefulStop> GracefulStop::on_signals(StopOptions options) {
    Worker* worker = this_worker();
    return worker ? open(worker->scheduler(), options) : Result<GracefulStop>(no_runtime());
}

Result<GracefulStop> GracefulStop::current() {
    Worker* worker = this_worker();
    if (!worker) return no_runtime();
    Scheduler& scheduler = worker->scheduler();
    for (;;) {
        if (auto signals = scheduler.stop_slot().get()) return GracefulStop(std::move(signals));
        Result<GracefulStop> opened = open(scheduler, {});
        // Another fiber was first.
        if (opened || opened.error().kind() != ErrorKind::Misuse) return opened;
    }
}

DrainHook GracefulStop::add(std::function<Result<void>()> close) {
    auto entry = std::make_shared<StopEntry>();
    entry->close = std::move(close);
    signals_->state->add(entry);
    return DrainHook(signals_, std::move(entry));
}

void GracefulStop::begin() {
    if (signals_->state->begin() > 0) signals_->state->cancel();
}

bool GracefulStop::has_begun() const { return signals_->state->has_begun(); }

}  // namespace weft
