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
    SpinGuard guard(lock_);  // to see those who wait in other threads
    WEFT_ASSERT(receivers_.empty() && senders_.empty(), "somebody still waits in the channel");
}

bool ChannelCore::wait(WaitQueue& queue, void* item, const Until& until, Error& error) {
    Waiter waiter(WaitReason::Channel, this, until.cancellable);
    ChannelEntry entry;
    entry.item = item;
    Wake wake = queue.wait_inline(lock_, entry, waiter, until);
    if (WEFT_PLANTED("channel.close_hides_success") && closed_) return false;
    if (wake == Wake::Ready) [[likely]] return entry.outcome == ChannelEntry::Outcome::Passed;
    error = waiter.to_result(wake).error();
    SpinGuard guard(lock_);
    if (!WEFT_PLANTED("channel.leaves_its_entry")) queue.remove(entry);
    return false;
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
