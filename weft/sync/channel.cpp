#include "weft/sync/channel.h"

#include "weft/base/atomic.h"

namespace weft::sync_internal {

std::uint64_t next_channel_id() {
    static constinit Atomic<std::uint64_t> next{0};
    // Relaxed: only the numbers matter; no other memory is read through them.
    return next.fetch_add(1, std::memory_order_relaxed);
}

Error error_of(Attempt attempt) {
    switch (attempt) {
    case Attempt::MustWait: return ErrorKind::Unavailable;
    case Attempt::OutOfMemory: return ErrorKind::OutOfMemory;
    case Attempt::AtLimit: return ErrorKind::Limit;
    case Attempt::Closed:
    case Attempt::MustGrow:
    case Attempt::Done: break;
    }
    return ErrorKind::Closed;
}

ChannelCore::~ChannelCore() {
    WEFT_ASSERT(receivers_.empty() && senders_.empty(), "somebody still waits in the channel");
}

Result<void> ChannelCore::wait(WaitQueue& queue, void* item, const Until& until) {
    ChannelEntry entry;
    entry.item = item;
    Result<void> waited = queue.wait(lock_, entry, WaitReason::Channel, this, until);
    if (entry.outcome == ChannelEntry::Outcome::Passed) [[likely]]
        return waited;
    if (waited) return ErrorKind::Closed;
    SpinGuard guard(lock_);
    queue.remove(entry);
    return waited;
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
