#include "weft/fiber/schedule/memory_return.h"

#include <malloc.h>

#include <algorithm>

#include "weft/base/env.h"
#include "weft/base/sanitizer.h"
#include "weft/fiber/schedule/scheduler.h"
#include "weft/fiber/schedule/worker.h"
#include "weft/fiber/switch/fiber_block.h"
#include "weft/fiber/switch/stack.h"

namespace weft {
namespace {

// What was not needed for this long is given back.
constexpr std::int64_t kLookNs = 1'500'000'000;
// For fewer than this the workers and malloc are not asked.
constexpr std::size_t kMuch = 64;
// malloc is asked to give memory back after the first and the last of this many looks: what
// belongs to fibers is freed with them, what other pools keep for a while is freed a little later.
constexpr unsigned kHeapLooks = 16;

void trim_heap() {
#ifdef __GLIBC__
    if (!sanitizer::knows_stacks) ::malloc_trim(0);
#endif
}

}  // namespace

void MemoryReturn::start() {
    unsigned count = scheduler_.worker_count();
    requests_ = std::make_unique<Request[]>(count);
    for (unsigned i = 0; i < count; ++i) {
        requests_[i].worker = &scheduler_.worker(i);
        requests_[i].run = [](Completion& completion) {
            auto& request = static_cast<Request&>(completion);
            request.worker->shrink_caches();
            // Release: the record may be posted again.
            request.is_posted.store(false, std::memory_order_release);
        };
    }
}

std::int64_t MemoryReturn::due_ns(std::int64_t now_ns) {
    bool wanted =
        !workers_asked_ || heap_looks_ > 0 || stacks::has_spare() || fiber_blocks::has_spare();
    if (!wanted) return kNeverNs;
    return std::max(next_ns_, now_ns);
}

void MemoryReturn::look_if_due(std::int64_t now_ns) {
    if (now_ns < next_ns_) return;
    next_ns_ = now_ns + kLookNs;
    std::size_t released = stacks::trim_spare() + fiber_blocks::trim_spare();
    if (released >= kMuch) {
        heap_looks_ = kHeapLooks;
        workers_asked_ = false;
        return;
    }
    if (!workers_asked_) ask_workers();
    if (heap_looks_ == 0) return;
    --heap_looks_;
    if (heap_looks_ == kHeapLooks - 1 || heap_looks_ == 0) trim_heap();
}

// Posts to each worker once; what the workers give to the pools is trimmed by later looks.
void MemoryReturn::ask_workers() {
    workers_asked_ = true;
    for (unsigned i = 0; i < scheduler_.worker_count(); ++i) {
        // Acquire: the worker has done with it.
        if (requests_[i].is_posted.exchange(true, std::memory_order_acquire)) continue;
        scheduler_.post(i, requests_[i]);
    }
}

}  // namespace weft
