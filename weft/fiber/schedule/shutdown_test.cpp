// How a runtime ends: every fiber is woken and returns by itself.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/io.h"
#include "weft/fiber/report/dump.h"
#include "weft/fiber/runtime.h"
#include "weft/testing/captured_log.h"
#include "weft/testing/eventually.h"
#include "weft/testing/scale.h"

namespace weft {
namespace {

using namespace std::chrono_literals;

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kRelease = std::memory_order_release;

RuntimeOptions with_workers(unsigned workers) {
    RuntimeOptions options;
    options.workers = workers;
    return options;
}

TEST(Shutdown, FIB_12a_every_kind_of_wait_ends_as_cancelled) {
    Runtime runtime(with_workers(2));
    auto waits = [&](auto wait) { return runtime.spawn(wait); };
    std::vector<Future<void>> fibers;
    fibers.push_back(waits([] { return park(); }));
    fibers.push_back(waits([] { return weft::sleep_for(1h); }));
    fibers.push_back(waits([]() -> Result<void> {  // a join, of one that waits as well
        return spawn([] { return park(); }).join();
    }));
    fibers.push_back(waits([] {  // below a token of its own
        CancelSource source;
        CancelScope scope(source.token());
        return park();
    }));
    fibers.push_back(waits([] {  // with a deadline far away
        CancelSource source = CancelSource::with_deadline(Deadline::after(1h));
        CancelScope scope(source.token());
        return weft::sleep_for(2h);
    }));
    fibers.push_back(waits([] {  // twice as deep
        CancelSource outer;
        CancelSource inner(outer.token());
        CancelScope scope(inner.token());
        return spawn([] { return park(); }).join();
    }));
    ASSERT_TRUE(testing::eventually([] {  // the six, and the two that are joined
        return std::ranges::count(list_fibers(Backtraces::No), FiberState::Waiting,
                                  &FiberReport::state) == 8;
    }));
    EXPECT_TRUE(runtime.shutdown());
    EXPECT_EQ(runtime.live_fibers(), 0u);
    for (Future<void>& fiber : fibers) {
        ASSERT_TRUE(fiber.is_done());
        EXPECT_EQ(fiber.join().error().kind(), ErrorKind::Cancelled);
    }
}

// Parked in the kernel's hands: an empty pipe, a full one, and the same by readiness alone.
TEST(Shutdown, FIB_12a_waits_for_descriptors_end_as_cancelled) {
    Runtime runtime(with_workers(2));
    int empty[2];
    int full[2];
    ASSERT_EQ(::pipe2(empty, O_CLOEXEC | O_NONBLOCK), 0);
    ASSERT_EQ(::pipe2(full, O_CLOEXEC | O_NONBLOCK), 0);
    Descriptor reader = *Descriptor::adopt(empty[0]);
    Descriptor writer = *Descriptor::adopt(full[1]);
    std::array<std::byte, 4096> bytes{};
    while (::write(full[1], bytes.data(), bytes.size()) > 0) {}
    std::vector<Future<void>> fibers;
    fibers.push_back(runtime.spawn([&]() -> Result<void> {
        WEFT_TRY(reader.read(bytes));
        return {};
    }));
    fibers.push_back(runtime.spawn([&] { return reader.wait_readable(); }));
    fibers.push_back(runtime.spawn([&] { return reader.wait_readable(Deadline::after(1h)); }));
    fibers.push_back(runtime.spawn([&] { return writer.write_all(bytes); }));
    ASSERT_TRUE(testing::eventually([] {
        auto parked = [](const FiberReport& fiber) {
            return fiber.state == FiberState::Waiting &&
                   (fiber.reason == WaitReason::Readable || fiber.reason == WaitReason::Writable);
        };
        return std::ranges::count_if(list_fibers(Backtraces::No), parked) == 4;
    }));
    EXPECT_TRUE(runtime.shutdown());
    EXPECT_EQ(runtime.live_fibers(), 0u);
    for (Future<void>& fiber : fibers) {
        ASSERT_TRUE(fiber.is_done());
        EXPECT_EQ(fiber.join().error().kind(), ErrorKind::Cancelled);
    }
    ::close(empty[1]);
    ::close(full[0]);
}

TEST(Shutdown, FIB_12a_fibers_unwind_normally) {
    Atomic<int> destroyed{0};
    struct Witness {
        Atomic<int>& count;
        ~Witness() { count.fetch_add(1, kRelaxed); }
    };
    const int fibers = static_cast<int>(testing::scaled(1'000));
    {
        Runtime runtime(with_workers(2));
        for (int i = 0; i < fibers; ++i) {
            runtime.spawn([&]() -> Result<void> {
                Witness witness{destroyed};
                WEFT_TRY(park());
                ADD_FAILURE() << "nobody has unparked it";
                return {};
            });
        }
    }
    EXPECT_EQ(destroyed.load(kRelaxed), fibers);
}

TEST(Shutdown, FIB_12a_detached_and_unstarted_fibers_end_as_well) {
    Atomic<int> ended{0};
    {
        Runtime runtime(with_workers(1));
        runtime.spawn([&] {
            for (int i = 0; i < 100; ++i) {
                EXPECT_TRUE(spawn_detached([&] {
                    EXPECT_FALSE(park());
                    ended.fetch_add(1, kRelaxed);
                }));
            }
        });
        runtime.run();
    }
    EXPECT_EQ(ended.load(kRelaxed), 100);
}

TEST(Shutdown, FIB_12a_a_wait_that_begins_after_the_shutdown_ends_at_once) {
    Runtime runtime(with_workers(1));
    Atomic<bool> parked{false};
    Future<int> stubborn = runtime.spawn([&] {
        parked.store(true, kRelease);
        int cancelled = 0;
        for (int i = 0; i < 10; ++i) cancelled += weft::sleep_for(1h) ? 0 : 1;
        return cancelled;
    });
    ASSERT_TRUE(testing::eventually([&] { return parked.load(kAcquire); }));
    EXPECT_TRUE(runtime.shutdown());
    EXPECT_EQ(stubborn.join(), 10);
}

TEST(Shutdown, FIB_12a_a_shield_is_waited_out) {
    Runtime runtime(with_workers(1));
    Atomic<bool> parked{false};
    Future<bool> careful = runtime.spawn([&] {
        parked.store(true, kRelease);
        EXPECT_FALSE(park());
        return shield(Deadline::after(5s), [] { return weft::sleep_for(5ms).has_value(); });
    });
    ASSERT_TRUE(testing::eventually([&] { return parked.load(kAcquire); }));
    EXPECT_TRUE(runtime.shutdown());
    EXPECT_EQ(careful.join(), true);
}

TEST(Shutdown, FIB_12a_a_shutdown_that_times_out_names_who_did_not_end) {
    testing::CapturedLog log;
    Runtime other(with_workers(1));
    Future<void> neighbour = other.spawn([] { return weft::sleep_for(1h); }, {.name = "neighbour"});
    Runtime runtime(with_workers(1));
    Atomic<bool> stop{false};
    Atomic<bool> running{false};
    Future<void> deaf = runtime.spawn(
        [&] {
            running.store(true, kRelease);
            while (!stop.load(kAcquire)) yield();
        },
        {.name = "deaf fiber"});
    ASSERT_TRUE(testing::eventually([&] { return running.load(kAcquire); }));
    EXPECT_EQ(runtime.shutdown(Deadline::after(20ms)).error().kind(), ErrorKind::TimedOut);
    EXPECT_TRUE(log.contains("deaf fiber"));
    EXPECT_FALSE(log.contains("neighbour"));
    stop.store(true, kRelease);
    EXPECT_TRUE(runtime.shutdown());
    EXPECT_TRUE(deaf.join());
}

TEST(Shutdown, FIB_12b_a_cpu_loop_notices_at_its_checkpoint) {
    Runtime runtime(with_workers(1));
    Atomic<bool> running{false};
    Future<void> loop = runtime.spawn([&]() -> Result<void> {
        for (;;) {
            WEFT_TRY(checkpoint());
            running.store(true, kRelease);
        }
    });
    ASSERT_TRUE(testing::eventually([&] { return running.load(kAcquire); }));
    EXPECT_TRUE(runtime.shutdown());
    EXPECT_EQ(loop.join().error().kind(), ErrorKind::Cancelled);
}

TEST(Shutdown, FIB_12b_a_checkpoint_lets_others_run_and_sees_a_deadline) {
    Result<void> outcome = run(
        []() -> Result<void> {
            bool other_ran = false;
            spawn([&] { other_ran = true; });
            CancelSource source = CancelSource::with_deadline(Deadline::after(2ms));
            CancelScope scope(source.token());
            while (Result<void> live = checkpoint()) {}
            EXPECT_TRUE(other_ran);
            return checkpoint();
        },
        with_workers(1));
    EXPECT_EQ(outcome.error().kind(), ErrorKind::TimedOut);
    EXPECT_TRUE(checkpoint());  // on a plain thread
}

// Fibers spawn, wait, wake and end while the shutdown comes at any moment.
TEST(Shutdown, FIB_12a_a_shutdown_in_the_middle_of_everything_ends_everything) {
    for (std::size_t i = 0; i < testing::repeats(100); ++i) {
        Runtime runtime(with_workers(2));
        Atomic<int> busy{0};
        for (int root = 0; root < 4; ++root) {
            runtime.spawn([&]() -> Result<void> {
                for (;;) {
                    Future<void> child = spawn([]() -> Result<void> {
                        Future<void> sleeper = spawn([] { return weft::sleep_for(50us); });
                        WEFT_TRY(park(Deadline::after(30us)));
                        return sleeper.join();
                    });
                    busy.fetch_add(1, kRelaxed);
                    unpark(child.id());
                    WEFT_TRY(child.join());
                    WEFT_TRY(checkpoint());
                }
            });
        }
        ASSERT_TRUE(
            testing::eventually([&] { return busy.load(kRelaxed) > static_cast<int>(i % 40); }));
        ASSERT_TRUE(runtime.shutdown(Deadline::after(30s)));
        ASSERT_EQ(runtime.live_fibers(), 0u);
    }
}

}  // namespace
}  // namespace weft
