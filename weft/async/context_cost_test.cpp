// What deriving a context costs. The program's allocation functions are replaced to count; Clang's
// thread sanitizer brings its own and cannot share, so there these tests do not exist.
#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define WEFT_ALLOCATIONS_ARE_TAKEN
#endif
#endif
#ifndef WEFT_ALLOCATIONS_ARE_TAKEN

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "weft/async/context.h"
#include "weft/base/atomic.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/internal/worker.h"  // tidy: allow layers: it looks into the worker's timers
#include "weft/fiber/runtime.h"

namespace {

constinit weft::Atomic<int> allocations{0};

void* allocate(std::size_t size, std::size_t alignment) noexcept {
    // Relaxed: a count.
    allocations.fetch_add(1, std::memory_order_relaxed);
    if (alignment <= alignof(std::max_align_t)) return std::malloc(size != 0 ? size : 1);
    return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

}  // namespace

// Not inlined: GCC 12 takes an inlined free() behind delete for a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) {
    if (void* block = allocate(size, 1)) return block;
    throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
    if (void* block = allocate(size, static_cast<std::size_t>(alignment))) return block;
    throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return allocate(size, 1);
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment,
                                     const std::nothrow_t&) noexcept {
    return allocate(size, static_cast<std::size_t>(alignment));
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

namespace weft::async {
namespace {

using namespace std::chrono_literals;

struct RequestId {
    int number = 0;
};
constexpr ContextKey<RequestId> kRequest;

int count() { return allocations.load(std::memory_order_relaxed); }
bool any_timer() { return this_worker()->timers().next_due_ns() != kNeverNs; }

TEST(ContextCost, CTX_1g_deriving_takes_one_allocation_and_no_timer) {
    // One worker, so nothing else runs meanwhile.
    auto outcome = run(
        [] {
            Context parent = Context::current();
            EXPECT_FALSE(any_timer());
            int before = count();
            OwnedContext cancellable = parent.with_cancel();
            int with_cancel = count() - before;
            OwnedContext timed = cancellable.context.with_timeout(1h);
            int with_timeout = count() - before - with_cancel;
            Context valued = timed.context.with_value(kRequest, {7});
            int with_value = count() - before - with_cancel - with_timeout;
            EXPECT_EQ(with_cancel, 1);
            EXPECT_EQ(with_timeout, 1);
            EXPECT_EQ(with_value, 1);
            EXPECT_FALSE(any_timer());
            // The first wait that sees the deadline sets the timer.
            CancelScope scope(valued.token());
            EXPECT_EQ(park(Deadline::after(1us)).error().kind(), ErrorKind::TimedOut);
            EXPECT_TRUE(any_timer());
        },
        {.workers = 1});
    EXPECT_TRUE(outcome);
}

}  // namespace
}  // namespace weft::async

#endif
