// The part of Execution that performs the operations on atomics. Included by model_execution.h
// alone.
#pragma once

#include "weft/testing/model_execution.h"

namespace weft::model {

inline LocationIndex Execution::create(std::uint64_t initial) {
    return memory_.create(initial, running_, clock()[running_]);
}

inline LocationIndex Execution::create_before(std::uint64_t initial) {
    return memory_.create(initial, 0, 0);
}

inline void Execution::end(LocationIndex index) {
    Location& location = memory_[index];
    if (const char* refusal = location.refuse_end(clock())) {
        fail(std::string(refusal) + ": " + name_of(index, memory_));
    }
    location.end();
}

inline StoreIndex Execution::oldest_readable(const Location& location,
                                             std::memory_order order) const {
    const VirtualThread& self = threads_[running_];
    StoreIndex oldest = location.oldest_readable(self.clock, order);
    if (restricted_.contains(running_) && !running_free_) oldest = std::max(oldest, self.new_from);
    return oldest;
}

inline void Execution::remember_read(VirtualThread& thread, Read read) {
    for (Read& earlier : thread.reads) {
        if (earlier.location != read.location) continue;
        earlier = read;
        return;
    }
    thread.reads.push_back(read);
}

inline std::uint64_t Execution::load(LocationIndex index, std::memory_order order, Where where) {
    Location& location = arrive(Operation{Operation::Kind::Load, index, order, where});
    VirtualThread& self = threads_[running_];
    StoreIndex latest = location.latest();
    std::uint32_t missed = choose_value(latest - oldest_readable(location, order) + 1);
    StoreIndex taken = latest - missed;
    std::uint64_t value = location.store(taken).value;
    location.read(taken, running_, self.clock, order);
    remember_read(self, Read{index, taken, value});
    done(Event{self.next, running_, false, value, 0, missed});
    return value;
}

inline void Execution::store(LocationIndex index, std::uint64_t value, std::memory_order order,
                             Where where) {
    Location& location = arrive(Operation{Operation::Kind::Store, index, order, where});
    VirtualThread& self = threads_[running_];
    location.write(value, running_, self.clock, order);
    done(Event{self.next, running_, true, 0, value});
}

// Success reads the latest store. A failure is a load: it may also read an older store that has
// another value. A weak one may fail on the expected value, too.
inline std::uint64_t Execution::compare_exchange(LocationIndex index, const Exchange& exchange,
                                                 bool& exchanged, Where where) {
    std::memory_order order = is_seq_cst(exchange.failure) ? exchange.failure : exchange.success;
    Location& location = arrive(Operation{Operation::Kind::CompareExchange, index, order, where});
    VirtualThread& self = threads_[running_];
    StoreIndex latest = location.latest();
    StoreIndex oldest = oldest_readable(location, exchange.failure);
    bool can_succeed = location.latest_value() == exchange.expected;

    bool may_be_spurious = exchange.is_weak && spurious_failures_ < options_.spurious_failures;
    failures_.clear();
    for (StoreIndex i = latest + 1; i-- > oldest;) {
        bool differs = location.store(i).value != exchange.expected;
        if (differs || may_be_spurious) failures_.push_back(i);
    }
    auto options = static_cast<std::uint32_t>(failures_.size() + (can_succeed ? 1 : 0));
    std::uint32_t choice = choose_value(options);

    exchanged = can_succeed && choice == 0;
    if (exchanged) {
        location.update(exchange.desired, running_, self.clock, exchange.success);
        remember_read(self, Read{index, location.latest(), exchange.desired});
        self.next.order = exchange.success;
        done(Event{self.next, running_, true, exchange.expected, exchange.desired});
        return exchange.expected;
    }
    StoreIndex taken = failures_[can_succeed ? choice - 1 : choice];
    std::uint64_t value = location.store(taken).value;
    if (value == exchange.expected) spurious_failures_++;
    location.read(taken, running_, self.clock, exchange.failure);
    remember_read(self, Read{index, taken, value});
    self.next.order = exchange.failure;
    done(Event{self.next, running_, false, value, 0, latest - taken});
    return value;
}

inline void Execution::spin(Where where) {
    VirtualThread& self = threads_[running_];
    self.spin_reads.swap(self.reads);
    self.reads.clear();
    self.spin_writes = writes_;
    arrive_at(Operation{.kind = Operation::Kind::Spin, .where = where});
    // Stores become visible in the end; otherwise a loop could read the same old value for ever.
    for (const Read& read : self.spin_reads) {
        Location& location = memory_[read.location];
        if (location.latest() > read.store && location.refuse(self.clock) == nullptr) {
            location.see(read.store + 1, running_, self.clock);
        }
    }
    done(Event{self.next, running_});
}

// As in the kernel, the comparison is with the latest value, and a thread that waits is never
// missed by a later wake.
inline void Execution::futex_wait(LocationIndex index, std::uint64_t expected, Where where) {
    using Kind = Operation::Kind;
    Location& location =
        arrive(Operation{Kind::FutexWait, index, std::memory_order_relaxed, where});
    VirtualThread& self = threads_[running_];
    std::uint64_t value = location.latest_value();
    bool sleeps = value == expected;
    if (sleeps) location.sleepers().push_back(running_);
    done(Event{self.next, running_, sleeps, value});
    if (!sleeps) return;
    self.is_woken = false;
    arrive_at(Operation{.kind = Kind::FutexWoken, .location = index, .where = where});
    done(Event{self.next, running_});
}

inline void Execution::futex_wake(LocationIndex index, unsigned count, Where where) {
    Location& location =
        arrive(Operation{Operation::Kind::FutexWake, index, std::memory_order_relaxed, where});
    std::vector<ThreadIndex>& sleepers = location.sleepers();
    for (; count != 0 && !sleepers.empty(); --count) {
        threads_[sleepers.front()].is_woken = true;
        sleepers.erase(sleepers.begin());
    }
    done(Event{threads_[running_].next, running_});
}

}  // namespace weft::model
