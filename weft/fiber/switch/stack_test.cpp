#include "weft/fiber/switch/stack.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/base/sanitizer.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/testing/eventually.h"
#include "weft/testing/scale.h"

namespace weft {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

RuntimeOptions with_workers(unsigned workers) {
    RuntimeOptions options;
    options.workers = workers;
    return options;
}

std::size_t usable(Stack* stack) {
    return static_cast<std::size_t>(stack->bounds().top - stack->bottom);
}

std::size_t count_mappings() {
    std::ifstream maps("/proc/self/maps");
    std::size_t count = 0;
    for (std::string line; std::getline(maps, line);) count++;
    return count;
}

// How many pages of [begin, end) are in memory.
std::size_t resident_pages(std::byte* begin, std::byte* end) {
    std::vector<unsigned char> pages(static_cast<std::size_t>(end - begin) / 4096);
    EXPECT_EQ(mincore(begin, pages.size() * 4096, pages.data()), 0);
    return static_cast<std::size_t>(
        std::ranges::count_if(pages, [](auto page) { return page & 1; }));
}

// ---------------------------------------------------------------- sizes

TEST(Stack, FIB_4a_a_size_is_rounded_up_to_its_class) {
    EXPECT_EQ(stacks::size_class_for(0), stacks::size_class_for(kStackBytesMin));
    EXPECT_EQ(stacks::size_class_for(kStackBytesMin + 1), stacks::size_class_for(32 * 1024));
    EXPECT_EQ(stacks::size_class_for(200 * 1024), stacks::size_class_for(kStackBytesDefault));
    EXPECT_EQ(stacks::size_class_for(SIZE_MAX), stacks::size_class_for(kStackBytesMax));
    for (std::size_t bytes : {std::size_t{1}, kStackBytesMin, kStackBytesDefault,
                              kStackBytesDefault + 1, std::size_t{1} << 20}) {
        Result<Stack*> stack = stacks::take(stacks::size_class_for(bytes));
        ASSERT_TRUE(stack);
        // The header and the colour take a little of the top page.
        EXPECT_GE(usable(*stack) + 2048, bytes);
        stacks::put(*stack);
    }
}

TEST(Stack, FIB_4a_a_fiber_has_256_kib_by_default_and_what_it_asks_for) {
    Runtime runtime(with_workers(1));
    auto uses = [](std::size_t bytes) {
        return [bytes] {
            std::size_t here = usable(current()->stack);
            // Writes down to the lowest byte but a few, as deep calls would.
            auto* low = current()->stack->bottom;
            std::memset(low, 0xee, here - 8192);
            return here >= bytes - 2048;
        };
    };
    RuntimeOptions plain;
    plain.stack_bytes = kStackBytesDefault;
    EXPECT_EQ(runtime.spawn(uses(256 * 1024)).join(), true);
    EXPECT_EQ(runtime.spawn(uses(1 << 20), {.stack_bytes = 1 << 20}).join(), true);
    EXPECT_EQ(runtime.spawn(uses(kStackBytesMin), {.stack_bytes = 1}).join(), true);
}

// ---------------------------------------------------------------- guards

TEST(Stack, FIB_4a_the_guard_lies_right_below_the_stack) {
    for (std::size_t bytes : {kStackBytesMin, kStackBytesDefault, std::size_t{1} << 20}) {
        Result<Stack*> stack = stacks::take(stacks::size_class_for(bytes));
        ASSERT_TRUE(stack);
        std::byte* bottom = (*stack)->bottom;
        const void* found = nullptr;
        EXPECT_TRUE(stacks::is_guard(bottom - 1, &found));
        EXPECT_EQ(found, bottom);
        EXPECT_TRUE(stacks::is_guard(bottom - kGuardBytes, &found));
        EXPECT_EQ(found, bottom);
        EXPECT_FALSE(stacks::is_guard(bottom, &found));
        EXPECT_FALSE(stacks::is_guard((*stack)->bounds().top - 1, &found));
        stacks::put(*stack);
    }
    int local = 0;
    const void* found = nullptr;
    EXPECT_FALSE(stacks::is_guard(&local, &found));
    EXPECT_FALSE(stacks::is_guard(nullptr, &found));
}

TEST(StackDeathTest, FIB_4a_every_byte_of_the_guard_faults) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    for (std::size_t below : {std::size_t{1}, kGuardBytes / 2, kGuardBytes}) {
        EXPECT_DEATH(
            {
                Result<Stack*> stack = stacks::take(stacks::size_class_for(kStackBytesDefault));
                if (stack) *static_cast<volatile std::byte*>((*stack)->bottom - below) = {};
            },
            "");
    }
}

// Many fibers, parked and guarded, in a handful of mappings; a million of them in the long run.
TEST(Stack, FIB_4c_parked_fibers_are_guarded_without_a_mapping_each) {
    if (stacks::guard_kind() != GuardKind::Madvise)
        GTEST_SKIP() << "this kernel has no guards without mappings";
    const std::size_t count = testing::scaled(20'000, testing::kSanitizer ? 100'000 : 1'000'000);
    std::size_t mappings = count_mappings();
    Atomic<std::size_t> unguarded{0};
    Atomic<std::size_t> parked{0};
    {
        Runtime runtime(with_workers(2));
        // In batches, so that the fibers run as they come and the queues stay short.
        Future<void> parent = runtime.spawn([&]() -> Result<void> {
            for (std::size_t i = 0; i < count; ++i) {
                WEFT_TRY(spawn_detached([&] {
                    const void* bottom = nullptr;
                    if (!stacks::is_guard(current()->stack->bottom - 1, &bottom))
                        unguarded.fetch_add(1, kRelaxed);
                    parked.fetch_add(1, kRelaxed);
                    static_cast<void>(park());
                }));
                if (i % 256 == 0) yield();
            }
            return {};
        });
        ASSERT_TRUE(parent.join());
        ASSERT_TRUE(testing::eventually([&] { return parked.load(kRelaxed) == count; }));
        EXPECT_EQ(runtime.live_fibers(), count);
        EXPECT_LT(count_mappings(), mappings + 200);
        EXPECT_TRUE(runtime.shutdown());
    }
    EXPECT_EQ(unguarded.load(kRelaxed), 0u);
    EXPECT_EQ(parked.load(kRelaxed), count);
    stacks::trim(0);
}

// ---------------------------------------------------------------- without the newer kernel

std::size_t map_count_max() {
    std::ifstream file("/proc/sys/vm/max_map_count");
    std::size_t count = 0;
    return file >> count ? count : 65'530;
}

// Uses up the kernel's mappings, all but some: pages that differ from their neighbours.
void use_up_mappings(std::size_t left) {
    std::size_t wanted = map_count_max() - count_mappings() - left;
    auto* pages = static_cast<char*>(mmap(nullptr, (wanted + 2) * 4096, PROT_NONE,
                                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    for (std::size_t i = 1; pages != MAP_FAILED && i < wanted; i += 2)
        if (mprotect(pages + i * 4096, 4096, PROT_READ) != 0) return;
}

// In a process of its own: takes stacks until there are no more mappings, and tells what it was
// told.
[[noreturn]] void take_until_refused() {
    stacks::force_guard_kind(GuardKind::Mprotect);
    std::uint16_t size_class = stacks::size_class_for(kStackBytesMin);
    Result<Stack*> first = stacks::take(size_class);
    use_up_mappings(200);
    std::vector<Stack*> taken;
    std::string message = "nothing was refused";
    for (int i = 0; i < 1'000; ++i) {
        Result<Stack*> stack = stacks::take(size_class);
        if (stack) {
            taken.push_back(*stack);
            continue;
        }
        bool out_of_memory = stack.error().kind() == ErrorKind::OutOfMemory;
        message = out_of_memory ? stack.error().message() : "another kind of error";
        break;
    }
    // What was returned can be had again.
    if (first) stacks::put(*first);
    bool again = stacks::take(size_class).has_value();
    std::fprintf(stderr, "taken: %d; again: %d; %s\n", taken.size() > 10, again, message.c_str());
    _exit(0);
}

TEST(StackDeathTest, FIB_4d_at_the_limit_of_mappings_mprotect_gives_a_clear_error) {
    if (testing::kSanitizer) {
        GTEST_SKIP() << "a sanitizer needs mappings of its own and may give up first";
    }
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(take_until_refused(), ::testing::ExitedWithCode(0),
                "taken: 1; again: 1; .*vm.max_map_count.*is reached");
}

TEST(StackDeathTest, FIB_4d_guards_by_mprotect_fault_as_well) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            stacks::force_guard_kind(GuardKind::Mprotect);
            Result<Stack*> stack = stacks::take(stacks::size_class_for(kStackBytesDefault));
            if (stack) *static_cast<volatile std::byte*>((*stack)->bottom - 1) = {};
        },
        "");
}

// ---------------------------------------------------------------- the pool

TEST(Stack, FIB_4a_a_returned_stack_is_used_again) {
    std::uint16_t size_class = stacks::size_class_for(512 * 1024);  // nobody else's
    Stack* first = stacks::take(size_class).value();
    stacks::put(first);
    EXPECT_EQ(stacks::take(size_class).value(), first);
    stacks::put(first);
}

TEST(Stack, FIB_4a_fibers_one_after_the_other_share_a_few_stacks) {
    Runtime runtime(with_workers(1));
    Result<std::size_t> stacks_used =
        runtime
            .spawn([]() -> Result<std::size_t> {
                std::set<Stack*> used;
                for (int i = 0; i < 1'000; ++i) {
                    used.insert(WEFT_TRY(spawn([] { return current()->stack; }).join()));
                }
                return used.size();
            })
            .join();
    EXPECT_LE(stacks_used.value_or(1'000), 8u);
}

TEST(Stack, FIB_4a_the_stacks_of_a_runtime_that_has_ended_go_to_the_next_one) {
    auto use = [] {
        Runtime runtime(with_workers(2));
        for (int i = 0; i < 300; ++i) {
            runtime.spawn([] { static_cast<void>(weft::sleep_for(std::chrono::milliseconds(2))); });
        }
        runtime.run();
    };
    use();
    std::size_t carved = stacks::statistics().carved;
    for (int i = 0; i < 5; ++i) use();
    // All went back to the depot. (A worker carves a few at once, so a few more may appear.)
    EXPECT_LE(stacks::statistics().carved, carved + 128);
}

TEST(Stack, FIB_4a_trim_gives_the_memory_of_free_stacks_back) {
    std::uint16_t size_class = stacks::size_class_for(2 << 20);
    Stack* stack = stacks::take(size_class).value();
    std::byte* lowest = stack->bottom;
    std::size_t bytes = usable(stack);
    std::memset(lowest, 1, bytes - 4096);
    EXPECT_GT(resident_pages(lowest, lowest + (1 << 20)), 200u);
    stacks::put(stack);
    stacks::trim(0);
    // The header of a stack is where a sanitizer needs it, and else gone as well.
    EXPECT_LE(resident_pages(lowest, lowest + bytes), sanitizer::knows_stacks ? 1u : 0u);
    EXPECT_EQ(stacks::take(size_class).value(), stack);  // it is still there
    const void* bottom = nullptr;
    EXPECT_TRUE(stacks::is_guard(stack->bottom - 1, &bottom));
    stacks::put(stack);
}

TEST(Stack, tops_are_spread_over_the_cache) {
    std::uint16_t size_class = stacks::size_class_for(256 * 1024);
    std::set<std::uintptr_t> colours;
    std::vector<Stack*> taken;
    for (int i = 0; i < 16; ++i) {
        taken.push_back(stacks::take(size_class).value());
        colours.insert(reinterpret_cast<std::uintptr_t>(taken.back()->bounds().top) % 4096);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(taken.back()->bounds().top) % 16, 0u);
    }
    EXPECT_GE(colours.size(), 4u);
    for (Stack* stack : taken) stacks::put(stack);
}

}  // namespace
}  // namespace weft
