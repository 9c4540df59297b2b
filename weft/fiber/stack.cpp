#include "weft/fiber/stack.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>

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
constexpr unsigned kBatch = 64;       // stacks moved between a worker and the depot at once
constexpr unsigned kCarveBatch = 16;  // guards set at once
constexpr unsigned kRegionCountMax = 4096;

// Tops of equal alignment share cache sets; spreading them costs a few lines of the top page and
// halves the cost of a switch over a thousand fibers. Less than a quarter of the page, so that a
// parked fiber still fits in it.
constexpr unsigned kColourCount = 8;
constexpr unsigned kColourBytes = 128;

struct Region {
    Atomic<std::byte*> begin{nullptr};
    std::byte* end = nullptr;
    std::size_t stride = 0;
};

struct SizeClass {
    SpinLock lock;
    Stack* free = nullptr;
    std::size_t free_count = 0;
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

// Takes up to `count` fresh slots and sets their guards; none of their pages is touched.
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
        group.region_next = end;
        group.carved += static_cast<std::size_t>(end - begin) / stride;
    }
    for (std::byte* slot = begin; slot != end; slot += stride) {
        Result<void> guarded = set_guard(slot);
        if (guarded) continue;
        // What is guarded is used; the rest goes back if nobody has carved behind it meanwhile.
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
    env::Unseen unseen;
    SizeClass& group = depot.classes[size_class];
    {
        SpinGuard guard(group.lock);
        if (Stack* stack = group.free) {
            group.free = stack->next;
            --group.free_count;
            return stack;
        }
    }
    Carved carved = WEFT_TRY(carve(size_class, 1));
    return make_stack(carved.begin, size_class);
}

void put(Stack* stack) {
    stack->unpoison();
    env::Unseen unseen;
    SizeClass& group = depot.classes[stack->size_class];
    SpinGuard guard(group.lock);
    stack->next = group.free;
    group.free = stack;
    ++group.free_count;
}

bool is_guard(const void* address, const void** bottom) {
    const auto* byte = static_cast<const std::byte*>(address);
    // Relaxed: a region counts once its begin is there.
    unsigned count = std::min(depot.region_count.load(std::memory_order_relaxed), kRegionCountMax);
    for (unsigned i = 0; i < count; ++i) {
        Region& region = depot.regions[i];
        std::byte* begin = region.begin.load(std::memory_order_acquire);
        if (!begin || byte < begin || byte >= region.end) continue;
        std::size_t offset = static_cast<std::size_t>(byte - begin);
        std::size_t in_slot = offset % region.stride;
        *bottom = byte - in_slot + kGuardBytes;
        return in_slot < kGuardBytes;
    }
    return false;
}

void trim(std::size_t keep) {
    for (SizeClass& group : depot.classes) {
        Stack* released = nullptr;
        {
            SpinGuard guard(group.lock);
            while (group.free_count > keep) {
                Stack* stack = group.free;
                group.free = stack->next;
                --group.free_count;
                stack->next = released;
                released = stack;
            }
        }
        while (Stack* stack = released) {
            released = stack->next;
            // The page with the header stays, the rest goes back to the kernel.
            auto top = reinterpret_cast<std::uintptr_t>(stack) & ~std::uintptr_t{4095};
            auto bottom = reinterpret_cast<std::uintptr_t>(stack->bottom);
            if (top > bottom) madvise(stack->bottom, top - bottom, MADV_DONTNEED);
            put(stack);
        }
    }
}

Statistics statistics() {
    Statistics result;
    result.mapped_bytes = depot.mapped_bytes.load(std::memory_order_relaxed);
    for (SizeClass& group : depot.classes) {
        SpinGuard guard(group.lock);
        result.carved += group.carved;
        result.free += group.free_count;
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
    env::Unseen unseen;
    if (carved_ == carved_end_) {
        SizeClass& group = depot.classes[size_class_];
        {
            SpinGuard guard(group.lock);
            while (group.free && count_ < kBatch) {
                Stack* stack = group.free;
                group.free = stack->next;
                --group.free_count;
                stack->next = free_;
                free_ = stack;
                ++count_;
            }
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

void StackCache::put_slow(Stack* stack) {
    if (stack->size_class != size_class_) return stacks::put(stack);
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
