// What the scenarios of structured concurrency share: jobs, and the book that says what became of
// each of them.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/sim/floor/crew.h"
#include "weft/async/context.h"
#include "weft/async/errors.h"
#include "weft/fiber/cancel.h"
#include "weft/sync/event.h"

namespace weft::sim::scenarios {

using async::Context;

inline bool is_fault(const Error& error, const async::Fault& fault) {
    return error.kind() == fault.kind && error.message() == fault.text;
}
template <class T>
bool is_fault(const Result<T>& result, const async::Fault& fault) {
    return !result && is_fault(result.error(), fault);
}
// One of the two things that a context which has ended says.
inline bool is_end_of_context(const Error& error) {
    return error.message() == "context canceled" || error.message() == "context deadline exceeded";
}

// What a job does that heeds its context, and nothing else.
inline Result<void> wait_for_end(const Context& context) {
    Event never;
    static_cast<void>(never.wait(context.done()));
    return context.check();
}

// Makes what the fiber or thread starts run in the runtime, also on a plain thread.
class InRuntime {
public:
    explicit InRuntime(const Runtime& runtime) : scope_(Context::background(runtime).token()) {}

private:
    CancelScope scope_;
};

// Every job that was accepted runs once and ends once, and its function is gone by then. Errors
// that jobs make up carry the job's number (from 1) as their code, so that each can be told from
// all others.
class Jobs {
public:
    enum class Manner {
        Succeed,
        Fail,
        Heed,    // waits for the end of its context
        Ignore,  // works on for a while, whatever becomes of its context
    };

    // Counts its copies; a closure that holds one is alive as long as it is.
    class Held {
    public:
        explicit Held(Jobs& jobs) : jobs_(&jobs) { ++jobs_->held_; }
        Held(const Held& other) : jobs_(other.jobs_) { ++jobs_->held_; }
        Held(Held&& other) noexcept : jobs_(std::exchange(other.jobs_, nullptr)) {}
        Held& operator=(const Held&) = delete;
        ~Held() {
            if (jobs_) --jobs_->held_;
        }
        Jobs* operator->() const { return jobs_; }

    private:
        Jobs* jobs_;
    };

    auto job(Manner manner) {
        return [held = Held(*this), number = ++made_, manner](Context& context) -> Result<void> {
            return held->work(number, manner, context);
        };
    }
    // One that ends by itself.
    auto some_job() { return job(some_manner(false)); }
    // One that may wait for the end of its context.
    auto some_heeding_job() { return job(some_manner(true)); }
    static Manner some_manner(bool may_heed) {
        auto manner = static_cast<Manner>(between(0, 3));
        return manner == Manner::Heed && !may_heed ? Manner::Succeed : manner;
    }

    // The last job that was made has been accepted, or has not.
    void count(const Result<void>& accepted) { accepted_ += accepted ? 1 : 0; }

    int made() const { return made_; }
    int accepted() const { return accepted_; }
    int begun() const { return begun_; }
    int running() const { return running_; }
    int running_most() const { return running_most_; }
    int ended() const { return ended_; }
    int failed() const { return failed_; }  // those that failed by themselves
    int heeded() const { return heeded_; }  // those that gave the error of their context

    // When nothing of them may be left.
    void require_none_alive() const {
        require(begun_ == ended_ && running_ == 0, "a job is alive after its owner");
        require(held_ == 0, "the function of a job is alive after its owner");
    }
    void require_ended() const {
        require_none_alive();
        require(ended_ == accepted_, "not as many jobs have ended as were accepted");
    }
    // An error that one of them made up, or the end of a context.
    void require_own(const Error& error) const {
        bool made_up = error.kind() == ErrorKind::Other && error.native_code() > 0;
        require(made_up || is_end_of_context(error), "an error that no job has given");
        require(!made_up || has_failed(error.native_code()),
                "the error of a job that did not fail");
    }
    bool has_failed(int number) const {
        return std::ranges::find(failures_, number) != failures_.end();
    }

private:
    Result<void> work(int number, Manner manner, Context& context) {
        require(Context::current() == context, "the context of a job is not the ambient one");
        ++begun_;
        running_most_ = std::max(running_most_, ++running_);
        some_yields();
        Result<void> outcome;
        if (manner == Manner::Heed) outcome = wait_for_end(context);
        if (manner == Manner::Ignore)
            shield(Deadline::never(), [] { static_cast<void>(sleep_for(up_to_us(60))); });
        if (manner == Manner::Fail) outcome = Error(ErrorKind::Other, number);
        if (manner == Manner::Fail) failures_.push_back(number);
        failed_ += manner == Manner::Fail ? 1 : 0;
        heeded_ += manner == Manner::Heed ? 1 : 0;
        --running_;
        ++ended_;
        return outcome;
    }

    int made_ = 0;
    int accepted_ = 0;
    int begun_ = 0;
    int running_ = 0;
    int running_most_ = 0;
    int ended_ = 0;
    int failed_ = 0;
    int heeded_ = 0;
    int held_ = 0;
    std::vector<int> failures_;  // their numbers, in the order of their ends
};

}  // namespace weft::sim::scenarios
