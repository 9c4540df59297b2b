// An exhaustive checker for small concurrent programs, in the manner of loom and Relacy.
//
//     #include "weft/testing/model.h"          // in a file named *_model_test.cpp
//
//     model::Result result = model::check(model::Options{.preemption_bound = 3}, [] {
//         RunQueue<int, 2> queue;              // every weft::Atomic in it is the checker's
//         model::thread([&] { ... });
//         model::thread([&] { ... });
//         model::join_all();
//         model::require(condition, "no item is lost");
//     });
//     EXPECT_TRUE(result.ok()) << result.trace();
//
// The body is run again and again, as virtual threads on one OS thread, until every order of the
// operations on atomics and every store that a load may read (model_memory.h) has been tried. It
// must do the same each time: no clocks, no random numbers, no real threads. The checker finds a
// failed require() or WEFT_ASSERT, a deadlock, a livelock (more than max_steps), a data race on a
// Plain, and an atomic that is used before its construction or after its destruction.
//
// Spin loops must call env::spin_pause() (here: spin_hint()), or they seem to be livelocks.
#pragma once

#ifndef WEFT_MODEL
#error "programs of the model checker are named *_model_test.cpp and compiled with WEFT_MODEL"
#endif

#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <utility>

#include "weft/testing/model_atomic.h"
#include "weft/testing/model_execution.h"
#include "weft/testing/model_plain.h"

namespace weft::model {

class Result {
public:
    // Everything within the bounds was explored, and nothing is wrong.
    bool ok() const noexcept { return failure_.empty() && is_complete_; }
    bool failed() const noexcept { return !failure_.empty(); }
    bool is_complete() const noexcept { return is_complete_; }

    std::uint64_t executions() const noexcept { return executions_; }  // different ones
    std::uint64_t redundant() const noexcept { return redundant_; }    // run, but equal to another
    std::uint64_t steps() const noexcept { return steps_; }            // of all of them

    const std::string& failure() const noexcept { return failure_; }  // one line; empty when none
    const std::string& trace() const noexcept { return trace_; }      // the failing execution

private:
    friend Result check(const Options& options, const std::function<void()>& body);

    std::string failure_;
    std::string trace_;
    std::uint64_t executions_ = 0;
    std::uint64_t redundant_ = 0;
    std::uint64_t steps_ = 0;
    bool is_complete_ = false;
};

// Explores the body; stops at the first failure. Not from inside another check.
inline Result check(const Options& options, const std::function<void()>& body) {
    Result result;
    auto execution = std::make_unique<Execution>(options);  // too large for some stacks
    for (;;) {
        bool good = execution->run(body);
        (execution->was_redundant() ? result.redundant_ : result.executions_)++;
        result.steps_ += execution->steps();
        if (!good) {
            result.failure_ = execution->failure();
            result.trace_ = "execution " + std::to_string(result.executions_ + result.redundant_) +
                            ": " + execution->trace();
            return result;
        }
        if (!execution->advance()) {
            result.is_complete_ = true;
            return result;
        }
        if (result.executions_ + result.redundant_ >= options.max_executions) {
            result.trace_ = "not explored completely: stopped after max_executions";
            return result;
        }
    }
}

inline Result check(const std::function<void()>& body) { return check(Options{}, body); }

// The following functions are called by the body and its threads.

// Starts a virtual thread; at most kThreadsMax - 1 of them.
inline void thread(std::move_only_function<void()> job) {
    current_execution->spawn(std::move(job));
}

// Waits for all other threads. The body calls it before its locals end.
inline void join_all(std::source_location where = std::source_location::current()) {
    current_execution->join_all(where);
}

// Fails the execution when the condition is false.
inline void require(bool condition, const char* text,
                    std::source_location where = std::source_location::current()) {
    if (condition) return;
    current_execution->fail(std::string("required: ") + text + " (" + place(where) + ")");
}

// Names an atomic in traces. The text must outlive the check.
template <class T>
void name(Atomic<T>& atomic, const char* text) {
    current_execution->set_name(atomic.location(), text);
}

// Blocks if the atomic has this value, until woken, as the kernel's futex does.
template <class T>
void futex_wait(Atomic<T>& atomic, T expected,
                std::source_location where = std::source_location::current()) {
    current_execution->futex_wait(atomic.location(), Atomic<T>::bits(expected), where);
}

// Wakes up to `count` threads, those first that have waited longest.
template <class T>
void futex_wake(Atomic<T>& atomic, unsigned count,
                std::source_location where = std::source_location::current()) {
    current_execution->futex_wake(atomic.location(), count, where);
}

}  // namespace weft::model
