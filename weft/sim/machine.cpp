#include "weft/sim/machine.h"

#include <algorithm>

#include "weft/base/assert.h"
#include "weft/base/error.h"
#include "weft/base/format.h"
#include "weft/fiber/dump.h"
#include "weft/fiber/turn.h"
#include "weft/sim/descriptors.h"

namespace weft::sim {
namespace {

constexpr std::size_t kThreadStackBytes = 256 * 1024;
constexpr std::int64_t kStepNs = 20;
constexpr std::size_t kTailEvents = 400;
constexpr std::uint64_t kSpinsMax = 200'000;
constexpr std::uint64_t kInterruptWithin = 3000;  // steps; most scenarios are shorter

bool drawn(bool wanted, Random& random) { return wanted && random.once_in(4); }

Faults draw(const Faults& wanted, Random& random) {
    Faults faults;
    faults.short_transfers = drawn(wanted.short_transfers, random);
    faults.would_block = drawn(wanted.would_block, random);
    faults.spurious_readiness = drawn(wanted.spurious_readiness, random);
    faults.delays = drawn(wanted.delays, random);
    faults.pauses = drawn(wanted.pauses, random);
    faults.allocation = drawn(wanted.allocation, random);
    faults.resets = drawn(wanted.resets, random);
    faults.connects = drawn(wanted.connects, random);
    faults.descriptors = drawn(wanted.descriptors, random);
    return faults;
}

}  // namespace

Machine::Machine(const Options& options)
    : options_(options),
      scheduler_random_(options.seed * 4 + 1),
      fault_random_(options.seed * 4 + 2),
      workload_random_(options.seed * 4 + 3),
      choice_(options.chooser, options.seed * 4),
      faults_(draw(options.faults, fault_random_)),
      interrupt_at_(1 + fault_random_.below(kInterruptWithin)),
      descriptors_(std::make_unique<DescriptorTable>(*this)),
      block_depot_(fiber_blocks::take_simulated()) {
    if (options.interrupt_at != 0) interrupt_at_ = options.interrupt_at;
}

Machine::~Machine() {
    io_tables::forget(*this);
    fiber_blocks::put_simulated(block_depot_);
}

Report Machine::run(const std::function<void()>& scenario) {
    WEFT_ASSERT(!env::current(), "simulations do not nest");
    auto call = [](void* function) { (*static_cast<const std::function<void()>*>(function))(); };
    start_thread(call, const_cast<void*>(static_cast<const void*>(&scenario)), "main");
    ThreadState own = ThreadState::save();
    current_ = 0;
    env::current_env = this;
    weft_turn_left = 1;  // each operation is a step
    SavedContext::change(driver_, threads_[0].context);
    own.restore();
    weft_turn_left = 1;
    env::current_env = nullptr;
    for (Thread& thread : threads_) stacks::put(thread.stack);

    Report report;
    report.seed = options_.seed;
    report.steps = steps_;
    report.trace_hash = hash_;
    report.virtual_ns = now_ns_;
    report.injected = injected_;
    report.failure = failure_;
    if (options_.keep_trace || !failure_.empty()) {
        for (std::size_t i = 0; i < events_.size(); ++i) {
            const Event& event = events_[(events_next_ + i) % events_.size()];
            report.trace.push_back(format("{:>7} {:<8} {} {} {}", event.step,
                                          threads_[event.thread].name, event.name, event.a,
                                          event.b));
        }
    }
    return report;
}

void Machine::thread_main(void* machine) {
    SavedContext::entered();
    auto& self = *static_cast<Machine*>(machine);
    Thread& thread = self.threads_[self.current_];
    thread.entry(thread.argument);
    self.threads_[self.current_].ended = true;
    self.wake(&thread);
    bool all_ended = std::ranges::all_of(self.threads_, &Thread::ended);
    if (all_ended) self.leave_for_ever();
    std::erase(self.runnable_, self.current_);
    self.hand_over(-1);
    WEFT_UNREACHABLE();
}

// Back to the real thread; nothing of the simulation runs again.
void Machine::leave_for_ever() {
    SavedContext::change(threads_[current_].context, driver_, SavedContext::Leave::ForEver);
    WEFT_UNREACHABLE();
}

void Machine::fail(const std::string& why) {
    failure_ = why;
    leave_for_ever();
}

// ---------------------------------------------------------------- choosing

void Machine::step() {
    if (hidden_ != 0) return;
    ++steps_;
    now_ns_ += kStepNs;
    if (steps_ > options_.steps_max)
        fail(format("no end after {} steps\n{}", steps_, describe_threads()));
    if (faults_.pauses && fault_random_.once_in(2000)) {
        ++injected_.pauses;
        now_ns_ += static_cast<std::int64_t>(fault_random_.below(8'000'000));
    }
    if (steps_ == interrupt_at_) [[unlikely]]
        interrupt();
    bool reconsider = std::exchange(changed_, false) && choice_.chooser() == Chooser::Priorities;
    if (choice_.interrupts(current_) || reconsider) hand_over(-1);
}

bool Machine::operation(const char*, const void*, MayWait may_wait) {
    if (hidden_ != 0) return false;
    step();
    return may_wait == MayWait::Yes && choice_.ends_turn();
}

void Machine::spin() {
    if (hidden_ != 0) return;  // another real thread has the pool
    ++steps_;
    now_ns_ += kStepNs;
    if (runnable_.size() == 1 && ++spins_ > kSpinsMax)
        fail("a thread spins for ever\n" + describe_threads());
    // Alone, it can only wait for time to pass.
    if (runnable_.size() == 1 && spins_ % 64 == 0) static_cast<void>(wake_the_earliest());
    if (steps_ > options_.steps_max)
        fail(format("no end after {} steps\n{}", steps_, describe_threads()));
    if (steps_ == interrupt_at_) [[unlikely]]
        interrupt();
    hand_over(static_cast<int>(current_));
}

void Machine::hand_over(int stuck) {
    while (runnable_.empty()) {
        if (wake_the_earliest() || wake(&interrupt_at_) != 0) continue;
        fail("deadlock\n" + describe_threads());
    }
    unsigned next = choice_.pick(runnable_, stuck);
    if (next == current_ && !threads_[current_].ended) return;
    spins_ = 0;
    note("run", next, 0);
    change_to(next, threads_[current_].ended ? SavedContext::Leave::ForEver
                                             : SavedContext::Leave::ToReturn);
}

void Machine::change_to(unsigned index, SavedContext::Leave leave) {
    Thread& from = threads_[current_];
    Thread& to = threads_[index];
    from.state = ThreadState::save();
    current_ = index;
    to.state.restore();
    SavedContext::change(from.context, to.context, leave);
}

// Nobody can run: the clock jumps. False if nobody waits for a time either.
bool Machine::wake_the_earliest() {
    std::int64_t earliest = kNeverNs;
    for (const Thread& thread : threads_) {
        if (!thread.ended && thread.sleeps_on) earliest = std::min(earliest, thread.deadline_ns);
    }
    if (earliest == kNeverNs) return false;
    now_ns_ = std::max(now_ns_, earliest);
    for (unsigned i = 0; i < threads_.size(); ++i) {
        Thread& thread = threads_[i];
        if (thread.ended || !thread.sleeps_on || thread.deadline_ns > now_ns_) continue;
        thread.sleeps_on = nullptr;
        thread.timed_out = true;
        runnable_.insert(std::ranges::upper_bound(runnable_, i), i);
    }
    return true;
}

void Machine::await_interrupt() {
    if (steps_ < interrupt_at_) sleep(&interrupt_at_, kNeverNs);
}

// Whoever awaits this step runs now.
void Machine::interrupt() {
    for (unsigned i = 0; i < threads_.size(); ++i) {
        if (threads_[i].ended || threads_[i].sleeps_on != &interrupt_at_) continue;
        wake(&interrupt_at_);
        note("interrupt", i, 0);
        return change_to(i);
    }
}

void Machine::sleep(const void* on, std::int64_t deadline_ns) {
    Thread& thread = threads_[current_];
    thread.sleeps_on = on;
    thread.deadline_ns = deadline_ns;
    thread.timed_out = false;
    std::erase(runnable_, current_);
    note("sleep", current_, 0);
    hand_over(-1);
}

unsigned Machine::wake(const void* on, unsigned count) {
    std::vector<unsigned> sleepers;
    for (unsigned i = 0; i < threads_.size(); ++i) {
        if (!threads_[i].ended && threads_[i].sleeps_on == on) sleepers.push_back(i);
    }
    unsigned woken = 0;
    for (; woken < count && !sleepers.empty(); ++woken) {
        std::size_t at = scheduler_random_.below(sleepers.size());
        unsigned index = sleepers[at];
        sleepers.erase(sleepers.begin() + static_cast<std::ptrdiff_t>(at));
        threads_[index].sleeps_on = nullptr;
        runnable_.insert(std::ranges::upper_bound(runnable_, index), index);
        changed_ = true;
        note("wake", index, 0);
    }
    return woken;
}

// ---------------------------------------------------------------- Env

std::int64_t Machine::now_ns() { return now_ns_; }

std::uint64_t Machine::random(RandomStream stream) {
    switch (stream) {
    case RandomStream::Scheduler: return scheduler_random_.next();
    case RandomStream::Faults: return fault_random_.next();
    case RandomStream::Workload:
    case RandomStream::Secret: return workload_random_.next();
    }
    WEFT_UNREACHABLE();
}

bool Machine::fails(Allocation) {
    if (hidden_ != 0 || !faults_.allocation || !fault_random_.once_in(4)) return false;
    ++injected_.allocation;
    return true;
}

EnvThread Machine::start_thread(void (*entry)(void*), void* argument, const char* name) {
    Result<Stack*> stack = stacks::take(stacks::size_class_for(kThreadStackBytes));
    WEFT_ASSERT(stack.has_value(), "no memory for the stack of a simulated thread");
    auto index = static_cast<unsigned>(threads_.size());
    Thread& thread = threads_.emplace_back();
    thread.stack = *stack;
    thread.entry = entry;
    thread.argument = argument;
    thread.name = format("{}.{}", name, index);
    thread.context.prepare(thread.stack->bounds(), thread_main, this,
                           thread.stack->sanitizer_fiber);
    runnable_.push_back(index);
    note("start", index, 0);
    changed_ = true;
    return EnvThread{index};
}

void Machine::join_thread(EnvThread thread) {
    Thread& other = threads_[thread.handle];
    while (!other.ended) sleep(&other, kNeverNs);
}

FutexWait Machine::futex_wait(std::uint32_t* word, std::uint32_t expected,
                              std::int64_t deadline_ns) {
    step();
    if (*word != expected) return FutexWait::Woken;
    if (deadline_ns <= now_ns_) return FutexWait::TimedOut;
    sleep(word, deadline_ns);
    return threads_[current_].timed_out ? FutexWait::TimedOut : FutexWait::Woken;
}

void Machine::futex_wake(std::uint32_t* word, unsigned count) {
    wake(word, count);
    step();
}

Reactor* Machine::make_reactor() { return descriptors_->make_reactor().release(); }

long Machine::read(int fd, void* buffer, std::size_t size) {
    step();
    return descriptors_->read(fd, buffer, size);
}

long Machine::write(int fd, const void* buffer, std::size_t size) {
    step();
    return descriptors_->write(fd, buffer, size);
}

int Machine::pipe(int (&ends)[2]) { return descriptors_->pipe(ends); }

EnvSockets& Machine::sockets() { return *descriptors_; }

int Machine::close(int fd) {
    step();
    return descriptors_->close(fd);
}

// ---------------------------------------------------------------- the trace

void Machine::trace(const char* event, std::uint64_t a, std::uint64_t b) { note(event, a, b); }

// Hashes what happened, never an address or a payload.
void Machine::note(const char* event, std::uint64_t a, std::uint64_t b) {
    auto mix = [this](std::uint64_t value) { hash_ = (hash_ ^ value) * 0x100000001b3U; };
    for (const char* c = event; *c; ++c) mix(static_cast<unsigned char>(*c));
    mix(current_);
    mix(a);
    mix(b);
    mix(steps_);
    keep(event, a, b);
}

// Not hashed: how much is logged is up to WEFT_LOG.
void Machine::log(std::string_view line) {
    if (!options_.keep_trace) return;
    keep(log_lines_.emplace_back(line).c_str(), 0, 0);
}

void Machine::keep(const char* event, std::uint64_t a, std::uint64_t b) {
    Event entry{steps_, a, b, event, current_};
    if (options_.keep_trace || events_.size() < kTailEvents) {
        events_.push_back(entry);
    } else {
        events_[events_next_] = entry;
        events_next_ = (events_next_ + 1) % events_.size();
    }
}

std::string Machine::describe_threads() {
    hide();
    std::string text;
    for (const Thread& thread : threads_) {
        if (thread.ended) continue;
        text += format("  thread {}: {}\n", thread.name, thread.sleeps_on ? "sleeps" : "can run");
    }
    return text + dump_fibers(Backtraces::No);
}

}  // namespace weft::sim
