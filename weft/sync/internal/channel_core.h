// ChannelCore: the part of a channel that does not depend on the type of its items: the waiters,
// and how their waits end. Whenever the lock is free:
//   - there are waiting receivers only while no item is stored and no sender waits;
//   - there are waiting senders only while the stored items fill the capacity;
//   - nobody waits in a closed channel.
// Entries whose wait has timed out or was cancelled may still be queued; they do not count.
// Any fiber or thread, under the lock where a function says so.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/base/assert.h"
#include "weft/base/planted.h"
#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/sync/internal/wait_queue.h"

namespace weft::sync_internal {

struct ChannelEntry : WaitEntry {
    // What the claimer did with the item.
    enum class Outcome : std::uint8_t { None, Passed, Closed };

    void* item = nullptr;  // a receiver's Result<T>, which holds no item yet, or a sender's T
    Outcome outcome = Outcome::None;
};

// The outcome of an attempt to send or receive without waiting.
enum class Attempt : std::uint8_t { Done, Closed, MustWait, MustGrow, OutOfMemory, AtLimit };
// The error for an attempt that is not Done; for MustWait it is Unavailable.
Error error_of(Attempt attempt);

// A number that no other channel of the process has. select locks channels in this order.
std::uint64_t next_channel_id();

class ChannelCore {
public:
    static constexpr std::uint32_t kUnbounded = UINT32_MAX;

    explicit ChannelCore(std::uint32_t capacity) : capacity_(capacity) {}
    ChannelCore(const ChannelCore&) = delete;
    ChannelCore& operator=(const ChannelCore&) = delete;
    ~ChannelCore();

    // Lock held. Claims the first waiter; the caller passes the item, unlocks and resumes it.
    static ChannelEntry* claim(WaitQueue& queue) {
        auto* entry = static_cast<ChannelEntry*>(queue.claim_first());
        if (!entry) return nullptr;
        WEFT_DASSERT(entry->outcome == ChannelEntry::Outcome::None, "an entry is claimed once");
        entry->outcome = ChannelEntry::Outcome::Passed;
        return entry;
    }

    // Both are called with the lock held and release it. They wait in one of the two queues; `item`
    // as in ChannelEntry. True if the item was passed; else `error` says why not. `error` must be
    // Closed at the call, and may be part of the receiver's `item`.
    bool wait(WaitQueue& queue, void* item, const Until& until, Error& error);
    bool wait_with_end(WaitQueue& queue, void* item, const Until& until, Error& error);
    // Removes the entry of a wait that was not claimed by the channel, if it is still queued.
    void leave(WaitQueue& queue, ChannelEntry& entry);

    void close() noexcept;

    SpinLock lock_;
    bool closed_ = false;
    const std::uint32_t capacity_;
    WaitQueue receivers_;
    WaitQueue senders_;
};

}  // namespace weft::sync_internal
