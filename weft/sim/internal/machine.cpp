#include "weft/sim/internal/machine.h"

#include <algorithm>

#include "weft/base/assert.h"
#include "weft/base/error.h"
#include "weft/base/format.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/report/symbols.h"
#include "weft/fiber/turn.h"
#include "weft/fiber/waiter.h"
#include "weft/sim/internal/crash.h"
#include "weft/sim/internal/descriptors.h"
#include "weft/sim/internal/disk.h"
#include "weft/sim/internal/guard.h"
#include "weft/sim/internal/story.h"

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
    faults.buggify = drawn(wanted.buggify, random);
    return faults;
}

struct FaultField {
    bool Faults::* wanted;
    std::uint64_t FaultCounts::* count;
};
// In the order of FaultKind.
constexpr std::array<FaultField, kFaultKinds> kFields = {{
    {&Faults::short_transfers, &FaultCounts::short_transfers},
    {&Faults::would_block, &FaultCounts::would_block},
    {&Faults::spurious_readiness, &FaultCounts::spurious_readiness},
    {&Faults::delays, &FaultCounts::delays},
    {&Faults::pauses, &FaultCounts::pauses},
    {&Faults::allocation, &FaultCounts::allocation},
    {&Faults::resets, &FaultCounts::resets},
    {&Faults::connects, &FaultCounts::connects},
    {&Faults::descriptors, &FaultCounts::descriptors},
    {&Faults::buggify, &FaultCounts::buggify},
}};

// A hash of several words.
std::uint64_t mixed(std::uint64_t a, std::uint64_t b, std::uint64_t c = 0) {
    return Random(Random(Random(a).next() ^ b).next() ^ c).next();
}

// The streams of random numbers, one for each purpose; see Machine::stream().
constexpr std::uint64_t kSchedulerStream = 1;
constexpr std::uint64_t kFaultStream = 2;
constexpr std::uint64_t kWorkloadStream = 3;
constexpr std::uint64_t kSiteStream = 4;
constexpr std::uint64_t kChanceStream = 5;
constexpr std::uint64_t kNoThread = UINT32_MAX;  // draws of the machine itself

// Whether the operation reports itself when it has happened; the others do so before.
bool is_reported_after(std::string_view operation) {
    constexpr std::array ends = {"unlock", "unlock_shared", "release", "set",  "done",
                                 "leave",  "send",          "receive", "spawn"};
    std::string_view verb = operation.substr(operation.find('.') + 1);
    return std::ranges::find(ends, verb) != ends.end() || verb == "arrive_and_drop";
}

bool is_waiting(const WaitCell& cell) { return cell.word.peek() != 0; }

std::optional<ScheduleIndex> index_of(const std::string& text) {
    if (text.empty()) return std::nullopt;
    Result<Schedule> schedule = Schedule::parse(text);
    WEFT_ASSERT(schedule.has_value(), "the schedule of a simulation cannot be read");
    return ScheduleIndex(*schedule);
}

}  // namespace

Machine::Machine(const Options& options)
    : options_(options),
      replay_(index_of(options.schedule)),
      strategy_(options.chooser, options.seed * 4),
      descriptors_(std::make_unique<DescriptorTable>(*this)),
      disk_(std::make_unique<Disk>(*this)),
      story_(options.tell_story ? std::make_unique<Story>() : nullptr),
      block_depot_(fiber_blocks::take_simulated()) {
    set_guard();
    Random random = stream(kFaultStream, kNoThread);
    faults_ = draw(options.faults, random);
    interrupt_at_ = 1 + random.below(kInterruptWithin);
    if (options.interrupt_at != 0) interrupt_at_ = options.interrupt_at;
}

Random Machine::stream(std::uint64_t which, std::uint64_t thread) const {
    return Random(mixed(options_.seed, which, thread));
}

Machine::~Machine() {
    io_tables::forget(*this);
    fiber_blocks::put_simulated(block_depot_);
}

Report Machine::run(const std::function<void()>& scenario) {
    WEFT_ASSERT(!env::current(), "simulations do not nest");
    auto call = [](void* function) { (*static_cast<const std::function<void()>*>(function))(); };
    start_thread(call, const_cast<void*>(static_cast<const void*>(&scenario)), "main");
    CrashWatch watch(options_.seed);
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
    report.allocations = allocations_;
    report.injected = injected_;
    report.failure = failure_;
    for (const Sometimes& one : sometimes_) report.sometimes.emplace_back(one.name, one.reached);
    if (options_.record) report.schedule = recorded_.text();
    if (story_) {
        report.story = story_->lines();
        report.where = place_in_program(symbols::describe(failed_at_), failed_at_);
    }
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
    std::string thrown;
    // An exception that would end a real process fails the run. fail() does not return, so it is
    // called outside the handler, which would never be left.
    try {
        thread.entry(thread.argument);
    } catch (...) {
        thrown = Error::from_current_exception().message();
    }
    if (!thrown.empty()) self.fail("uncaught exception: " + thrown);
    self.threads_[self.current_].ended = true;
    self.wake(&thread);
    bool all_ended = std::ranges::all_of(self.threads_, &Thread::ended);
    if (all_ended) self.leave_for_ever();
    std::erase(self.runnable_, self.current_);
    ++thread.points;
    self.hand_over(-1);
    WEFT_UNREACHABLE();
}

// Switches back to the real thread; no simulated thread runs again.
void Machine::leave_for_ever() {
    SavedContext::change(threads_[current_].context, driver_, SavedContext::Leave::ForEver);
    WEFT_UNREACHABLE();
}

void Machine::fail(std::string_view why) {
    hide();
    failure_ = why;
    if (story_) failed_at_ = frames_here();
    leave_for_ever();
}

// ---------------------------------------------------------------- choosing

void Machine::count_step() {
    ++steps_;
    now_ns_ += kStepNs;
    ++threads_[current_].points;
    if (steps_ > options_.steps_max)
        fail(format("no end after {} steps\n{}", steps_, describe_threads()));
    if (is_interrupt_due()) [[unlikely]]
        interrupt();
    // While one thread computes, the deadlines of others pass as well.
    if (now_ns_ >= earliest_ns_) [[unlikely]]
        wake_those_due();
}

void Machine::step() {
    if (hidden_ != 0) return;
    if (story_) tell_story_of_wait();
    count_step();
    if (injects(FaultKind::Pause, 2000))
        now_ns_ += static_cast<std::int64_t>(fault_random().below(8'000'000));
    bool reconsider = std::exchange(changed_, false) && strategy_.chooser() == Chooser::Priorities;
    if (!replay_ && !strategy_.interrupts(current_) && !reconsider) return;
    unsigned next = choose(current_, -1);
    if (story_ && next != current_ && current()) {
        env::Unseen quietly;
        story_->add_preemption(steps_, threads_[current_].name, threads_[next].name);
    }
    hand_over_to(next);
}

bool Machine::operation(const char* name, const void* object, MayWait may_wait) {
    if (hidden_ != 0) return false;
    if (options_.keep_trace) keep(name, 0, 0);
    if (!story_) [[likely]] {
        step();
        return may_wait == MayWait::Yes && gives_up_turn();
    }
    std::string value = story_->take_value();
    bool late = is_reported_after(name);
    if (!late) step();
    {
        env::Unseen quietly;
        story_->add_operation(steps_, threads_[current_].name, name, object, value);
    }
    if (late) step();
    return may_wait == MayWait::Yes && gives_up_turn();
}

// Whether another fiber of the same thread runs next.
bool Machine::gives_up_turn() {
    if (replay_) {
        return replay_->find(Choice::Act::Yield, {}, current_, threads_[current_].points) !=
               nullptr;
    }
    if (!strategy_.ends_turn()) return false;
    record(Choice::Act::Yield);
    return true;
}

// At a step: records the wait if the running fiber is about to park.
void Machine::tell_story_of_wait() {
    env::Unseen quietly;
    Fiber* fiber = current();
    if (!fiber) return;
    const WaitCell& cell = *fiber;
    std::uint64_t wait = cell.word.peek();
    if (wait != 0) wait ^= reinterpret_cast<std::uintptr_t>(fiber);
    if (wait != 0 && wait != story_wait_)
        story_->add_wait(steps_, threads_[current_].name, to_string(cell.wait_reason));
    story_wait_ = wait;
}

void Machine::spin() {
    if (hidden_ != 0) return;  // a real thread holds the lock
    count_step();
    if (runnable_.size() == 1 && ++spins_ > kSpinsMax)
        fail("a thread spins for ever\n" + describe_threads());
    // If no other thread can run, the loop can only end by the passing of time.
    if (runnable_.size() == 1 && spins_ % 64 == 0) static_cast<void>(wake_the_earliest());
    hand_over(static_cast<int>(current_));
}

// The running thread cannot continue, or should not (`stuck` is its index, else -1).
void Machine::hand_over(int stuck) {
    while (runnable_.empty()) {
        if (wake_the_earliest() || wake(&interrupt_at_) != 0) continue;
        fail("deadlock\n" + describe_threads());
    }
    hand_over_to(choose(plain_choice(stuck), stuck));
}

void Machine::hand_over_to(unsigned next) {
    if (next == current_ && !threads_[current_].ended) return;
    spins_ = 0;
    note("run", next, 0);
    change_to(next, threads_[current_].ended ? SavedContext::Leave::ForEver
                                             : SavedContext::Leave::ToReturn);
}

// The thread that runs next if nothing else is chosen: the next runnable one by index.
unsigned Machine::plain_choice(int stuck) const {
    auto next = std::ranges::upper_bound(runnable_, current_);
    unsigned thread = next == runnable_.end() ? runnable_.front() : *next;
    WEFT_ASSERT(static_cast<int>(thread) != stuck || runnable_.size() == 1, "there is another one");
    return thread;
}

// Chooses by the seed, or as it was recorded.
unsigned Machine::choose(unsigned plain, int stuck) {
    if (replay_) {
        const Choice* choice =
            replay_->find(Choice::Act::Turn, {}, current_, threads_[current_].points);
        bool can_run = choice && std::ranges::binary_search(runnable_, choice->to);
        return can_run ? choice->to : plain;
    }
    unsigned next = strategy_.pick(runnable_, stuck);
    if (next != plain) record(Choice::Act::Turn, next);
    return next;
}

void Machine::record(Choice::Act act, unsigned to) {
    if (!options_.record) return;
    recorded_.choices.push_back({act, {}, current_, threads_[current_].points, to});
}

bool Machine::injects(FaultKind kind, std::uint64_t one_in) {
    const FaultField& field = kFields[static_cast<std::size_t>(kind)];
    if (!(faults_.*field.wanted) || hidden_ != 0) return false;
    Thread& thread = threads_[current_];
    std::uint64_t chance = ++thread.chances[static_cast<std::size_t>(kind)];
    // The stream begins anew for each chance, so that neither the decision nor the details depend
    // on choices that were left out elsewhere.
    std::uint64_t which = kChanceStream + static_cast<std::uint64_t>(kind);
    thread.fault_random = Random(mixed(mixed(options_.seed, which, current_), chance));
    bool comes = thread.fault_random.once_in(one_in);
    if (replay_) comes = replay_->find(Choice::Act::Fault, kind, current_, chance) != nullptr;
    if (!comes) return false;
    ++(injected_.*field.count);
    if (options_.record)
        recorded_.choices.push_back({Choice::Act::Fault, kind, current_, chance, 0});
    note(to_string(kind), 0, 0);
    if (story_) {
        env::Unseen quietly;
        story_->add_event(steps_, thread.name, to_string(kind));
    }
    return true;
}

// The seed switches on a quarter of the places; there it is true now and then.
bool Machine::buggify(std::uint64_t site) {
    if (mixed(options_.seed, kSiteStream, site) % 4 != 0) return false;
    return injects(FaultKind::Buggify, 4);
}

void Machine::keep_value(std::string_view text) {
    if (story_) story_->keep_value(text);
}

void Machine::calm() {
    faults_ = Faults::none();
    strategy_.be_fair();
}

void Machine::sometimes(bool reached, const char* name) {
    auto same = [name](const Sometimes& one) { return std::string_view(one.name) == name; };
    auto found = std::ranges::find_if(sometimes_, same);
    if (found == sometimes_.end()) found = sometimes_.insert(found, {name, false});
    found->reached = found->reached || reached;
}

void Machine::change_to(unsigned index, SavedContext::Leave leave) {
    Thread& from = threads_[current_];
    Thread& to = threads_[index];
    from.state = ThreadState::save();
    current_ = index;
    to.state.restore();
    SavedContext::change(from.context, to.context, leave);
}

// No thread can run: the clock jumps to the first deadline. False if there is none.
bool Machine::wake_the_earliest() {
    std::int64_t earliest = kNeverNs;
    for (const Thread& thread : threads_) {
        if (!thread.ended && thread.blocked_on) earliest = std::min(earliest, thread.deadline_ns);
    }
    if (earliest == kNeverNs) return false;
    now_ns_ = std::max(now_ns_, earliest);
    wake_those_due();
    return true;
}

void Machine::wake_those_due() {
    earliest_ns_ = kNeverNs;
    for (unsigned i = 0; i < threads_.size(); ++i) {
        Thread& thread = threads_[i];
        if (thread.ended || !thread.blocked_on) continue;
        if (thread.deadline_ns > now_ns_) {
            earliest_ns_ = std::min(earliest_ns_, thread.deadline_ns);
            continue;
        }
        thread.blocked_on = nullptr;
        thread.timed_out = true;
        runnable_.insert(std::ranges::upper_bound(runnable_, i), i);
        changed_ = true;
    }
}

void Machine::await_interrupt() {
    if (!interrupted_) block(&interrupt_at_, kNeverNs);
}

bool Machine::is_interrupt_due() {
    if (interrupted_) return false;
    if (replay_) {
        interrupted_ = replay_->find(Choice::Act::Interrupt, {}, current_,
                                     threads_[current_].points) != nullptr;
    } else {
        interrupted_ = steps_ >= interrupt_at_;
        if (interrupted_) record(Choice::Act::Interrupt);
    }
    return interrupted_;
}

// The thread in await_interrupt() runs now.
void Machine::interrupt() {
    for (unsigned i = 0; i < threads_.size(); ++i) {
        if (threads_[i].ended || threads_[i].blocked_on != &interrupt_at_) continue;
        wake(&interrupt_at_);
        note("interrupt", i, 0);
        return change_to(i);
    }
}

void Machine::block(const void* on, std::int64_t deadline_ns) {
    Thread& thread = threads_[current_];
    thread.blocked_on = on;
    thread.deadline_ns = deadline_ns;
    earliest_ns_ = std::min(earliest_ns_, deadline_ns);
    thread.timed_out = false;
    // A worker needs neither: its fibers report what they wait for.
    if (!ThreadState::save().worker) {
        thread.cell = &current_cell();
        if (story_) thread.blocked_at = frames_here();
    }
    std::erase(runnable_, current_);
    ++thread.points;
    note("sleep", current_, 0);
    hand_over(-1);
}

unsigned Machine::wake(const void* on, unsigned count) {
    std::vector<unsigned> sleepers;
    for (unsigned i = 0; i < threads_.size(); ++i) {
        if (!threads_[i].ended && threads_[i].blocked_on == on) sleepers.push_back(i);
    }
    unsigned woken = 0;
    for (; woken < count && !sleepers.empty(); ++woken) {
        std::size_t at = threads_[current_].scheduler_random.below(sleepers.size());
        unsigned index = sleepers[at];
        sleepers.erase(sleepers.begin() + static_cast<std::ptrdiff_t>(at));
        threads_[index].blocked_on = nullptr;
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
    case RandomStream::Scheduler: return threads_[current_].scheduler_random.next();
    case RandomStream::Faults: return fault_random().next();
    case RandomStream::Workload:
    case RandomStream::Secret: return threads_[current_].workload_random.next();
    }
    WEFT_UNREACHABLE();
}

bool Machine::fails(Allocation) {
    if (hidden_ != 0) return false;
    if (++allocations_ != options_.failing_allocation) return injects(FaultKind::Allocation, 4);
    ++injected_.allocation;
    note(to_string(FaultKind::Allocation), allocations_, 0);
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
    thread.scheduler_random = stream(kSchedulerStream, index);
    thread.fault_random = stream(kFaultStream, index);
    thread.workload_random = stream(kWorkloadStream, index);
    thread.context.prepare(thread.stack->bounds(), thread_main, this,
                           thread.stack->sanitizer_fiber);
    runnable_.push_back(index);
    note("start", index, 0);
    changed_ = true;
    return EnvThread{index};
}

void Machine::join_thread(EnvThread thread) {
    Thread& other = threads_[thread.handle];
    while (!other.ended) block(&other, kNeverNs);
}

FutexWait Machine::futex_wait(std::uint32_t* word, std::uint32_t expected,
                              std::int64_t deadline_ns) {
    step();
    if (*word != expected) return FutexWait::Woken;
    if (deadline_ns <= now_ns_) return FutexWait::TimedOut;
    block(word, deadline_ns);
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

EnvFiles& Machine::files() { return *disk_; }

int Machine::close(int fd) {
    step();
    if (fd >= Disk::kFirstFd) return disk_->close(fd);
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

// Not hashed, because WEFT_LOG decides how much is logged.
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

// What a plain thread waits for, which the list of fibers does not show.
std::string Machine::describe_wait(const Thread& thread) const {
    auto is_awaited = [&](const Thread& other) { return thread.blocked_on == &other; };
    auto awaited = std::ranges::find_if(threads_, is_awaited);
    std::string text = "sleeps";
    if (thread.cell && is_waiting(*thread.cell)) {
        text = format("waits on {}", to_string(thread.cell->wait_reason));
    } else if (awaited != threads_.end()) {
        text = format("waits for the end of {}", awaited->name);
    }
    std::string place = place_in_program(symbols::describe(thread.blocked_at), thread.blocked_at);
    return place.empty() ? text : format("{} at {}", text, place);
}

std::string Machine::describe_threads() {
    hide();
    std::string text;
    for (const Thread& thread : threads_) {
        if (thread.ended) continue;
        text += format("  thread {}: {}\n", thread.name,
                       thread.blocked_on ? describe_wait(thread) : "can run");
    }
    return text + describe_fibers(story_ ? Backtraces::Yes : Backtraces::No);
}

}  // namespace weft::sim
