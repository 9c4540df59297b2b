// The engine of the model checker: runs the virtual threads of one execution on one OS thread and
// decides at every operation which thread runs next and what a load reads. Used by model.h and
// model_atomic.h.
//
// A thread stops before each operation on an atomic, so its next operation is always known. With a
// preemption bound every order within the bound is run. Without one, orders that differ only by
// swapping independent operations are run once (sleep sets): a thread whose step at some choice has
// been explored sleeps in the other branches of that choice until an operation is executed on which
// its own depends. A sleeping load that a new store wakes needs to read only that or newer stores:
// reading the older ones is what the explored branch did. For the same reason a load does not wake
// a sleeping store.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "weft/testing/model_choices.h"
#include "weft/testing/model_context.h"
#include "weft/testing/model_memory.h"
#include "weft/testing/model_trace.h"

namespace weft::model {

enum class Reduction : std::uint8_t { On, Off };

inline constexpr unsigned kUnbounded = ~0U;

struct Options {
    // How often a thread that could continue is interrupted; kUnbounded explores everything.
    unsigned preemption_bound = kUnbounded;
    std::uint64_t max_executions = 1'000'000;
    unsigned max_steps = 5'000;  // of one execution; more is a livelock
    // How often in one execution compare_exchange_weak fails though it could succeed.
    unsigned spurious_failures = 1;
    Reduction reduction = Reduction::On;  // Off runs every order; only for tests of the checker
};

class Execution {
public:
    using Job = std::move_only_function<void()>;
    using Where = const std::source_location&;

    explicit Execution(const Options& options) : options_(options) {}

    // Runs `body` once, as thread 0. False when it failed: see failure().
    bool run(const std::function<void()>& body);
    bool advance() { return choices_.advance(); }
    bool was_redundant() const noexcept { return running_free_; }
    std::uint64_t steps() const noexcept { return steps_; }
    const std::string& failure() const noexcept { return failure_; }
    std::string trace() const;

    // Called by the virtual threads.
    void spawn(Job job);
    void join_all(Where where);
    void spin(Where where);
    [[noreturn]] void fail(std::string text);

    LocationIndex create(std::uint64_t initial);         // by the running thread
    LocationIndex create_before(std::uint64_t initial);  // before the execution began
    void end(LocationIndex location);
    void set_name(LocationIndex location, const char* name) { memory_[location].set_name(name); }

    std::uint64_t load(LocationIndex location, std::memory_order order, Where where);
    void store(LocationIndex location, std::uint64_t value, std::memory_order order, Where where);
    template <class Function>
    std::uint64_t update(LocationIndex location, Function function, std::memory_order order,
                         Where where);
    struct Exchange {
        std::uint64_t expected;
        std::uint64_t desired;
        std::memory_order success;
        std::memory_order failure;
        bool is_weak;
    };
    // Returns the value that it has read; `exchanged` becomes whether it has written.
    std::uint64_t compare_exchange(LocationIndex location, const Exchange& exchange,
                                   bool& exchanged, Where where);
    void futex_wait(LocationIndex location, std::uint64_t expected, Where where);
    void futex_wake(LocationIndex location, unsigned count, Where where);

    // For the race detection of plain memory: the running thread and what happens before it.
    ThreadIndex running() const noexcept { return running_; }
    VectorClock& clock() noexcept { return threads_[running_].clock; }

    // Distinguishes the executions of a process; atomics know by it whether they are registered.
    static std::uint32_t& serial() noexcept {
        static std::uint32_t value = 0;
        return value;
    }

private:
    static constexpr ThreadIndex kNobody = kThreadsMax;

    struct Read {
        LocationIndex location;
        StoreIndex store;
        std::uint64_t value;  // of that store
    };
    struct VirtualThread {
        Execution* execution = nullptr;
        ThreadIndex index = 0;
        ThreadIndex starter = kNobody;  // the thread that waits until it is at its first operation
        bool is_woken = false;          // from a futex
        bool is_local = false;          // it has done `next` and is in the code behind it
        Job job;
        Operation next;
        VectorClock clock;
        std::vector<Read> reads;        // since the last spin
        std::vector<Read> spin_reads;   // of the loop that spins
        std::uint64_t spin_writes = 0;  // the number of writes when it began to spin
        StoreIndex new_from = 0;        // see `restricted_`
        Context context;
    };
    enum class Notice : std::uint8_t { None, NewStore, All };

    static void thread_main(void* argument);
    void start(ThreadIndex index, Job job);
    void finish();

    // Ends the local part of the running thread; returns when it shall do its next operation.
    Location& arrive(Operation next);
    void arrive_at(Operation next);
    void schedule();
    ThreadIndex pick_thread();
    ThreadIndex choose_thread(ThreadSet candidates);
    void switch_to(ThreadIndex index);
    bool is_enabled(const VirtualThread& thread) const;
    bool all_others_finished(ThreadIndex index) const;
    bool reduces() const noexcept {
        return options_.reduction == Reduction::On && options_.preemption_bound == kUnbounded;
    }
    std::uint32_t choose_value(std::uint32_t options);

    void done(Event event);
    void wake_sleeping(const Event& event);
    Notice notice(const VirtualThread& thread, const Event& event) const;
    static bool spins_on(const VirtualThread& thread, LocationIndex location);
    static void remember_read(VirtualThread& thread, Read read);
    StoreIndex oldest_readable(const Location& location, std::memory_order order) const;

    Options options_;
    Choices choices_;
    Memory memory_;
    std::array<VirtualThread, kThreadsMax> threads_;
    Context root_;
    std::vector<Event> events_;
    std::string failure_;
    ThreadIndex thread_count_ = 0;
    ThreadIndex running_ = 0;
    unsigned preemptions_ = 0;
    unsigned spurious_failures_ = 0;
    std::uint64_t writes_ = 0;
    std::vector<StoreIndex> failures_;  // scratch of compare_exchange()
    std::uint64_t steps_ = 0;
    // All enabled threads are in the sleep set: an equivalent execution has been run, and this one
    // only runs to its end.
    bool running_free_ = false;
    ThreadSet sleeping_;
    ThreadSet restricted_;  // these may read only stores from their new_from on
};

// The execution that runs, if any. One OS thread checks at a time.
// tidy: allow global: atomics are default-constructed and must find their execution
inline Execution* current_execution = nullptr;

template <class Function>
std::uint64_t Execution::update(LocationIndex index, Function function, std::memory_order order,
                                Where where) {
    Location& location = arrive(Operation{Operation::Kind::Update, index, order, where});
    VirtualThread& thread = threads_[running_];
    std::uint64_t before = location.latest_value();
    std::uint64_t after = function(before);
    location.update(after, running_, thread.clock, order);
    remember_read(thread, Read{index, location.latest(), after});
    done(Event{thread.next, running_, true, before, after});
    return before;
}

}  // namespace weft::model

#include "weft/testing/model_operations.h"
#include "weft/testing/model_reduction.h"
#include "weft/testing/model_scheduling.h"
