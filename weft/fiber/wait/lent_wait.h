// LentWait: waits for the end of an operation that works on the waiting function's frame.
//
// A request to the kernel, or a job of the blocking pool, holds pointers into the frame of the
// function that started it. That function must therefore not return before the operation has ended:
// on a cancellation or at the deadline it asks for an early end and then goes on waiting.
// complete() is the last access by the thread that performed the operation.
#pragma once

#include "weft/base/assert.h"
#include "weft/base/planted.h"
#include "weft/base/spin_lock.h"
#include "weft/base/time.h"
#include "weft/fiber/waiter.h"

namespace weft {

class LentWait {
public:
    LentWait() = default;
    LentWait(const LentWait&) = delete;
    LentWait& operator=(const LentWait&) = delete;

    // Any thread, once. Afterwards the object may be gone.
    void complete() {
        lock_.lock();
        WEFT_DASSERT(!done_, "an operation ends once");
        done_ = true;
        WaitRef waiter = waiter_;
        lock_.unlock();
        // If nobody waits yet, or the waiter was cancelled meanwhile, nobody is to be resumed: the
        // next wait finds done_.
        if (waiter.cell() && waiter.try_claim(Wake::Ready)) waiter.resume();
    }

    // By the function that owns the frame: waits until the operation has ended. When the wait is
    // cancelled or times out, `ask_to_end` is called once. True means that the operation had not
    // begun and never will; false that complete() will still come, and is awaited. The error says
    // that the wait was cut short, even if the operation succeeded.
    template <class AskToEnd>
    Result<void> wait(WaitReason reason, const void* object, Deadline deadline, CancelState* token,
                      AskToEnd&& ask_to_end);
    // The same for an operation that nothing can end early.
    void wait_to_the_end(WaitReason reason, const void* object) {
        for (;;) {
            lock_.lock();
            if (done_) return lock_.unlock();
            Waiter waiter(reason, object, Cancellable::No);
            waiter_ = waiter.ref();
            lock_.unlock();
            waiter.wait();
        }
    }

private:
    SpinLock lock_;
    bool done_ = false;  // under lock_, as is the next
    WaitRef waiter_;
};

template <class AskToEnd>
Result<void> LentWait::wait(WaitReason reason, const void* object, Deadline deadline,
                            CancelState* token, AskToEnd&& ask_to_end) {
    lock_.lock();
    if (done_) {
        lock_.unlock();
        return {};
    }
    WEFT_DASSERT(!waiter_.cell(), "one function waits for an operation, and once");
    Waiter waiter(reason, object);
    waiter_ = waiter.ref();
    lock_.unlock();
    Wake wake = waiter.wait(deadline, token);
    if (wake == Wake::Ready) return {};  // by complete(), which has released the lock
    Result<void> result = waiter.to_result(wake);
    if (!ask_to_end() && !WEFT_PLANTED("blocking.leaves_the_call_running"))
        wait_to_the_end(reason, object);
    return result;
}

}  // namespace weft
