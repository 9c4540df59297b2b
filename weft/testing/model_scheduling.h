// The part of Execution that decides which thread runs. Included by model_execution.h alone.
#pragma once

#include <cstdlib>

#include "weft/testing/model_execution.h"

namespace weft::model {

inline bool Execution::run(const std::function<void()>& body) {
    serial()++;
    choices_.begin_execution();
    memory_.clear();
    events_.clear();
    thread_count_ = 0;
    running_ = 0;
    preemptions_ = 0;
    spurious_failures_ = 0;
    writes_ = 0;
    steps_ = 0;
    running_free_ = false;
    sleeping_ = ThreadSet();
    restricted_ = ThreadSet();

    current_execution = this;
    start(0, [&body] { body(); });
    threads_[0].clock[0] = 1;
    {
        LeaksAllowed leaks_allowed;  // see fail()
        threads_[0].context.switch_from(root_);
    }
    current_execution = nullptr;
    return failure_.empty();
}

inline void Execution::start(ThreadIndex index, Job job) {
    VirtualThread& thread = threads_[index];
    thread_count_ = static_cast<ThreadIndex>(index + 1);
    thread.execution = this;
    thread.index = index;
    thread.starter = kNobody;
    thread.is_woken = false;
    thread.is_local = true;
    thread.job = std::move(job);
    thread.next = Operation{};
    thread.clock = VectorClock();
    thread.reads.clear();
    // A thread that has ended stays suspended on its stack until the next execution gives it a job.
    if (!thread.context.is_started()) thread.context.start(&Execution::thread_main, &thread);
}

inline void Execution::thread_main(void* argument) {
    auto& thread = *static_cast<VirtualThread*>(argument);
    for (;;) {
        thread.job();
        thread.job = nullptr;
        thread.execution->finish();
    }
}

inline void Execution::finish() {
    VirtualThread& self = threads_[running_];
    self.next = Operation{};
    if (self.index == 0) {
        if (!all_others_finished(0)) fail("the body returned before join_all()");
        root_.switch_from(self.context);
    } else if (self.starter != kNobody) {
        switch_to(std::exchange(self.starter, kNobody));
    } else {
        schedule();
    }
}

inline void Execution::spawn(Job job) {
    if (thread_count_ == kThreadsMax) fail("more threads than the checker has");
    VirtualThread& parent = threads_[running_];
    ThreadIndex index = thread_count_;
    start(index, std::move(job));
    VirtualThread& child = threads_[index];
    child.starter = running_;
    child.clock = parent.clock;
    child.clock[index] = 1;
    parent.clock[parent.index]++;
    // It runs to its first operation and switches back: no other thread can notice what it does
    // before that.
    switch_to(index);
}

inline void Execution::join_all(Where where) {
    arrive_at(Operation{.kind = Operation::Kind::Join, .where = where});
    VirtualThread& self = threads_[running_];
    for (ThreadIndex i = 0; i < thread_count_; ++i) self.clock.join(threads_[i].clock);
    done(Event{self.next, running_});
}

inline void Execution::fail(std::string text) {
    failure_ = std::move(text);
    // The virtual threads stay suspended until their stacks are freed: nothing is unwound, because
    // the code under test may be noexcept. What they own is leaked.
    root_.switch_from(threads_[running_].context);
    std::abort();
}

inline void Execution::switch_to(ThreadIndex index) {
    ThreadIndex self = std::exchange(running_, index);
    threads_[index].context.switch_from(threads_[self].context);
}

inline void Execution::arrive_at(Operation next) {
    VirtualThread& self = threads_[running_];
    self.next = next;
    self.is_local = false;
    if (self.starter != kNobody) {
        switch_to(std::exchange(self.starter, kNobody));
    } else {
        schedule();
    }
    self.clock[self.index]++;
}

inline Location& Execution::arrive(Operation next) {
    arrive_at(next);
    Location& location = memory_[next.location];
    if (const char* refusal = location.refuse(clock())) {
        fail(std::string(refusal) + ": " + describe(next, memory_) + " at " + place(next.where));
    }
    return location;
}

inline void Execution::schedule() {
    if (++steps_ > options_.max_steps) {
        fail("livelock: more steps than max_steps (a spin loop without env::spin_pause()?)");
    }
    ThreadIndex next = pick_thread();
    if (next != running_) switch_to(next);
}

inline ThreadIndex Execution::pick_thread() {
    ThreadSet enabled;
    for (ThreadIndex i = 0; i < thread_count_; ++i) {
        if (is_enabled(threads_[i])) enabled.insert(i);
    }
    if (enabled.empty()) fail("deadlock: every thread waits");

    bool could_go_on =
        enabled.contains(running_) && threads_[running_].next.kind != Operation::Kind::Spin;
    ThreadSet candidates = enabled;
    if (could_go_on && preemptions_ >= options_.preemption_bound) {
        candidates = ThreadSet::of(running_);
    }
    if (reduces() && !running_free_) {
        candidates = enabled - sleeping_;
        if (candidates.empty()) {
            running_free_ = true;
            candidates = enabled;
        }
    }
    ThreadIndex next = choose_thread(candidates);
    if (could_go_on && next != running_) preemptions_++;
    return next;
}

inline ThreadIndex Execution::choose_thread(ThreadSet candidates) {
    if (candidates.size() == 1) return candidates.first();
    if (running_free_) return candidates.contains(running_) ? running_ : candidates.first();
    Choices::Thread choice = choices_.choose_thread(candidates, running_);
    if (choices_.has_diverged()) fail("the body does not repeat itself: it is not deterministic");
    if (!reduces()) return choice.taken;
    for (ThreadIndex i = 0; i < thread_count_; ++i) {
        if (!choice.explored.contains(i)) continue;
        VirtualThread& thread = threads_[i];
        sleeping_.insert(i);
        restricted_.erase(i);
        if (thread.next.has_location()) {
            thread.new_from = memory_[thread.next.location].latest() + 1;
        }
    }
    return choice.taken;
}

inline std::uint32_t Execution::choose_value(std::uint32_t options) {
    if (options == 1 || running_free_) return 0;
    std::uint32_t choice = choices_.choose_value(options);
    if (choices_.has_diverged()) fail("the body does not repeat itself: it is not deterministic");
    return choice;
}

inline bool Execution::is_enabled(const VirtualThread& thread) const {
    switch (thread.next.kind) {
    case Operation::Kind::Finish: return false;
    case Operation::Kind::Join: return all_others_finished(thread.index);
    case Operation::Kind::FutexWoken: return thread.is_woken;
    case Operation::Kind::Spin:
        if (thread.spin_reads.empty()) return writes_ != thread.spin_writes;
        for (const Read& read : thread.spin_reads) {
            if (memory_[read.location].latest_value() != read.value) return true;
        }
        return false;
    default: return true;
    }
}

inline bool Execution::all_others_finished(ThreadIndex index) const {
    for (ThreadIndex i = 0; i < thread_count_; ++i) {
        if (i != index && threads_[i].next.kind != Operation::Kind::Finish) return false;
    }
    return true;
}

inline void Execution::done(Event event) {
    VirtualThread& self = threads_[event.thread];
    // The operation that was just done does not publish what the thread does after it.
    self.clock[self.index]++;
    self.is_local = true;
    if (event.wrote) writes_++;
    restricted_.erase(event.thread);
    events_.push_back(event);
    if (reduces()) wake_sleeping(event);
}

inline std::string Execution::trace() const {
    std::string text = failure_ + "\n";
    for (const Event& event : events_) text += "    " + describe(event, memory_) + "\n";
    for (ThreadIndex i = 0; i < thread_count_; ++i) {
        const VirtualThread& thread = threads_[i];
        if (thread.next.kind == Operation::Kind::Finish) continue;
        text += "  T" + std::to_string(i) + (thread.is_local ? " is behind " : " is at ") +
                describe(thread.next, memory_) + ", " + place(thread.next.where) + "\n";
    }
    return text;
}

}  // namespace weft::model
