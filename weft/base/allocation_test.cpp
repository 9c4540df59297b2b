// What base promises about memory: the paths that must not allocate do not, and when there is no
// memory the outcome is an Error. The program's allocation functions are replaced to count calls;
// Clang's thread sanitizer brings its own, so these tests do not exist there.
#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define WEFT_ALLOCATIONS_ARE_TAKEN
#endif
#endif
#ifndef WEFT_ALLOCATIONS_ARE_TAKEN

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>

#include "weft/base/error.h"
#include "weft/base/log.h"
#include "weft/base/result.h"
#include "weft/base/ticket.h"

namespace {

constinit thread_local int allocations = 0;            // tidy: allow thread_local: test only
constinit thread_local bool allocations_fail = false;  // tidy: allow thread_local: test only

void* allocate(std::size_t size) noexcept {
    allocations++;
    return allocations_fail ? nullptr : std::malloc(size != 0 ? size : 1);
}

}  // namespace

// Not inlined: GCC 12 takes an inlined free() behind delete for a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) {
    if (void* block = allocate(size)) return block;
    throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return allocate(size);
}
// NOLINTBEGIN(clang-analyzer-cplusplus.NewDelete): this is the delete it warns about
[[gnu::noinline]] void operator delete(void* block) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, const std::nothrow_t&) noexcept {
    std::free(block);
}
// NOLINTEND(clang-analyzer-cplusplus.NewDelete)

namespace weft {
namespace {

template <class Act>
int allocations_of(Act act) {
    int before = allocations;
    act();
    return allocations - before;
}

template <class Act>
auto out_of_memory(Act act) {
    allocations_fail = true;
    auto result = act();
    allocations_fail = false;
    return result;
}

class Nowhere final : public LogSink {
public:
    void line(LogLevel, std::string_view line) noexcept override { bytes += line.size(); }
    std::size_t bytes = 0;
};

TEST(Allocation, errors_without_text_do_not_allocate) {
    EXPECT_EQ(allocations_of([] {
                  Result<int> result = ErrorKind::Cancelled;
                  Result<int> copy = result;  // NOLINT(performance-*): the copy is the test
                  Error error = Error::from_errno(104);
                  Error moved = std::move(error);
                  EXPECT_NE(copy.error(), moved);
              }),
              0);
}

TEST(Allocation, a_text_costs_one_block_and_copies_share_it) {
    Error error(ErrorKind::Other);
    EXPECT_EQ(allocations_of([&] { error = Error(ErrorKind::Other, "text"); }), 1);
    auto copy = [&] { Error copied = error; };  // NOLINT(performance-*): the copy is the test
    EXPECT_EQ(allocations_of(copy), 0);
}

TEST(Allocation, an_error_made_without_memory_keeps_its_kind) {
    Error error = out_of_memory([] { return Error(ErrorKind::Limit, 24, "lost"); });
    EXPECT_EQ(error, Error(ErrorKind::Limit, 24));
    EXPECT_NE(error.message(), "lost");
}

TEST(Allocation, a_silent_log_line_does_not_allocate) {
    set_log_level(LogLevel::Warn);
    std::string text(300, 'x');
    EXPECT_EQ(allocations_of([&] { log(LogLevel::Debug, "{} {}", text, 1); }), 0);
}

TEST(Allocation, a_written_log_line_does_not_allocate) {
    set_log_level(LogLevel::Warn);
    Nowhere sink;
    set_log_sink(&sink);
    std::string text(5000, 'x');
    EXPECT_EQ(allocations_of([&] { log(LogLevel::Error, "{} {} {:.3f}", text, 1, 2.5); }), 0);
    set_log_sink(nullptr);
    EXPECT_EQ(sink.bytes, kLogLineBytesMax);
}

TEST(Allocation, a_table_that_cannot_grow_says_out_of_memory_and_recovers) {
    TicketTable<int> table(8);
    Result<Ticket> refused = out_of_memory([&] { return table.insert(1); });
    EXPECT_EQ(refused.error().kind(), ErrorKind::OutOfMemory);
    EXPECT_EQ(table.size(), 0u);
    EXPECT_TRUE(table.insert(1).has_value());
}

TEST(Allocation, a_slot_that_is_reused_does_not_allocate) {
    TicketTable<int> table(8);
    table.take(*table.insert(1));
    EXPECT_EQ(allocations_of([&] { table.take(*table.insert(2)); }), 0);
}

}  // namespace
}  // namespace weft

#endif
