// Stacks: one arena per size class, guarded below, pooled for the life of the process.
//
// A stack is a slot of an arena: [guard][usable bytes][Stack header]. The header is at the top, in
// the page that a running fiber touches anyway; a free slot whose memory was given back to the
// kernel (a bare slot) has none. Guards are set when a slot is first carved out of its region, and
// stay: by MADV_GUARD_INSTALL where the kernel has it (no extra mapping, so a million stacks fit
// under the stock vm.max_map_count), by mprotect otherwise (two mappings a stack, with a clear
// error at the kernel's limit).
//
// The pool is process-wide, like the heap: a stack may be returned by another worker, or after the
// end of its runtime, and the fault handler has to find the stack of an address.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/base/assert.h"
#include "weft/base/result.h"
#include "weft/fiber/switch/context.h"

namespace weft {

// Of address space; only pages that were touched cost memory.
inline constexpr std::size_t kStackBytesDefault = 256 * 1024;
inline constexpr std::size_t kStackBytesMin = 16 * 1024;
inline constexpr std::size_t kStackBytesMax = 64 * 1024 * 1024;
// Larger than a page, so that code built without stack probes hardly ever skips it.
inline constexpr std::size_t kGuardBytes = 16 * 1024;

struct Stack {
    Stack* next = nullptr;            // in a free list
    std::byte* bottom = nullptr;      // first usable byte; the guard ends here
    void* sanitizer_fiber = nullptr;  // see SavedContext
    std::uint16_t size_class = 0;
    std::uint16_t colour = 0;  // bytes between the header and where the frames start
    bool used = false;         // before, so that a sanitizer may still have marks on it

    StackBounds bounds() { return {bottom, reinterpret_cast<std::byte*>(this) - colour}; }
    // Frames that ended without unwinding leave the address sanitizer's marks behind.
    void unpoison();
};

enum class GuardKind : std::uint8_t { Madvise, Mprotect };

// The free stacks of one worker, so that most fibers start and end without touching the shared
// pool. Owning worker only.
class StackCache {
public:
    StackCache() = default;
    ~StackCache();
    StackCache(const StackCache&) = delete;
    StackCache& operator=(const StackCache&) = delete;

    // A cache holds stacks of one size. Only while it is empty.
    void set_size_class(std::uint16_t size_class) {
        WEFT_ASSERT(!free_ && carved_ == carved_end_, "a cache holds stacks of one size");
        size_class_ = size_class;
    }
    std::uint16_t size_class() const { return size_class_; }
    Result<Stack*> take() {
        if (Stack* stack = free_) [[likely]] {
            WEFT_DASSERT(count_ > 0 && stack->size_class == size_class_, "of one size, counted");
            free_ = stack->next;
            --count_;
            return stack;
        }
        return refill();
    }
    // One that is in the cache; null if it is empty.
    Stack* take_cached() { return free_ ? *take() : nullptr; }
    // Gives all but a few to the shared pool, from where their memory can go back to the kernel.
    void shrink();
    void put(Stack* stack) {
        if (stack->size_class != size_class_ || count_ == kCountMax) [[unlikely]]
            return put_slow(stack);
        stack->next = free_;
        free_ = stack;
        ++count_;
    }

private:
    static constexpr unsigned kCountMax = 128;
    static constexpr unsigned kCountKept = 4;

    Result<Stack*> refill();
    void put_slow(Stack* stack);

    Stack* free_ = nullptr;
    unsigned count_ = 0;
    std::uint16_t size_class_ = 0;
    std::byte* carved_ = nullptr;  // up to carved_end_: guarded slots that were never used
    std::byte* carved_end_ = nullptr;
};

namespace stacks {

// Any thread.
std::uint16_t size_class_for(std::size_t bytes);
Result<Stack*> take(std::uint16_t size_class);
void put(Stack* stack);
// A free stack of a larger class, for when there is no memory for a new one; null if none is free.
Stack* take_larger(std::uint16_t size_class);

// Which stack a faulting address belongs to: true if it lies in the guard of a slot; `bottom` is
// then the lowest usable address of that stack. Async-signal-safe.
bool is_guard(const void* address, const void** bottom);

// Gives the pages of free stacks back to the kernel, all but `keep` stacks a class.
void trim(std::size_t keep);
// The same for stacks that nobody has needed since the last call; returns how many. Monitors call
// it now and then. Does nothing under a sanitizer, which knows stacks by their headers.
std::size_t trim_spare();
bool has_spare();  // whether a call may find something

GuardKind guard_kind();
// For tests: pretends that the kernel lacks MADV_GUARD_INSTALL. Only before stacks of that class
// exist.
void force_guard_kind(GuardKind kind);

struct Statistics {
    std::size_t mapped_bytes = 0;
    std::size_t carved = 0;
    std::size_t free = 0;
};
Statistics statistics();

}  // namespace stacks
}  // namespace weft
