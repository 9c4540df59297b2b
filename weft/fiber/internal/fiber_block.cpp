#include "weft/fiber/internal/fiber_block.h"

#include <sys/mman.h>

#include <cstddef>
#include <new>

#include "weft/base/env.h"
#include "weft/fiber/internal/debug_layout.h"
#include "weft/fiber/internal/locals.h"

namespace weft::fiber_blocks {
namespace {
struct Chunk;
}

struct Depot {
    SpinLock lock;
    Fiber* free = nullptr;
    Atomic<Chunk*> newest{nullptr};
    Depot* next = nullptr;  // of those that no machine uses
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

// With the lock held. A piece of fresh memory for a few blocks; empty when memory is short.
void carve(Depot& here, std::byte*& begin, std::byte*& end, std::size_t bytes) {
    Chunk* chunk = here.newest.load(std::memory_order_relaxed);
    std::byte* used = chunk ? chunk->used.load(std::memory_order_relaxed) : nullptr;
    if (!chunk || static_cast<std::size_t>(chunk->end - used) < sizeof(Fiber)) {
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
    for (std::byte* place = begin; place != end; place += sizeof(Fiber)) new (place) Fiber;
    // Release: the blocks are constructed; pairs with the acquire in for_each.
    chunk->used.store(end, std::memory_order_release);
}

}  // namespace

Cache::~Cache() {
    while (Fiber* fiber = free_) {
        free_ = static_cast<Fiber*>(fiber->next);
        fiber_blocks::put(fiber);
    }
    for (; fresh_ != fresh_end_; fresh_ += sizeof(Fiber))
        fiber_blocks::put(reinterpret_cast<Fiber*>(fresh_));
}

Fiber* Cache::refill() {
    if (fresh_ == fresh_end_) {
        Depot& here = depot();
        SpinGuard guard(here.lock);
        while (here.free && count_ < kBatch) {
            Fiber* fiber = here.free;
            here.free = static_cast<Fiber*>(fiber->next);
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
        fiber->next = here.free;
        here.free = fiber;
    }
}

Fiber* take() {
    Depot& here = depot();
    SpinGuard guard(here.lock);
    if (!here.free) {
        std::byte* begin = nullptr;
        std::byte* end = nullptr;
        carve(here, begin, end, sizeof(Fiber));
        return reinterpret_cast<Fiber*>(begin);
    }
    Fiber* fiber = here.free;
    here.free = static_cast<Fiber*>(fiber->next);
    return fiber;
}

void put(Fiber* fiber) {
    Depot& here = depot();
    SpinGuard guard(here.lock);
    fiber->next = here.free;
    here.free = fiber;
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
    // Relaxed: the machine has ended; nobody else looks.
    Chunk* chunk = depot->newest.load(std::memory_order_relaxed);
    while (Chunk* older = chunk->older) {
        munmap(chunk, static_cast<std::size_t>(chunk->end - reinterpret_cast<std::byte*>(chunk)));
        chunk = older;
    }
    chunk->used.store(chunk->begin(), std::memory_order_relaxed);
    depot->newest.store(chunk, std::memory_order_relaxed);
    depot->free = nullptr;
    depot->lock.~SpinLock();
    new (&depot->lock) SpinLock;  // a failed run is left wherever it stands
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
    .state_mask = weft::WaitCell::kStateMask,
    .waiting_first = weft::WaitCell::Waiting,
    .waiting_last = weft::WaitCell::WaitingShielded,
    .newest_chunk = &weft::fiber_blocks::process_depot.newest,
    .reasons = weft::kWaitReasonNames,
    .reason_count = static_cast<std::uint64_t>(weft::WaitReason::Other) + 1,
};
#pragma GCC diagnostic pop
