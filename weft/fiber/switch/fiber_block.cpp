#include "weft/fiber/switch/fiber_block.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>

#include "weft/base/env.h"
#include "weft/base/sanitizer.h"
#include "weft/fiber/switch/debug_layout.h"
#include "weft/fiber/switch/locals.h"

namespace weft::fiber_blocks {
namespace {
struct Chunk;
}

struct Depot {
    SpinLock lock;
    Fiber* free = nullptr;
    std::size_t free_count = 0;
    std::size_t spare = 0;    // the fewest that were free since the last trim
    bool is_settled = false;  // nothing has changed since a trim has examined all of them
    Chunk* bare = nullptr;    // chunks whose memory was given back
    Atomic<Chunk*> newest{nullptr};
    Depot* next = nullptr;  // in the list of depots that no simulation uses
};

namespace {

constexpr std::size_t kHugeBytes = 2 << 20;
constexpr std::size_t kFirstChunkBytes = 64 << 10;
constexpr std::size_t kPieceBytes = 64 * sizeof(Fiber);  // what a cache takes at once

// A chunk starts with its header; the blocks follow.
struct Chunk {
    Chunk* older = nullptr;
    std::byte* end = nullptr;          // of the mapping
    Atomic<std::byte*> used{nullptr};  // blocks before this address may be live
    std::size_t free_count = 0;        // during a trim: how many of its blocks are free
    bool is_leaving = false;           // during a trim: its memory goes back to the kernel
    // After its memory was given back: the blocks from `again` to `again_end` are still to be
    // constructed anew, their waits counting from `epoch`. Null when all of them were.
    std::byte* again = nullptr;
    std::byte* again_end = nullptr;
    std::uint64_t epoch = 0;
    Chunk* next_bare = nullptr;
    std::byte* begin() { return reinterpret_cast<std::byte*>(this) + kHeaderBytes; }
    static constexpr std::size_t kHeaderBytes = 192;
};

constinit Depot process_depot;  // tidy: allow global: memory pool of the process

Depot& depot() {
    Env* simulated = env::current();
    return simulated ? simulated->block_depot() : process_depot;
}

struct SimulatedDepots {
    SpinLock lock;
    Depot* free = nullptr;
};
constinit SimulatedDepots simulated_depots;  // tidy: allow global: memory pool of the process

// The first chunk is small, so that a small program stays small; later ones are huge pages, because
// the faults of a million blocks would cost more than running the fibers.
Chunk* map_chunk(bool first) {
    std::size_t bytes = first ? kFirstChunkBytes : kHugeBytes;
    std::size_t mapped = first ? bytes : 2 * kHugeBytes;
    void* address =
        mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (address == MAP_FAILED) return nullptr;
    auto begin = reinterpret_cast<std::uintptr_t>(address);
    if (!first) {
        std::uintptr_t aligned = (begin + kHugeBytes - 1) & ~(kHugeBytes - 1);
        if (aligned != begin) munmap(address, aligned - begin);
        std::uintptr_t tail = begin + mapped - (aligned + kHugeBytes);
        if (tail != 0) munmap(reinterpret_cast<void*>(aligned + kHugeBytes), tail);
        begin = aligned;
        madvise(reinterpret_cast<void*>(begin), kHugeBytes, MADV_HUGEPAGE);
    }
    auto* chunk = new (reinterpret_cast<void*>(begin)) Chunk;
    chunk->end = reinterpret_cast<std::byte*>(begin) + bytes;
    // Relaxed: published with the chunk.
    chunk->used.store(chunk->begin(), std::memory_order_relaxed);
    return chunk;
}

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kWorthWhile = 1024;  // fewer free blocks are not examined

// With the lock held. Constructs blocks of a chunk whose memory was given back.
void carve_again(Depot& here, std::byte*& begin, std::byte*& end, std::size_t bytes) {
    WEFT_DASSERT(here.lock.is_locked());
    Chunk& chunk = *here.bare;
    WEFT_DASSERT(chunk.again && chunk.again < chunk.again_end, "a bare chunk has blocks to make");
    // The kernel may gather its pages again.
    if (chunk.again == chunk.begin()) madvise(&chunk, kHugeBytes, MADV_HUGEPAGE);
    std::size_t room = static_cast<std::size_t>(chunk.again_end - chunk.again) / sizeof(Fiber);
    begin = chunk.again;
    end = begin + std::min(room, bytes / sizeof(Fiber)) * sizeof(Fiber);
    for (std::byte* place = begin; place != end; place += sizeof(Fiber)) {
        auto* fiber = new (place) Fiber;
        // A stale reference to an earlier wait of this block compares unequal to its word.
        fiber->word.start_from(chunk.epoch);
    }
    chunk.again = end;
    if (chunk.again != chunk.again_end) return;
    chunk.again = nullptr;
    here.bare = chunk.next_bare;
}

// With the lock held. Constructs a few blocks in fresh memory; none when memory is short.
void carve(Depot& here, std::byte*& begin, std::byte*& end, std::size_t bytes) {
    WEFT_DASSERT(here.lock.is_locked());
    WEFT_DASSERT(bytes >= sizeof(Fiber), "room for one block at least is asked for");
    Chunk* chunk = here.newest.load(std::memory_order_relaxed);
    std::byte* used = chunk ? chunk->used.load(std::memory_order_relaxed) : nullptr;
    if (!chunk || static_cast<std::size_t>(chunk->end - used) < sizeof(Fiber)) {
        if (here.bare) return carve_again(here, begin, end, bytes);
        Chunk* added = map_chunk(chunk == nullptr);
        if (!added) return;
        added->older = chunk;
        // Release: for_each walks the chunks without the lock.
        here.newest.store(added, std::memory_order_release);
        chunk = added;
        used = chunk->begin();
    }
    std::size_t room = static_cast<std::size_t>(chunk->end - used) / sizeof(Fiber);
    std::size_t count = std::min(room, bytes / sizeof(Fiber));
    begin = used;
    end = used + count * sizeof(Fiber);
    WEFT_ASSERT(begin < end && end <= chunk->end, "blocks lie in their chunk");
    for (std::byte* place = begin; place != end; place += sizeof(Fiber)) new (place) Fiber;
    // Release: the blocks are constructed; pairs with the acquire in for_each.
    chunk->used.store(end, std::memory_order_release);
}

// With the lock held.
Fiber* pop_free(Depot& here) {
    WEFT_DASSERT(here.lock.is_locked());
    Fiber* fiber = here.free;
    if (!fiber) return nullptr;
    WEFT_ASSERT(here.free_count > 0, "the count is that of the free list");
    here.free = static_cast<Fiber*>(fiber->next);
    --here.free_count;
    here.is_settled = false;
    here.spare = std::min(here.spare, here.free_count);
    return fiber;
}

void push_free(Depot& here, Fiber* fiber) {
    WEFT_DASSERT(here.lock.is_locked());
    fiber->next = here.free;
    here.free = fiber;
    ++here.free_count;
    here.is_settled = false;
}

// The chunk of a block; null for the first one, which is small and stays.
Chunk* chunk_of(const Fiber* fiber, Chunk* first) {
    auto address = reinterpret_cast<std::uintptr_t>(fiber);
    auto begin = reinterpret_cast<std::uintptr_t>(first);
    if (address >= begin && address < begin + kFirstChunkBytes) return nullptr;
    return reinterpret_cast<Chunk*>(address & ~(kHugeBytes - 1));
}

// Whether all its blocks are free, and no FiberId was made for any of them. Then it notes the epoch
// from which the waits of new blocks are to be counted.
bool can_leave(Chunk& chunk) {
    // Relaxed: blocks that are constructed behind it meanwhile do not matter.
    std::byte* used = chunk.used.load(std::memory_order_relaxed);
    auto blocks = static_cast<std::size_t>(used - chunk.begin()) / sizeof(Fiber);
    if (chunk.again)
        blocks -= static_cast<std::size_t>(chunk.again_end - chunk.again) / sizeof(Fiber);
    if (blocks == 0 || chunk.free_count != blocks) return false;
    std::uint64_t epoch = chunk.epoch;
    for (std::byte* place = chunk.begin(); place != used; place += sizeof(Fiber)) {
        auto* fiber = reinterpret_cast<Fiber*>(place);
        if (fiber->generation != 0) return false;
        epoch = std::max(epoch, fiber->word.next_epoch());
    }
    chunk.epoch = epoch;
    chunk.again = chunk.begin();
    chunk.again_end = used;
    return true;
}

// Gives back all pages but the first, whose header for_each() reads, and those behind the free
// blocks: in the newest chunk they may be in use by now.
void give_pages_back(Chunk& chunk) {
    auto* begin = reinterpret_cast<std::byte*>(&chunk);
    // Without this the kernel might turn the remaining pages into a huge page again.
    madvise(begin, kHugeBytes, MADV_NOHUGEPAGE);
    auto bytes = static_cast<std::size_t>(chunk.again_end - begin) & ~(kPageBytes - 1);
    if (bytes > kPageBytes) madvise(begin + kPageBytes, bytes - kPageBytes, MADV_DONTNEED);
}

bool is_bare(Depot& here, const Chunk& chunk) {
    SpinGuard guard(here.lock);
    return chunk.again != nullptr;
}

}  // namespace

Cache::~Cache() { shrink(); }

void Cache::shrink() {
    while (Fiber* fiber = free_) {
        free_ = static_cast<Fiber*>(fiber->next);
        fiber_blocks::put(fiber);
    }
    count_ = 0;
    for (; fresh_ != fresh_end_; fresh_ += sizeof(Fiber))
        fiber_blocks::put(reinterpret_cast<Fiber*>(fresh_));
}

Fiber* Cache::refill() {
    if (fresh_ == fresh_end_) {
        Depot& here = depot();
        SpinGuard guard(here.lock);
        while (count_ < kBatch) {
            Fiber* fiber = pop_free(here);
            if (!fiber) break;
            fiber->next = free_;
            free_ = fiber;
            ++count_;
        }
        if (!free_) carve(here, fresh_, fresh_end_, kPieceBytes);
    }
    if (free_) return take();
    if (fresh_ == fresh_end_) return nullptr;
    auto* fiber = reinterpret_cast<Fiber*>(fresh_);
    fresh_ += sizeof(Fiber);
    return fiber;
}

void Cache::spill() {
    Depot& here = depot();
    SpinGuard guard(here.lock);
    for (unsigned i = 0; i < kBatch; ++i) {
        Fiber* fiber = free_;
        free_ = static_cast<Fiber*>(fiber->next);
        --count_;
        push_free(here, fiber);
    }
}

Fiber* take() {
    Depot& here = depot();
    SpinGuard guard(here.lock);
    if (Fiber* fiber = pop_free(here)) return fiber;
    std::byte* begin = nullptr;
    std::byte* end = nullptr;
    carve(here, begin, end, sizeof(Fiber));
    return reinterpret_cast<Fiber*>(begin);
}

void put(Fiber* fiber) {
    Depot& here = depot();
    SpinGuard guard(here.lock);
    push_free(here, fiber);
}

bool has_spare() {
    if (sanitizer::knows_stacks) return false;
    SpinGuard guard(process_depot.lock);
    return process_depot.free_count >= kWorthWhile && !process_depot.is_settled;
}

std::size_t trim_spare() {
    if (sanitizer::knows_stacks || env::current()) return 0;
    static constinit SpinLock trimming;  // one at a time
    SpinGuard only_one(trimming);
    Depot& here = process_depot;
    Fiber* taken = nullptr;
    Chunk* begun = nullptr;  // a chunk partly made anew; taken out of the list during the trim
    std::size_t spare = 0;
    {
        SpinGuard guard(here.lock);
        spare = std::exchange(here.spare, here.free_count);
        if (spare < kWorthWhile) return 0;
        // A fiber that is spawned meanwhile gets a fresh block.
        taken = std::exchange(here.free, nullptr);
        here.free_count = 0;
        if (here.bare && here.bare->again != here.bare->begin())
            begun = std::exchange(here.bare, here.bare->next_bare);
    }
    // Acquire: the chunk that was newest when those were free, or a newer one.
    Chunk* newest = here.newest.load(std::memory_order_acquire);
    Chunk* first = newest;
    while (first->older) first = first->older;
    for (Fiber* fiber = taken; fiber; fiber = static_cast<Fiber*>(fiber->next)) {
        if (Chunk* chunk = chunk_of(fiber, first)) ++chunk->free_count;
    }
    std::size_t released = 0;
    for (Chunk* chunk = newest; chunk != first; chunk = chunk->older) {
        bool may_leave = chunk == begun || !is_bare(here, *chunk);
        chunk->is_leaving = may_leave && released + chunk->free_count <= spare && can_leave(*chunk);
        if (chunk->is_leaving) released += chunk->free_count;
        chunk->free_count = 0;
    }
    while (Fiber* fiber = taken) {
        taken = static_cast<Fiber*>(fiber->next);
        Chunk* chunk = chunk_of(fiber, first);
        if (!chunk || !chunk->is_leaving) put(fiber);
    }
    for (Chunk* chunk = newest; chunk != first; chunk = chunk->older) {
        bool leaves = std::exchange(chunk->is_leaving, false);
        if (leaves) give_pages_back(*chunk);
        if (!leaves && chunk != begun) continue;
        SpinGuard guard(here.lock);
        chunk->next_bare = here.bare;
        here.bare = chunk;
    }
    SpinGuard guard(here.lock);
    here.spare = here.free_count;
    here.is_settled = true;
    return released;
}

void for_each(void (*visit)(Fiber& fiber, void* argument), void* argument) {
    Depot& here = depot();
    for (Chunk* chunk = here.newest.load(std::memory_order_acquire); chunk; chunk = chunk->older) {
        std::byte* end = chunk->used.load(std::memory_order_acquire);
        for (std::byte* place = chunk->begin(); place != end; place += sizeof(Fiber))
            visit(*reinterpret_cast<Fiber*>(place), argument);
    }
}

Depot* take_simulated() {
    {
        SpinGuard guard(simulated_depots.lock);
        if (Depot* depot = simulated_depots.free) {
            simulated_depots.free = depot->next;
            return depot;
        }
    }
    auto* fresh = new Depot;  // tidy: allow new: kept for the life of the process
    fresh->newest.store(map_chunk(false), std::memory_order_relaxed);
    return fresh;
}

void put_simulated(Depot* depot) {
    // Relaxed: the simulation has ended, and nobody else uses the depot.
    Chunk* chunk = depot->newest.load(std::memory_order_relaxed);
    while (Chunk* older = chunk->older) {
        munmap(chunk, static_cast<std::size_t>(chunk->end - reinterpret_cast<std::byte*>(chunk)));
        chunk = older;
    }
    chunk->used.store(chunk->begin(), std::memory_order_relaxed);
    depot->newest.store(chunk, std::memory_order_relaxed);
    depot->free = nullptr;
    depot->free_count = depot->spare = 0;
    depot->lock.~SpinLock();
    new (&depot->lock) SpinLock;  // a failed run may have been abandoned with the lock held
    SpinGuard guard(simulated_depots.lock);
    depot->next = simulated_depots.free;
    simulated_depots.free = depot;
}

}  // namespace weft::fiber_blocks

// Not of standard layout, because it has a base: GCC and Clang know the offsets all the same.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
[[gnu::used]] const weft::DebugLayout weft_debug_layout = {
    .version = 2,
    .fiber_bytes = sizeof(weft::Fiber),
    .chunk_older = offsetof(weft::fiber_blocks::Chunk, older),
    .chunk_used = offsetof(weft::fiber_blocks::Chunk, used),
    .chunk_begin = weft::fiber_blocks::Chunk::kHeaderBytes,
    .word = offsetof(weft::Fiber, word),
    .reason = offsetof(weft::Fiber, wait_reason),
    .object = offsetof(weft::Fiber, wait_object),
    .busy = offsetof(weft::Fiber, busy),
    .scheduler = offsetof(weft::Fiber, scheduler),
    .context = offsetof(weft::Fiber, context),  // whose first member it is
    .stack = offsetof(weft::Fiber, stack),
    .stack_bottom = offsetof(weft::Stack, bottom),
    .extra = offsetof(weft::Fiber, extra),
    .labelled = weft::Fiber::kLabelled,
    .name = offsetof(weft::FiberLocals, name),
    .label = offsetof(weft::FiberLocals, label),
    .state_mask = weft::WaitWord::kStateMask,
    .waiting_first = weft::WaitWord::Waiting,
    .waiting_last = weft::WaitWord::WaitingShielded,
    .newest_chunk = &weft::fiber_blocks::process_depot.newest,
    .reasons = weft::kWaitReasonNames,
    .reason_count = static_cast<std::uint64_t>(weft::WaitReason::Other) + 1,
};
#pragma GCC diagnostic pop
