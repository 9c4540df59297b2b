// tidy: allow-file sleep: fibers that sleep are what the memory is for
// What a burst of fibers has left behind goes back to the kernel, without anyone's help.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/fiber/switch/fiber_block.h"
#include "weft/fiber/switch/stack.h"
#include "weft/testing/eventually.h"
#include "weft/testing/scale.h"
#include "weft/testing/short_memory.h"

namespace weft {
namespace {

using testing::end_with;

constexpr auto kRelaxed = std::memory_order_relaxed;

std::size_t resident_kib() {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages >> pages;
    return pages * 4;
}

class MemoryReturnDeathTest : public ::testing::Test {
protected:
    void SetUp() override {
        GTEST_FLAG_SET(death_test_style, "threadsafe");
        if (testing::kSanitizer) GTEST_SKIP() << "the sanitizer keeps memory of its own";
    }
};

// All of them alive at the same time, until they are cancelled.
void burst(Runtime& runtime, std::size_t count) {
    Atomic<std::size_t> alive{0};
    Atomic<std::size_t> ended{0};
    Future<void> parent = runtime.spawn([&] {
        CancelSource source;
        for (std::size_t i = 0; i < count; ++i) {
            Result<void> started = spawn_detached(
                [&] {
                    alive.fetch_add(1, kRelaxed);
                    static_cast<void>(sleep_for(std::chrono::hours(1)));
                    ended.fetch_add(1, kRelaxed);
                },
                {.token = source.token().state()});
            EXPECT_TRUE(started);
            if (i % 1'000 == 0) yield();
        }
        while (alive.load(kRelaxed) < count) yield();
        source.cancel();
        while (ended.load(kRelaxed) < count) yield();
    });
    EXPECT_TRUE(parent.join());
}

TEST_F(MemoryReturnDeathTest, FIB_4i_what_a_burst_of_fibers_needed_goes_back_within_ten_seconds) {
    EXPECT_EXIT(
        {
            // A report of a stall would take memory for the symbols of the program.
            Runtime runtime({.workers = 2, .stall_report = {}});
            burst(runtime, 10);
            std::size_t before = resident_kib();
            std::size_t most = 0;
            bool comes_back = true;
            // The second one uses what was given back.
            for (std::size_t count : {200'000U, 20'000U}) {
                burst(runtime, count);
                most = std::max(most, resident_kib());
                Deadline in_time = Deadline::after(std::chrono::seconds(10));
                bool is_back =
                    testing::eventually([&] { return resident_kib() < before + before / 5; });
                comes_back = comes_back && is_back && !in_time.expired(Clock::now());
            }
            std::string figures = std::to_string(before) + " " + std::to_string(most) + " " +
                                  std::to_string(resident_kib()) + " KiB";
            end_with(comes_back && most > 10 * before ? "it came back" : figures);
        },
        ::testing::ExitedWithCode(0), "it came back");
}

TEST_F(MemoryReturnDeathTest, FIB_4i_an_idle_program_is_not_woken_for_it) {
    EXPECT_EXIT(
        {
            Runtime runtime({.workers = 1});
            burst(runtime, 5'000);
            bool nothing_left = testing::eventually(
                [] { return !stacks::has_spare() && !fiber_blocks::has_spare(); });
            end_with(nothing_left ? "nothing is left to give back" : "it looks for ever");
        },
        ::testing::ExitedWithCode(0), "nothing is left to give back");
}

TEST_F(MemoryReturnDeathTest, FIB_4i_it_goes_back_where_nothing_is_reported) {
    EXPECT_EXIT(
        {
            Runtime runtime({.workers = 1, .stall_report = {}, .hang_report = {}});
            burst(runtime, 5'000);
            bool nothing_left = testing::eventually(
                [] { return !stacks::has_spare() && !fiber_blocks::has_spare(); });
            end_with(nothing_left ? "nothing is left to give back" : "nobody gives it back");
        },
        ::testing::ExitedWithCode(0), "nothing is left to give back");
}

// Blocks that are made anew go on counting: a wait of a former life is over for good.
TEST_F(MemoryReturnDeathTest, FIB_4i_a_wait_of_a_fiber_whose_block_was_given_back_stays_over) {
    EXPECT_EXIT(
        {
            std::vector<Fiber*> blocks;
            std::vector<WaitRef> stale;
            for (int i = 0; i < 30'000; ++i) blocks.push_back(fiber_blocks::take());
            for (Fiber* block : blocks) {
                block->word.start_from(6);
                stale.emplace_back(*block, block->word.begin(WaitWord::Waiting));
                static_cast<void>(stale.back().try_claim(Wake::Ready));
            }
            for (Fiber* block : blocks) fiber_blocks::put(block);
            fiber_blocks::trim_spare();
            std::size_t released = fiber_blocks::trim_spare();
            std::size_t claimed = 0;
            for (const WaitRef& wait : stale) claimed += wait.try_claim(Wake::Ready) ? 1 : 0;
            std::set<Fiber*> known(blocks.begin(), blocks.end());
            std::size_t known_again = 0;
            std::size_t behind = 0;
            for (int i = 0; i < 40'000; ++i) {
                Fiber* block = fiber_blocks::take();
                if (!known.contains(block)) continue;
                ++known_again;
                behind += block->word.next_epoch() <= 7 ? 1 : 0;
            }
            end_with("released: " + std::to_string(released > 20'000) + ", claimed: " +
                     std::to_string(claimed) + ", known: " + std::to_string(known_again) +
                     ", behind: " + std::to_string(behind));
        },
        ::testing::ExitedWithCode(0), "released: 1, claimed: 0, known: 30000, behind: 0");
}

}  // namespace
}  // namespace weft
