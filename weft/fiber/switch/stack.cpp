#include "weft/fiber/switch/stack.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdlib>

#include "weft/base/assert.h"
#include "weft/base/atomic.h"
#include "weft/base/env.h"
#include "weft/base/sanitizer.h"
#include "weft/base/spin_lock.h"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

namespace weft {
namespace {

constexpr unsigned kClassCount = 13;  // 16 KiB … 64 MiB, powers of two
constexpr std::size_t kRegionBytesMin = 4 << 20;
constexpr std::size_t kRegionBytesMax = std::size_t{1} << 30;
constexpr unsigned kBatch = 64;       // stacks moved between a cache and the depot at once
constexpr unsigned kCarveBatch = 16;  // guards set at once
constexpr unsigned kRegionCountMax = 4096;

// Tops of equal alignment share cache sets; spreading them costs a few lines of the top page and
// halves the cost of a switch over a thousand fibers. Less than a quarter of the page, so that a
// parked fiber still fits in it.
constexpr unsigned kColourCount = 8;
constexpr unsigned kColourBytes = 128;
static_assert(kColourCount * kColourBytes <= 4096 / 4);

struct Region {
    Atomic<std::byte*> begin{nullptr};
    std::byte* end = nullptr;
    std::size_t stride = 0;
    std::uint16_t size_class = 0;
    // A bit for each slot: set if it is bare (see the header). Under the lock of the class.
    std::uint64_t* bare = nullptr;
    std::size_t bare_count = 0;
};

struct SizeClass {
    SpinLock lock;
    Stack* free = nullptr;
    std::size_t free_count = 0;
    std::size_t spare = 0;             // the fewest that were free since the last trim
    std::size_t bare_count = 0;        // of all its regions
    std::byte* region_next = nullptr;  // the part of the newest region that is not carved yet
    std::byte* region_end = nullptr;
    std::size_t region_bytes = kRegionBytesMin;
    std::size_t carved = 0;
};

// Process-wide, like the heap: see the header.
struct Depot {
    std::array<SizeClass, kClassCount> classes;
    std::array<Region, kRegionCountMax> regions;
    Atomic<unsigned> region_count{0};
    Atomic<std::size_t> mapped_bytes{0};
    Atomic<unsigned> colour{0};
    Atomic<int> guard_kind{-1};
    SpinLock trimming;
};
constinit Depot depot;  // tidy: allow global: memory pool of the process

std::size_t usable_bytes(std::uint16_t size_class) { return kStackBytesMin << size_class; }
std::size_t stride_of(std::uint16_t size_class) { return usable_bytes(size_class) + kGuardBytes; }

GuardKind probe_guard_kind() {
    void* page =
        mmap(nullptr, kGuardBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return GuardKind::Mprotect;
    bool works = madvise(page, kGuardBytes, MADV_GUARD_INSTALL) == 0;
    munmap(page, kGuardBytes);
    return works ? GuardKind::Madvise : GuardKind::Mprotect;
}

Result<void> set_guard(std::byte* slot) {
    if (stacks::guard_kind() == GuardKind::Madvise) {
        if (madvise(slot, kGuardBytes, MADV_GUARD_INSTALL) == 0) return {};
    } else if (mprotect(slot, kGuardBytes, PROT_NONE) == 0) {
        return {};
    } else if (errno == ENOMEM) {
        return Error(ErrorKind::OutOfMemory,
                     "no guard page for a fiber stack: the kernel's limit on mappings "
                     "(vm.max_map_count) is reached; raise it or use Linux 6.13 or later");
    }
    return Error::from_errno(errno);
}

// With the class's lock held.
Result<void> add_region(SizeClass& group, std::uint16_t size_class) {
    WEFT_DASSERT(group.lock.is_locked());
    WEFT_DASSERT(group.region_next == group.region_end, "the region before is used up");
    std::size_t stride = stride_of(size_class);
    unsigned index = depot.region_count.load(std::memory_order_relaxed);
    if (index >= kRegionCountMax)
        return Error(ErrorKind::OutOfMemory, "too many regions of fiber stacks");
    std::size_t bytes = 0;
    void* address = MAP_FAILED;
    // Where there is no room for a large region there may be room for a small one.
    for (;;) {
        bytes = std::max(group.region_bytes / stride, std::size_t{1}) * stride;
        address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
        if (address != MAP_FAILED) break;
        if (bytes == stride) return Error::from_errno(errno);
        group.region_bytes /= 2;
    }
    // A huge page would make every stack resident as a whole.
    madvise(address, bytes, MADV_NOHUGEPAGE);
    index = depot.region_count.fetch_add(1, std::memory_order_relaxed);
    if (index >= kRegionCountMax) {
        munmap(address, bytes);
        return Error(ErrorKind::OutOfMemory, "too many regions of fiber stacks");
    }
    Region& region = depot.regions[index];
    region.end = static_cast<std::byte*>(address) + bytes;
    region.stride = stride;
    region.size_class = size_class;
    // Release: publishes end and stride to the fault handler, which reads begin with acquire.
    region.begin.store(static_cast<std::byte*>(address), std::memory_order_release);
    depot.mapped_bytes.fetch_add(bytes, std::memory_order_relaxed);
    group.region_next = static_cast<std::byte*>(address);
    group.region_end = region.end;
    group.region_bytes = std::min(group.region_bytes * 2, kRegionBytesMax);
    return {};
}

struct Carved {
    std::byte* begin;
    std::byte* end;
};

// Takes up to `count` fresh slots and sets their guards, without touching their pages.
Result<Carved> carve(std::uint16_t size_class, unsigned count) {
    SizeClass& group = depot.classes[size_class];
    std::size_t stride = stride_of(size_class);
    std::byte* begin = nullptr;
    std::byte* end = nullptr;
    {
        SpinGuard guard(group.lock);
        if (group.region_next == group.region_end) WEFT_TRY(add_region(group, size_class));
        begin = group.region_next;
        std::size_t room = static_cast<std::size_t>(group.region_end - begin) / stride;
        end = begin + std::min<std::size_t>(room, count) * stride;
        WEFT_DASSERT(begin < end && end <= group.region_end, "slots lie in their region");
        group.region_next = end;
        group.carved += static_cast<std::size_t>(end - begin) / stride;
    }
    for (std::byte* slot = begin; slot != end; slot += stride) {
        Result<void> guarded = set_guard(slot);
        if (guarded) continue;
        // The guarded slots are used. The others go back, unless another thread has taken slots
        // behind them meanwhile.
        SpinGuard guard(group.lock);
        if (group.region_next == end) {
            group.carved -= static_cast<std::size_t>(end - slot) / stride;
            group.region_next = slot;
        }
        if (slot == begin) return guarded.error();
        end = slot;
        break;
    }
    return Carved{begin, end};
}

Stack* make_stack(std::byte* slot, std::uint16_t size_class) {
    std::byte* end = slot + stride_of(size_class);
    auto* stack = new (end - sizeof(Stack)) Stack;
    stack->bottom = slot + kGuardBytes;
    stack->size_class = size_class;
    // Relaxed: any spread will do.
    unsigned colour = depot.colour.fetch_add(1, std::memory_order_relaxed) % kColourCount;
    stack->colour = static_cast<std::uint16_t>(colour * kColourBytes);
    stack->sanitizer_fiber = SavedContext::new_sanitizer_fiber();
    return stack;
}

// With the class's lock held.
Stack* pop_free(SizeClass& group) {
    WEFT_DASSERT(group.lock.is_locked());
    Stack* stack = group.free;
    if (!stack) return nullptr;
    WEFT_ASSERT(group.free_count > 0, "the count is that of the free list");
    group.free = stack->next;
    --group.free_count;
    group.spare = std::min(group.spare, group.free_count);
    return stack;
}

Region* region_of(const void* address) {
    const auto* byte = static_cast<const std::byte*>(address);
    // Relaxed: a region counts once its begin is there.
    unsigned count = std::min(depot.region_count.load(std::memory_order_relaxed), kRegionCountMax);
    for (unsigned i = 0; i < count; ++i) {
        Region& region = depot.regions[i];
        std::byte* begin = region.begin.load(std::memory_order_acquire);
        if (begin && byte >= begin && byte < region.end) return &region;
    }
    return nullptr;
}

// Takes up to `count` bare slots; returns how many.
unsigned take_bare(std::uint16_t size_class, std::byte** slots, unsigned count) {
    SizeClass& group = depot.classes[size_class];
    SpinGuard guard(group.lock);
    unsigned found = 0;
    for (unsigned i = 0; group.bare_count > 0 && found < count; ++i) {
        WEFT_ASSERT(i < kRegionCountMax, "the bare slots of a class are those of its regions");
        Region& region = depot.regions[i];
        if (region.size_class != size_class) continue;
        // Relaxed: a bare slot lies in a region that is published.
        std::byte* begin = region.begin.load(std::memory_order_relaxed);
        for (std::size_t word = 0; region.bare_count > 0 && found < count;) {
            if (region.bare[word] == 0) {
                ++word;
                continue;
            }
            WEFT_DASSERT(begin + word * 64 * region.stride < region.end, "bits are those of slots");
            auto bit = static_cast<std::size_t>(std::countr_zero(region.bare[word]));
            region.bare[word] &= region.bare[word] - 1;
            --region.bare_count;
            --group.bare_count;
            slots[found++] = begin + (word * 64 + bit) * region.stride;
        }
    }
    return found;
}

// Gives the memory of a free slot back to the kernel, header included. Only by the thread that
// holds depot.trimming. False, and nothing done, without memory for the region's bits.
bool make_bare(Stack* stack) {
    std::byte* slot = stack->bottom - kGuardBytes;
    std::uint16_t size_class = stack->size_class;
    Region* region = region_of(slot);
    WEFT_ASSERT(region && region->size_class == size_class, "a stack lies in a region of its size");
    // Relaxed: the region is published.
    std::byte* begin = region->begin.load(std::memory_order_relaxed);
    auto slots = static_cast<std::size_t>(region->end - begin) / region->stride;
    if (!region->bare) region->bare = static_cast<std::uint64_t*>(std::calloc(slots / 64 + 1, 8));
    if (!region->bare) return false;
    // The guard stays: the kernel keeps it.
    if (madvise(stack->bottom, region->stride - kGuardBytes, MADV_DONTNEED) != 0) return false;
    auto index = static_cast<std::size_t>(slot - begin) / region->stride;
    WEFT_DASSERT(begin + index * region->stride == slot, "a stack begins where its slot does");
    SizeClass& group = depot.classes[size_class];
    SpinGuard guard(group.lock);
    WEFT_DASSERT((region->bare[index / 64] >> index % 64 & 1) == 0, "a slot is made bare once");
    region->bare[index / 64] |= std::uint64_t{1} << index % 64;
    ++region->bare_count;
    ++group.bare_count;
    return true;
}

// If the header has to stay, its page stays as well.
void give_pages_back(Stack* stack) {
    if (!sanitizer::knows_stacks && make_bare(stack)) return;
    auto top = reinterpret_cast<std::uintptr_t>(stack) & ~std::uintptr_t{4095};
    auto bottom = reinterpret_cast<std::uintptr_t>(stack->bottom);
    if (top > bottom) madvise(stack->bottom, top - bottom, MADV_DONTNEED);
    stacks::put(stack);
}

// Gives back `count` free stacks of a class, a few at a time, because workers wait for its lock.
std::size_t release(SizeClass& group, std::size_t count) {
    std::size_t released = 0;
    while (released < count) {
        Stack* first = nullptr;
        std::size_t before = released;
        {
            SpinGuard guard(group.lock);
            while (released < count && released - before < kBatch) {
                Stack* stack = pop_free(group);
                if (!stack) break;
                stack->next = first;
                first = stack;
                ++released;
            }
        }
        if (!first) break;
        while (Stack* stack = first) {
            first = stack->next;
            give_pages_back(stack);
        }
    }
    return released;
}

}  // namespace

void Stack::unpoison() {
    StackBounds here = bounds();
    sanitizer::unpoison(here.bottom, static_cast<std::size_t>(here.top - here.bottom));
}

namespace stacks {

GuardKind guard_kind() {
    // Relaxed: the probe gives the same answer to every thread that runs it.
    int kind = depot.guard_kind.load(std::memory_order_relaxed);
    if (kind < 0) {
        kind = static_cast<int>(probe_guard_kind());
        depot.guard_kind.store(kind, std::memory_order_relaxed);
    }
    return static_cast<GuardKind>(kind);
}

void force_guard_kind(GuardKind kind) {
    depot.guard_kind.store(static_cast<int>(kind), std::memory_order_relaxed);
}

std::uint16_t size_class_for(std::size_t bytes) {
    bytes = std::clamp(bytes, kStackBytesMin, kStackBytesMax);
    return static_cast<std::uint16_t>(std::countr_zero(std::bit_ceil(bytes) / kStackBytesMin));
}

Result<Stack*> take(std::uint16_t size_class) {
    WEFT_ASSERT(size_class < kClassCount, "a size class comes from size_class_for()");
    env::Unseen unseen;
    SizeClass& group = depot.classes[size_class];
    {
        SpinGuard guard(group.lock);
        if (Stack* stack = pop_free(group)) return stack;
    }
    std::byte* bare = nullptr;
    if (take_bare(size_class, &bare, 1) == 1) return make_stack(bare, size_class);
    Carved carved = WEFT_TRY(carve(size_class, 1));
    return make_stack(carved.begin, size_class);
}

Stack* take_larger(std::uint16_t size_class) {
    env::Unseen unseen;
    for (++size_class; size_class < kClassCount; ++size_class) {
        {
            SizeClass& group = depot.classes[size_class];
            SpinGuard guard(group.lock);
            if (Stack* stack = pop_free(group)) return stack;
        }
        std::byte* bare = nullptr;
        if (take_bare(size_class, &bare, 1) == 1) return make_stack(bare, size_class);
    }
    return nullptr;
}

void put(Stack* stack) {
    WEFT_ASSERT(stack->size_class < kClassCount, "the header of a stack was overwritten");
    stack->unpoison();
    env::Unseen unseen;
    SizeClass& group = depot.classes[stack->size_class];
    SpinGuard guard(group.lock);
    stack->next = group.free;
    group.free = stack;
    ++group.free_count;
}

bool is_guard(const void* address, const void** bottom) {
    Region* region = region_of(address);
    if (!region) return false;
    const auto* byte = static_cast<const std::byte*>(address);
    // Relaxed: the region is published.
    auto offset = static_cast<std::size_t>(byte - region->begin.load(std::memory_order_relaxed));
    std::size_t in_slot = offset % region->stride;
    *bottom = byte - in_slot + kGuardBytes;
    return in_slot < kGuardBytes;
}

void trim(std::size_t keep) {
    SpinGuard only_one(depot.trimming);
    for (SizeClass& group : depot.classes) {
        std::size_t count = 0;
        {
            SpinGuard guard(group.lock);
            count = group.free_count > keep ? group.free_count - keep : 0;
        }
        release(group, count);
    }
}

std::size_t trim_spare() {
    if (sanitizer::knows_stacks) return 0;
    SpinGuard only_one(depot.trimming);
    std::size_t released = 0;
    for (SizeClass& group : depot.classes) {
        std::size_t spare = 0;
        {
            SpinGuard guard(group.lock);
            spare = group.spare;
        }
        released += release(group, spare);
        SpinGuard guard(group.lock);
        group.spare = group.free_count;
    }
    return released;
}

bool has_spare() {
    if (sanitizer::knows_stacks) return false;
    for (SizeClass& group : depot.classes) {
        SpinGuard guard(group.lock);
        if (group.free_count > 0) return true;
    }
    return false;
}

Statistics statistics() {
    Statistics result;
    // Relaxed: a momentary value.
    result.mapped_bytes = depot.mapped_bytes.load(std::memory_order_relaxed);
    for (SizeClass& group : depot.classes) {
        SpinGuard guard(group.lock);
        result.carved += group.carved;
        result.free += group.free_count + group.bare_count;
    }
    return result;
}

}  // namespace stacks

StackCache::~StackCache() {
    env::Unseen unseen;
    while (Stack* stack = free_) {
        free_ = stack->next;
        stacks::put(stack);
    }
    while (carved_ != carved_end_) {
        stacks::put(make_stack(carved_, size_class_));
        carved_ += stride_of(size_class_);
    }
}

Result<Stack*> StackCache::refill() {
    WEFT_DASSERT(!free_ && count_ == 0, "an empty cache is filled");
    env::Unseen unseen;
    if (carved_ == carved_end_) {
        SizeClass& group = depot.classes[size_class_];
        {
            SpinGuard guard(group.lock);
            while (count_ < kBatch) {
                Stack* stack = pop_free(group);
                if (!stack) break;
                stack->next = free_;
                free_ = stack;
                ++count_;
            }
        }
        std::array<std::byte*, kCarveBatch> bare;
        if (!free_) {
            for (unsigned left = take_bare(size_class_, bare.data(), kCarveBatch); left > 0; --left)
                put(make_stack(bare[left - 1], size_class_));
        }
        if (free_) return take();
        Carved carved = WEFT_TRY(carve(size_class_, kCarveBatch));
        carved_ = carved.begin;
        carved_end_ = carved.end;
    }
    std::byte* slot = carved_;
    carved_ += stride_of(size_class_);
    return make_stack(slot, size_class_);
}

void StackCache::shrink() {
    env::Unseen unseen;
    while (count_ > kCountKept) {
        Stack* stack = free_;
        free_ = stack->next;
        --count_;
        stacks::put(stack);
    }
}

void StackCache::put_slow(Stack* stack) {
    if (stack->size_class != size_class_) return stacks::put(stack);
    WEFT_DASSERT(count_ == kCountMax, "a full cache is emptied by a batch");
    env::Unseen unseen;
    for (unsigned i = 0; i < kBatch; ++i) {
        Stack* moved = free_;
        free_ = moved->next;
        --count_;
        stacks::put(moved);
    }
    put(stack);
}

}  // namespace weft
