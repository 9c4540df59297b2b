// Permits: bounds how many requests of a server are in handlers at once, over all its shards.
//
// Each shard has a share of permits, and takes and returns them there, on a cache line of its own.
// A shard whose share is empty borrows a few that are not assigned to any shard, or of another
// shard's share. Where there are none, its request waits in the one queue of the server, first
// come, first served. So a busy shard gets the permits of those that have little to do.
//
// Any fiber. The number of a shard says whose share is tried first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "weft/base/assert.h"
#include "weft/base/atomic.h"
#include "weft/base/time.h"
#include "weft/sync/semaphore.h"

namespace weft::http {

class Permits {
public:
    Permits() = default;
    Permits(const Permits&) = delete;
    Permits& operator=(const Permits&) = delete;

    // Once, before the first is taken. At most `waiting_max` requests wait for one.
    void configure(std::size_t permits, std::size_t waiting_max, std::size_t shards);

    bool take(std::size_t shard, Nanoseconds wait_max) {
        WEFT_DASSERT(shard < shards_);
        if (take_one(shares_[shard].permits)) [[likely]]
            return true;
        return take_slow(shard, wait_max);
    }
    // The same without waiting.
    bool try_take(std::size_t shard) {
        WEFT_DASSERT(shard < shards_);
        return take_one(shares_[shard].permits) || borrow(shard);
    }
    void give_back(std::size_t shard) {
        WEFT_DASSERT(shard < shards_);
        // seq_cst: either a waiting request sees it in the share, or this sees that one waits.
        shares_[shard].permits.fetch_add(1, std::memory_order_seq_cst);
        if (waiting_.load(std::memory_order_seq_cst) != 0) [[unlikely]]
            offer_to_waiters(shares_[shard].permits);
    }

    // They may have changed when the caller sees them.
    std::size_t waiting() const { return waiting_.load(std::memory_order_relaxed); }
    std::size_t available() const;

private:
    using Count = Atomic<std::uint64_t>;
    struct alignas(64) Share {
        Count permits{0};
    };

    static std::uint64_t take_from(Count& count, std::uint64_t most);
    static bool take_one(Count& count) { return take_from(count, 1) != 0; }
    bool take_slow(std::size_t shard, Nanoseconds wait_max);
    bool borrow(std::size_t shard);
    void offer_to_waiters(Count& count);

    std::unique_ptr<Share[]> shares_;
    std::size_t shards_ = 0;
    std::uint64_t batch_ = 1;  // how many are borrowed at once
    std::size_t waiting_max_ = 0;
    alignas(64) Count unassigned_{0};
    Atomic<std::size_t> waiting_{0};
    Semaphore queue_{0};  // permits that were offered to waiting requests
};

}  // namespace weft::http
