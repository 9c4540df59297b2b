#include "weft/sync/internal/wait_queue.h"

#include "weft/sync/internal/jump_return.h"

#if defined(__x86_64__) && !defined(__ILP32__)
// rcx may be overwritten at a return: it is neither callee-saved nor does it carry a result.
asm(R"(
    .pushsection .text
    .p2align 4
    .globl __x86_return_thunk
    .hidden __x86_return_thunk
    .type __x86_return_thunk, @function
__x86_return_thunk:
    popq %rcx
    notrack jmp *%rcx
    .size __x86_return_thunk, . - __x86_return_thunk
    .popsection
)");
#endif

namespace weft::sync_internal {

WEFT_RETURN_BY_JUMP Result<void> WaitQueue::wait(SpinLock& lock, WaitEntry& entry,
                                                 WaitReason reason, const void* object,
                                                 const Until& until, Place place) {
    WEFT_DASSERT(lock.is_locked(), "the lock of the queue is held");
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
