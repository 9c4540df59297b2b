// The part of Execution that decides which orders need not be tried: sleep sets. Included by
// model_execution.h alone, whose first comment explains it.
#pragma once

#include "weft/testing/model_execution.h"

namespace weft::model {

inline void Execution::wake_sleeping(const Event& event) {
    for (ThreadIndex i = 0; i < thread_count_; ++i) {
        bool sleeps = sleeping_.contains(i);
        if (!sleeps && !restricted_.contains(i)) continue;
        Notice noticed = notice(threads_[i], event);
        if (noticed == Notice::None) continue;
        sleeping_.erase(i);
        if (noticed == Notice::All) {
            restricted_.erase(i);
        } else {
            restricted_.insert(i);
        }
    }
}

// How the next operation of `thread` depends on `event`. Two operations that do not depend on each
// other may be swapped; see the first comment of model_execution.h for loads and stores.
inline Execution::Notice Execution::notice(const VirtualThread& thread, const Event& event) const {
    using Kind = Operation::Kind;
    const Operation& next = thread.next;
    const Operation& past = event.operation;
    if (next.kind == Kind::Spin) {
        return event.wrote && spins_on(thread, past.location) ? Notice::All : Notice::None;
    }
    if (past.kind == Kind::Spin) {
        bool touches = next.may_write() && spins_on(threads_[event.thread], next.location);
        return touches ? Notice::All : Notice::None;
    }
    if (!next.has_location() || !past.has_location() || next.location != past.location) {
        return Notice::None;
    }
    if (next.is_futex() || past.is_futex()) {
        bool either_loads = next.kind == Kind::Load || past.kind == Kind::Load;
        return either_loads ? Notice::None : Notice::All;
    }
    if (is_seq_cst(next.order) && is_seq_cst(past.order)) return Notice::All;
    if (!event.wrote) return Notice::None;
    bool only_reads_old = next.kind == Kind::Load || next.kind == Kind::CompareExchange;
    return only_reads_old ? Notice::NewStore : Notice::All;
}

inline bool Execution::spins_on(const VirtualThread& thread, LocationIndex location) {
    if (thread.spin_reads.empty()) return true;
    for (const Read& read : thread.spin_reads) {
        if (read.location == location) return true;
    }
    return false;
}

}  // namespace weft::model
