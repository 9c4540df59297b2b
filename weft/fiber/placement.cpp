#include "weft/fiber/placement.h"

#include "weft/fiber/internal/scheduler.h"
#include "weft/fiber/internal/worker.h"

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

Result<void> post_here(unsigned worker, Completion& completion) {
    Worker* here = this_worker();
    if (!here) return ErrorKind::NoRuntime;
    if (worker >= here->scheduler().worker_count())
        return Error(ErrorKind::Misuse, "there is no such worker");
    here->scheduler().post(worker, completion);
    return {};
}

}  // namespace weft
