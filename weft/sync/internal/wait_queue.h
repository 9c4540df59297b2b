// WaitQueue: the waiters of one object, in the order of their arrival. Every primitive of this
// folder waits in one. It is not synchronised: a SpinLock of its owner is held in every call.
//
// An entry lies in the frame of the waiting function. A waker takes it out of the queue under the
// lock and claims its wait. The frame of a claimed wait stays valid until resume(), which the waker
// calls without the lock. A waiter whose wait timed out or was cancelled takes the lock and removes
// its entry, unless a waker that was too late for the claim has removed it already.
#pragma once

#include "weft/base/assert.h"
#include "weft/base/intrusive_list.h"
#include "weft/base/planted.h"
#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/base/time.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/waiter.h"

namespace weft::sync_internal {

struct WaitEntry {
    WaitRef ref;
    ListLink link;
};

// What ends a wait besides the event that it waits for.
struct Until {
    Deadline deadline = Deadline::never();
    CancelState* token = nullptr;  // besides the ambient one
    Cancellable cancellable = Cancellable::Yes;

    constexpr Until() = default;
    explicit Until(Deadline by, Cancellable whether = Cancellable::Yes)
        : deadline(by), cancellable(whether) {}
    Until(Deadline by, const CancelToken& also) : deadline(by), token(also.state()) {}
};

// A constant, so that calls which need not wait do not construct an Until.
inline constexpr Until kForever;

// A list of claimed waits, to be resumed in this order after the lock was released.
class Claimed {
public:
    void add(WaitRef ref) {
        WaitCell* cell = ref.cell();
        WEFT_DASSERT(cell->word.peek() == 0, "only a claimed wait may be resumed");
        cell->next = nullptr;
        *end_ = cell;
        end_ = &cell->next;
    }
    void resume_all() {
        while (WaitCell* cell = first_) {
            first_ = cell->next;
            WaitRef(*cell, 0).resume();
        }
        end_ = &first_;
    }
    Claimed() = default;
    Claimed(const Claimed&) = delete;
    Claimed& operator=(const Claimed&) = delete;
    ~Claimed() { WEFT_ASSERT(!first_, "a claimed wait was never resumed"); }

private:
    WaitCell* first_ = nullptr;
    WaitCell** end_ = &first_;
};

class WaitQueue {
public:
    enum class Place : bool { Back, Front };

    bool empty() const { return list_.empty(); }
    WaitEntry* front() const { return list_.front(); }

    void push_back(WaitEntry& entry) { list_.push_back(entry); }
    void remove(WaitEntry& entry) {
        if (entry.link.is_linked()) list_.erase(entry);
    }

    // Takes entries out of the queue until one can be claimed; null when there is none.
    WaitEntry* claim_first() {
        while (WaitEntry* entry = list_.pop_front()) {
            if (entry->ref.try_claim(Wake::Ready)) return entry;
            if (WEFT_PLANTED("wait_queue.wakes_the_ended")) return entry;
        }
        return nullptr;
    }
    void claim_all(Claimed& claimed) {
        while (WaitEntry* entry = claim_first()) claimed.add(entry->ref);
    }

    // Queues the entry, releases the lock and waits. On an error the entry may still be queued: the
    // caller takes the lock and removes it.
    Result<void> wait(SpinLock& lock, WaitEntry& entry, WaitReason reason, const void* object,
                      const Until& until, Place place = Place::Back);

private:
    IntrusiveList<WaitEntry, &WaitEntry::link> list_;
};

}  // namespace weft::sync_internal
