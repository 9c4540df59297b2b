#include "weft/http/server/internal/permits.h"

#include <algorithm>

namespace weft::http {
namespace {

// After so many times of borrowing a shard has had an even share of all permits.
constexpr std::size_t kBatchesOfShare = 8;

}  // namespace

void Permits::configure(std::size_t permits, std::size_t waiting_max, std::size_t shards) {
    WEFT_ASSERT(!shares_ && shards > 0, "permits are configured once");
    shares_ = std::make_unique<Share[]>(shards);
    shards_ = shards;
    batch_ = std::max<std::size_t>(permits / (shards * kBatchesOfShare), 1);
    waiting_max_ = waiting_max;
    // Relaxed: no other thread uses this yet.
    unassigned_.store(std::max<std::size_t>(permits, 1), std::memory_order_relaxed);
}

// Takes at most so many, and gives how many. seq_cst: see give_back().
std::uint64_t Permits::take_from(Count& count, std::uint64_t most) {
    std::uint64_t there = count.load(std::memory_order_seq_cst);
    while (there != 0) {
        std::uint64_t taken = std::min(there, most);
        if (count.compare_exchange_weak(there, there - taken, std::memory_order_seq_cst,
                                        std::memory_order_seq_cst))
            return taken;
    }
    return 0;
}

// Takes one permit for the caller, and a few more for the shard's share.
bool Permits::borrow(std::size_t shard) {
    std::uint64_t taken = take_from(unassigned_, batch_);
    for (std::size_t step = 1; taken == 0 && step < shards_; ++step)
        taken = take_from(shares_[(shard + step) % shards_].permits, batch_);
    // One may have been offered to a request that has stopped waiting.
    if (taken == 0) return queue_.try_acquire();
    if (taken > 1) {
        shares_[shard].permits.fetch_add(taken - 1, std::memory_order_seq_cst);
        // A request that has begun to wait meanwhile has not seen them.
        if (waiting_.load(std::memory_order_seq_cst) != 0) offer_to_waiters(shares_[shard].permits);
    }
    return true;
}

bool Permits::take_slow(std::size_t shard, Nanoseconds wait_max) {
    if (borrow(shard)) return true;
    // seq_cst: counted before the last try; see give_back().
    bool taken = false;
    if (waiting_.fetch_add(1, std::memory_order_seq_cst) < waiting_max_) {
        taken = take_one(shares_[shard].permits) || borrow(shard) ||
                queue_.acquire_for(wait_max).has_value();
    }
    std::size_t waited = waiting_.fetch_sub(1, std::memory_order_seq_cst);
    WEFT_ASSERT(waited > 0, "this one was counted");
    return taken;
}

// Moves permits into the queue for the waiting requests. Those that nobody takes stay there for the
// next one, see borrow().
void Permits::offer_to_waiters(Count& count) {
    std::uint64_t taken = take_from(count, waiting_.load(std::memory_order_seq_cst));
    if (taken != 0) queue_.release(taken);
}

std::size_t Permits::available() const {
    std::size_t sum = unassigned_.load(std::memory_order_relaxed) + queue_.available();
    for (std::size_t shard = 0; shard < shards_; ++shard)
        sum += shares_[shard].permits.load(std::memory_order_relaxed);
    return sum;
}

}  // namespace weft::http
