// Where things run: for those who spread their work over the workers of a runtime themselves, as
// servers do with their listeners.
//
// In a fiber, and in what runs in a worker's loop (a Dormant, a Completion, a Timer).
#pragma once

#include <optional>
#include <vector>

#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/fiber/completion.h"

namespace weft {

class Worker;

// The workers that may run what the caller spawns: its own if that is pinned, else all that are
// not. NoRuntime on a plain thread.
Result<std::vector<unsigned>> workers_here();

// The number of the worker that runs the caller, until its next wait; nothing on a plain thread.
std::optional<unsigned> worker_here();

// When the worker that runs the caller last looked at its clock: before it took in the events that
// it is at, and at every turn; for what needs no better. The clock's time on a plain thread.
Instant last_look();

// Runs the record on that worker, by one of those numbers.
Result<void> post_here(unsigned worker, Completion& completion);

// Takes up, here, what has come for the descriptors that another worker watches: their fibers wake,
// their Dormants are called by the caller's thread. For a worker that something keeps for long
// which is no fiber, or that is pinned: nobody else looks after it. Its timers and its records
// wait. Does not wait, and does nothing while that worker looks itself. Fibers of another worker.
Result<void> look_after(unsigned worker);

// A worker of the runtime that the caller runs in, to be named elsewhere. A value; any thread, as
// long as the runtime lives.
class WorkerName {
public:
    WorkerName() = default;  // of none
    // By one of those numbers.
    static Result<WorkerName> of(unsigned worker);

    // The caller runs on it, until its next wait.
    bool is_here() const;
    void post(Completion& completion) const;

private:
    explicit WorkerName(Worker& worker) : worker_(&worker) {}

    Worker* worker_ = nullptr;
};

}  // namespace weft
