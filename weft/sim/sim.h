// Deterministic simulation: a whole Weft program in one thread, in virtual time, under one seed.
//
// A simulated machine plays the threads of the program (the workers of its runtimes among them) on
// stacks of their own, and switches between them at every step the runtime takes: every operation
// of a primitive (lock, unlock, send, spawn), every scheduling decision, every system call, and in
// WEFT_CHECKED builds every atomic access. Time passes by a few nanoseconds a step, and jumps to
// the next deadline when no thread can run. The seed decides which thread runs next, what fails and
// what the scenario does, each from its own stream of random numbers; so the same seed gives the
// same run.
//
//     sim::Report report = sim::run({.seed = 42}, [] {
//         Runtime runtime({.workers = 3});
//         ...
//         sim::require(received == sent, "an item was lost");
//     });
//     EXPECT_TRUE(report.ok()) << report.text();
//
// run() is for plain threads, not in a simulation; several threads may simulate at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/time.h"
#include "weft/sim/probes.h"

namespace weft::sim {

// How the next thread is chosen.
enum class Chooser : std::uint8_t {
    BySeed,  // half random, a third priorities, the rest round robin and starvation
    Random,
    Priorities,  // PCT: fixed random priorities, lowered at 2 to 5 random points
    RoundRobin,
    StarveOne,  // one thread runs only when nobody else can
};

struct Faults {
    bool short_transfers = true;  // reads and writes of less than asked
    bool would_block = true;      // EAGAIN first, readiness later
    bool spurious_readiness = true;
    bool delays = true;        // events arrive late
    bool pauses = true;        // the clock jumps while somebody runs
    bool allocation = false;   // of stacks, blocks, buffers: the scenario must expect OutOfMemory
    bool resets = false;       // pipes and connections break: it must expect Reset
    bool connects = false;     // connects fail: Refused, Unreachable, TimedOut
    bool descriptors = false;  // none can be opened for now: OutOfFds
    bool buggify = true;       // sim::buggify() is sometimes true

    static constexpr Faults none() {
        return {false, false, false, false, false, false, false, false, false, false};
    }
    static constexpr Faults all() {
        return {true, true, true, true, true, true, true, true, true, true};
    }
    // The faults that both have.
    friend constexpr Faults operator&(const Faults& a, const Faults& b) {
        return {a.short_transfers && b.short_transfers,
                a.would_block && b.would_block,
                a.spurious_readiness && b.spurious_readiness,
                a.delays && b.delays,
                a.pauses && b.pauses,
                a.allocation && b.allocation,
                a.resets && b.resets,
                a.connects && b.connects,
                a.descriptors && b.descriptors,
                a.buggify && b.buggify};
    }
};

// How often each of them was injected.
struct FaultCounts {
    std::uint64_t short_transfers = 0;
    std::uint64_t would_block = 0;
    std::uint64_t spurious_readiness = 0;
    std::uint64_t delays = 0;
    std::uint64_t pauses = 0;
    std::uint64_t allocation = 0;
    std::uint64_t resets = 0;
    std::uint64_t connects = 0;
    std::uint64_t descriptors = 0;
    std::uint64_t buggify = 0;
};

struct Options {
    std::uint64_t seed = 1;
    Chooser chooser = Chooser::BySeed;
    Faults faults = {};  // each is on in a quarter of the seeds
    std::uint64_t steps_max = 2'000'000;
    // The step at which await_interrupt() returns; 0: one of the first few thousand, by seed.
    std::uint64_t interrupt_at = 0;
    // The number, from 1, of the allocation of a stack, block or buffer that fails; 0: only those
    // fail that `faults` make fail.
    std::uint64_t failing_allocation = 0;
    bool keep_trace = false;
    // Record the choices of the run for Report::schedule.
    bool record = false;
    // A Report::schedule: the run makes those choices and no others. Seed and faults must be those
    // of the recorded run.
    std::string schedule = {};
    // Record Report::story. Slow: the stack is walked at every operation.
    bool tell_story = false;
};

struct Report {
    std::uint64_t seed = 0;
    std::uint64_t steps = 0;
    std::uint64_t trace_hash = 0;
    std::int64_t virtual_ns = 0;
    std::uint64_t allocations = 0;  // those that could have failed
    FaultCounts injected;
    std::string failure;             // empty: the run has passed
    std::vector<std::string> trace;  // with keep_trace, else the last events before a failure
    std::string schedule;            // with Options::record
    std::vector<std::string> story;  // with tell_story: operations, values, source lines
    std::string where;               // with tell_story: the place that failed
    // Each name given to sometimes() in this run, and whether its condition was ever true.
    std::vector<std::pair<std::string, bool>> sometimes;

    bool ok() const { return failure.empty(); }
    std::string text() const;  // seed, failure and trace, to show
};

// Runs `scenario` on the first simulated thread until all simulated threads have ended. A failed
// run is abandoned where it stands: what it had allocated is not freed.
Report run(const Options& options, const std::function<void()>& scenario);

// For scenarios, in simulated threads and fibers.
[[noreturn]] void fail(const std::string& why);
inline void require(bool condition, const char* why) {
    if (!condition) fail(why);
}
std::uint64_t random_below(std::uint64_t bound);  // of the workload's stream
inline bool coin() { return random_below(2) == 0; }

// Blocks until Options::interrupt_at steps have been taken, then continues at once, before every
// other thread that could run; at the latest when no other thread can. For one plain thread of a
// run. A test that counts the steps of a run and repeats it with an interruption at each of them
// has tried them all.
void await_interrupt();

// Ends fault injection: from now on nothing fails, and no thread is starved.
void calm();
// Checks liveness: calls calm(), then requires that the condition becomes true within so much
// virtual time; it is evaluated now and then. Any fiber and any thread.
void eventually(const std::function<bool()>& condition, const char* what,
                Nanoseconds within = std::chrono::minutes(1));

}  // namespace weft::sim
