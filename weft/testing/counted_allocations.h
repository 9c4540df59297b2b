// Counts what a test program allocates, and can let one allocation fail. It replaces the program's
// allocation functions, so exactly one source of a program includes it. Clang's thread sanitizer
// defines its own, which cannot be replaced: there WEFT_COUNTS_ALLOCATIONS is not defined.
#pragma once

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define WEFT_ALLOCATIONS_ARE_TAKEN
#endif
#endif
#ifndef WEFT_ALLOCATIONS_ARE_TAKEN
#define WEFT_COUNTS_ALLOCATIONS

#include <cstddef>
#include <cstdlib>
#include <new>

#include "weft/base/atomic.h"

namespace weft::testing {

inline constinit Atomic<int> allocations{0};          // tidy: allow global: of the whole program
inline constinit Atomic<int> refused_allocation{-1};  // tidy: allow global: the number that fails

// Relaxed, here and below: counts; nothing is read through them.
inline int allocations_so_far() { return allocations.load(std::memory_order_relaxed); }

inline void* allocate(std::size_t size, std::size_t alignment) noexcept {
    int number = allocations.fetch_add(1, std::memory_order_relaxed);
    if (number == refused_allocation.load(std::memory_order_relaxed)) return nullptr;
    if (alignment <= alignof(std::max_align_t)) return std::malloc(size != 0 ? size : 1);
    return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

}  // namespace weft::testing

// Not inlined: GCC 12 takes an inlined free() behind delete for a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) {
    if (void* block = weft::testing::allocate(size, 1)) return block;
    throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
    if (void* block = weft::testing::allocate(size, static_cast<std::size_t>(alignment)))
        return block;
    throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return weft::testing::allocate(size, 1);
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment,
                                     const std::nothrow_t&) noexcept {
    return weft::testing::allocate(size, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* block) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, const std::nothrow_t&) noexcept {
    std::free(block);
}
[[gnu::noinline]] void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::size_t, std::align_val_t) noexcept {
    std::free(block);
}
[[gnu::noinline]] void operator delete(void* block, std::align_val_t,
                                       const std::nothrow_t&) noexcept {
    std::free(block);
}

#endif
