#include "weft/sync/channel.h"

#include "weft/base/assert.h"
#include "weft/base/atomic.h"
#include "weft/base/planted.h"
#include "weft/fiber/schedule/quick_wait.h"  // tidy: allow layers: the switch is inlined here
#include "weft/sync/internal/jump_return.h"

namespace weft::sync_internal {

std::uint64_t next_channel_id() {
    static constinit Atomic<std::uint64_t> next{0};
    // Relaxed: the numbers need only be distinct; no other memory is read through them.
    return next.fetch_add(1, std::memory_order_relaxed);
}

Error error_of(Attempt attempt) {
    switch (attempt) {
    case Attempt::MustWait: return ErrorKind::Unavailable;
    case Attempt::OutOfMemory: return ErrorKind::OutOfMemory;
    case Attempt::AtLimit:
        return Error::limit("a channel would hold more items than", kChannelItemsMax,
                            "kChannelItemsMax");
    case Attempt::Closed:
    case Attempt::MustGrow:
    case Attempt::Done: break;
    }
    return ErrorKind::Closed;
}

ChannelCore::~ChannelCore() {
    SpinGuard guard(lock_);  // sees entries that other threads have queued
    WEFT_ASSERT(receivers_.empty() && senders_.empty(), "somebody still waits in the channel");
}

WEFT_RETURN_BY_JUMP bool ChannelCore::wait(WaitQueue& queue, void* item, const Until& until,
                                           Error& error) {
    WEFT_DASSERT(lock_.is_locked() && !closed_, "nobody waits in a closed channel");
    WEFT_DASSERT(error.kind() == ErrorKind::Closed, "the caller passes the error Closed");
    WaitCell* cell = QuickWait::cell();
    if (!cell || until.token || !until.deadline.is_never()) [[unlikely]]
        return wait_with_end(queue, item, until, error);
    QuickWait waiting(*cell, WaitReason::Channel, this);
    ChannelEntry entry;
    entry.item = item;
    entry.ref = waiting.ref();
    queue.push_back(entry);
    lock_.unlock();
    Wake wake = waiting.wait();
    if (WEFT_PLANTED("channel.close_hides_success") && closed_) return false;
    if (wake == Wake::Ready) [[likely]] {
        WEFT_DASSERT(entry.outcome != ChannelEntry::Outcome::None, "woken without an outcome");
        return entry.outcome == ChannelEntry::Outcome::Passed;
    }
    leave(queue, entry);
    error = cell->token->error();
    return false;
}

bool ChannelCore::wait_with_end(WaitQueue& queue, void* item, const Until& until, Error& error) {
    ChannelEntry entry;
    entry.item = item;
    Result<void> waited = queue.wait(lock_, entry, WaitReason::Channel, this, until);
    if (waited) {
        WEFT_DASSERT(entry.outcome != ChannelEntry::Outcome::None, "woken without an outcome");
        return entry.outcome == ChannelEntry::Outcome::Passed;
    }
    leave(queue, entry);
    error = waited.error();
    return false;
}

[[gnu::noinline, gnu::cold]] void ChannelCore::leave(WaitQueue& queue, ChannelEntry& entry) {
    SpinGuard guard(lock_);
    WEFT_ASSERT(entry.outcome == ChannelEntry::Outcome::None,
                "a wait that failed has neither sent nor received");
    if (!WEFT_PLANTED("channel.leaves_its_entry")) queue.remove(entry);
}

void ChannelCore::close() noexcept {
    Claimed claimed;
    {
        SpinGuard guard(lock_);
        closed_ = true;
        for (WaitQueue* queue : {&receivers_, &senders_}) {
            while (ChannelEntry* entry = claim(*queue)) {
                entry->outcome = ChannelEntry::Outcome::Closed;
                claimed.add(entry->ref);
                if (WEFT_PLANTED("channel.close_wakes_one")) break;
            }
        }
    }
    claimed.resume_all();
}

}  // namespace weft::sync_internal
