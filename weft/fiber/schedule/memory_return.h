// MemoryReturn: gives memory that a burst has left unused back to the kernel: stacks and blocks of
// fibers that nobody has needed for a while, those in the caches of the workers, and free memory of
// malloc.
//
// Used by the monitor of one runtime only, which calls it now and then while there is something to
// give back.
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
    // When look_if_due() is to be called next; kNeverNs: there is nothing to give back.
    std::int64_t due_ns(std::int64_t now_ns);
    void look_if_due(std::int64_t now_ns);

private:
    // Asks a worker to empty its caches, which nobody else may touch.
    struct Request : Completion {
        Worker* worker = nullptr;
        Atomic<bool> is_posted{false};
    };

    void ask_workers();

    Scheduler& scheduler_;
    std::unique_ptr<Request[]> requests_;
    std::int64_t next_ns_ = 0;
    bool workers_asked_ = true;  // since much was given back last
    unsigned heap_looks_ = 0;    // how often malloc is still to be considered
};

}  // namespace weft
