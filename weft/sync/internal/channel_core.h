// ChannelCore: the part of a channel that does not know the type of its items: who waits, and how
// the waiting ends. What must stay true whenever the lock is free:
//   - somebody waits to receive only while no item is stored and nobody waits to send;
//   - somebody waits to send only while as many items are stored as the capacity allows;
//   - nobody waits in a closed channel.
// Entries whose wait has ended otherwise may still hang in a queue; they do not count.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/base/planted.h"
#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/sync/internal/wait_queue.h"

namespace weft::sync_internal {

struct ChannelEntry : WaitEntry {
    // What the claimer did.
    enum class Outcome : std::uint8_t { None, Passed, Closed };

    void* item = nullptr;  // a receiver's Result<T>, which holds no item yet, or a sender's T
    Outcome outcome = Outcome::None;
};

// What came of a try.
enum class Attempt : std::uint8_t { Done, Closed, MustWait, MustGrow, OutOfMemory, AtLimit };
// The error of one that is over and not Done; of MustWait it is Unavailable.
Error error_of(Attempt attempt);

// A number that no other channel of the process has: the order in which select locks.
std::uint64_t next_channel_id();

class ChannelCore {
public:
    static constexpr std::uint32_t kUnbounded = UINT32_MAX;

    explicit ChannelCore(std::uint32_t capacity) : capacity_(capacity) {}
    ChannelCore(const ChannelCore&) = delete;
    ChannelCore& operator=(const ChannelCore&) = delete;
    ~ChannelCore();

    // Lock held. The first that still waits, claimed; the caller passes the item and resumes it.
    static ChannelEntry* claim(WaitQueue& queue) {
        auto* entry = static_cast<ChannelEntry*>(queue.claim_first());
        if (entry) entry->outcome = ChannelEntry::Outcome::Passed;
        return entry;
    }

    // Lock held; released. Waits in one of the two queues; `item` as in ChannelEntry. True if it
    // was passed; else `error` says why not. It comes in as Closed, and may lie in a receiver's
    // item.
    bool wait(WaitQueue& queue, void* item, const Until& until, Error& error);
    bool wait_with_end(WaitQueue& queue, void* item, const Until& until, Error& error);
    void leave(WaitQueue& queue, ChannelEntry& entry);

    void close() noexcept;

    SpinLock lock_;
    bool closed_ = false;
    const std::uint32_t capacity_;
    WaitQueue receivers_;
    WaitQueue senders_;
};

}  // namespace weft::sync_internal
