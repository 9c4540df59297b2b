#include "weft/sync/internal/wait_queue.h"

namespace weft::sync_internal {

Result<void> WaitQueue::wait(SpinLock& lock, WaitEntry& entry, WaitReason reason,
                             const void* object, const Until& until, Place place) {
    Waiter waiter(reason, object, until.cancellable);
    entry.ref = waiter.ref();
    if (place == Place::Back) {
        list_.push_back(entry);
    } else {
        list_.push_front(entry);
    }
    lock.unlock();
    Wake wake =
        until.token ? waiter.wait(until.deadline, until.token) : waiter.wait(until.deadline);
    if (wake == Wake::Ready) [[likely]]
        return {};
    return waiter.to_result(wake);
}

}  // namespace weft::sync_internal
