// MemoryReturn: gives back to the kernel what a burst has left behind: stacks and blocks of fibers
// that nobody has needed for a while, the few that each worker keeps, and what malloc holds.
//
// Of one runtime's monitor, which calls it now and then as long as there is something to give back.
#pragma once

#include <cstdint>
#include <memory>

#include "weft/base/atomic.h"
#include "weft/fiber/completion.h"

namespace weft {

class Scheduler;
class Worker;

class MemoryReturn {
public:
    explicit MemoryReturn(Scheduler& scheduler) : scheduler_(scheduler) {}
    MemoryReturn(const MemoryReturn&) = delete;
    MemoryReturn& operator=(const MemoryReturn&) = delete;

    void start();  // when the workers are there
    // When look() is to be called next; kNeverNs: there is nothing to give back.
    std::int64_t due_ns(std::int64_t now_ns);
    void look_if_due(std::int64_t now_ns);

private:
    // A worker's own caches are its own: it empties them itself.
    struct Request : Completion {
        Worker* worker = nullptr;
        Atomic<bool> is_posted{false};
    };

    void ask_workers();

    Scheduler& scheduler_;
    std::unique_ptr<Request[]> requests_;
    std::int64_t next_ns_ = 0;
    bool workers_asked_ = true;  // since the last time that much was given back
    unsigned heap_looks_ = 0;    // until malloc needs no more looks
};

}  // namespace weft
