// What a fiber allocates. The program's allocation functions are replaced to count; Clang's thread
// sanitizer brings its own and cannot share, so there these tests do not exist.
#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define WEFT_ALLOCATIONS_ARE_TAKEN
#endif
#endif
#ifndef WEFT_ALLOCATIONS_ARE_TAKEN

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>

#include "weft/base/atomic.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"

namespace {

constinit weft::Atomic<int> allocations{0};
constinit weft::Atomic<int> refused{-1};  // the allocation of that number fails

void* allocate(std::size_t size, std::size_t alignment) noexcept {
    // Relaxed: counts.
    int number = allocations.fetch_add(1, std::memory_order_relaxed);
    if (number == refused.load(std::memory_order_relaxed)) return nullptr;
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

namespace weft {
namespace {

// The most that one spawn and join of `body` allocates, when nothing else runs.
template <class Body, class Check>
int allocations_of(const Body& body, const Check& check) {
    RuntimeOptions options;
    options.workers = 1;
    Result<int> most = run(
        [&]() -> Result<int> {
            int worst = 0;
            for (int i = 0; i < 50; ++i) {
                int before = allocations.load(std::memory_order_relaxed);
                auto outcome = spawn(body).join();
                int after = allocations.load(std::memory_order_relaxed);
                EXPECT_TRUE(outcome);
                if (outcome) check(*outcome);
                if (i > 0) worst = std::max(worst, after - before);  // the first one warms up
            }
            return worst;
        },
        options);
    return most.value_or(1'000);
}

TEST(FiberAllocation, FIB_2f_a_small_body_and_a_small_result_need_none) {
    int captured = 3;
    EXPECT_EQ(allocations_of([=] { return captured + 1; }, [](int sum) { EXPECT_EQ(sum, 4); }), 0);
}

struct Large {
    std::array<std::uint64_t, 64> words{};
};

TEST(FiberAllocation, FIB_2f_a_large_result_needs_one) {
    auto make = [] {
        Large large;
        large.words.fill(7);
        return large;
    };
    EXPECT_LE(allocations_of(make, [](const Large& large) { EXPECT_EQ(large.words[63], 7u); }), 1);
}

TEST(FiberAllocation, FIB_2f_large_captures_need_one) {
    Large large;
    large.words.fill(9);
    EXPECT_LE(allocations_of([=] { return large.words[63]; },
                             [](std::uint64_t word) { EXPECT_EQ(word, 9u); }),
              1);
}

TEST(FiberAllocation, FIB_2f_a_result_that_can_only_be_moved_needs_its_own_and_one) {
    // One is the unique_ptr's own.
    EXPECT_LE(allocations_of([] { return std::make_unique<int>(5); },
                             [](const std::unique_ptr<int>& five) { EXPECT_EQ(*five, 5); }),
              2);
}

struct alignas(64) Aligned {
    std::uint64_t word = 11;
};

TEST(FiberAllocation, FIB_2f_an_over_aligned_result_keeps_its_alignment) {
    EXPECT_LE(allocations_of([] { return Aligned(); },
                             [](const Aligned& aligned) {
                                 EXPECT_EQ(aligned.word, 11u);
                                 EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&aligned) % 64, 0u);
                             }),
              1);
}

TEST(FiberAllocation, FIB_2f_a_body_that_can_only_be_moved_is_moved) {
    RuntimeOptions options;
    options.workers = 1;
    Result<int> outcome = run(
        []() -> Result<int> {
            auto owned = std::make_unique<int>(13);
            return spawn([owned = std::move(owned)] { return *owned; }).join();
        },
        options);
    EXPECT_EQ(outcome, 13);
}

// Each allocation in turn fails, whichever thread makes it: an error of start(), never the end of
// the process. The join makes sure that the worker's thread has begun.
TEST(FiberAllocation, a_runtime_without_memory_to_start_says_so) {
    RuntimeOptions options;
    options.workers = 1;
    bool reached = true;
    int failures = 0;
    for (int number = 0; reached && number < 1'000; ++number) {
        Runtime runtime(options);
        // Relaxed: nothing else runs yet, and the threads begin after it.
        int number_refused = allocations.load(std::memory_order_relaxed) + number;
        refused.store(number_refused, std::memory_order_relaxed);
        Result<void> started = runtime.start();
        if (started) static_cast<void>(runtime.spawn([] {}).join());
        refused.store(-1, std::memory_order_relaxed);
        reached = allocations.load(std::memory_order_relaxed) > number_refused;
        if (started) continue;
        ++failures;
        EXPECT_EQ(started.error().kind(), ErrorKind::OutOfMemory) << "allocation " << number;
    }
    EXPECT_FALSE(reached);
    EXPECT_GT(failures, 3);  // the worker, its fault stack, the reactor, the thread
}

}  // namespace
}  // namespace weft

#endif
