#include "weft/fiber/schedule/placement.h"

#include <array>
#include <span>

#include "weft/base/assert.h"
#include "weft/fiber/io/io_table.h"
#include "weft/fiber/schedule/scheduler.h"
#include "weft/fiber/schedule/worker.h"

namespace weft {

Result<std::vector<unsigned>> workers_here() {
    Worker* here = this_worker();
    if (!here) return ErrorKind::NoRuntime;
    if (here->is_pinned()) return std::vector{here->index()};
    Scheduler& scheduler = here->scheduler();
    std::vector<unsigned> workers;
    for (unsigned index = 0; index < scheduler.worker_count(); ++index) {
        if (!scheduler.worker(index).is_pinned()) workers.push_back(index);
    }
    return workers;
}

std::optional<unsigned> worker_here() {
    Worker* here = this_worker();
    if (!here) return std::nullopt;
    return here->index();
}

Instant last_look() {
    Worker* here = this_worker();
    return here ? Instant(Nanoseconds(here->coarse_now_ns())) : Clock::now();
}

Result<void> post_here(unsigned worker, Completion& completion) {
    Worker* here = this_worker();
    if (!here) return ErrorKind::NoRuntime;
    if (worker >= here->scheduler().worker_count())
        return Error(ErrorKind::Misuse, "there is no such worker");
    here->scheduler().post(worker, completion);
    return {};
}

Result<void> look_after(unsigned worker) {
    Worker* here = this_worker();
    if (!here) return ErrorKind::NoRuntime;
    Scheduler& scheduler = here->scheduler();
    if (worker >= scheduler.worker_count() || worker == here->index())
        return Error(ErrorKind::Misuse, "there is no such other worker");
    constexpr std::size_t kEvents = 128;
    std::array<IoEvent, kEvents> events;
    std::size_t count = scheduler.worker(worker).reactor().poll_for_owner(events);
    WEFT_ASSERT(count <= kEvents, "a reactor gives at most as many events as there is room");
    scheduler.io().dispatch(std::span(events).first(count));
    return {};
}

Result<WorkerName> WorkerName::of(unsigned worker) {
    Worker* here = this_worker();
    if (!here) return ErrorKind::NoRuntime;
    if (worker >= here->scheduler().worker_count())
        return Error(ErrorKind::Misuse, "there is no such worker");
    return WorkerName(here->scheduler().worker(worker));
}

bool WorkerName::is_here() const { return worker_ && this_worker() == worker_; }

void WorkerName::post(Completion& completion) const {
    worker_->scheduler().post(worker_->index(), completion);
}

}  // namespace weft
