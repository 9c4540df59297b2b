// Placement: on which worker something runs, for code that distributes its work over the workers of
// a runtime itself, as servers do with their listeners.
//
// Any fiber, and whatever runs in a worker's loop (a Dormant, a Completion, a Timer), unless said
// otherwise.
#pragma once

#include <optional>
#include <vector>

#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/fiber/completion.h"

namespace weft {

class Worker;

// The workers that may run what the caller spawns: its own worker if that is pinned, else all that
// are not pinned. NoRuntime on a plain thread.
Result<std::vector<unsigned>> workers_here();

// The number of the worker that runs the caller, until its next wait; nothing on a plain thread.
std::optional<unsigned> worker_here();

// The time at which the worker that runs the caller last read its clock: before it took in the
// events that it now handles, and at every turn. Cheap, and not exact. On a plain thread the
// present time.
Instant last_look();

// Runs the record on the worker with that number.
Result<void> post_here(unsigned worker, Completion& completion);

// Polls the reactor of another worker, on the caller's thread: wakes the fibers that wait for its
// descriptors and calls its Dormants here. For a pinned worker, or one whose loop is kept busy by
// something that is not a fiber: the watchman does not look after those. Its timers and its records
// stay with it. Does not wait, and does nothing while that worker polls itself. Only from another
// worker.
Result<void> look_after(unsigned worker);

// Names a worker of the caller's runtime, for use elsewhere. A value; any thread, as long as the
// runtime lives.
class WorkerName {
public:
    WorkerName() = default;  // names no worker
    // The worker with that number.
    static Result<WorkerName> of(unsigned worker);

    // Whether the caller runs on it, until its next wait.
    bool is_here() const;
    void post(Completion& completion) const;

private:
    explicit WorkerName(Worker& worker) : worker_(&worker) {}

    Worker* worker_ = nullptr;
};

}  // namespace weft
