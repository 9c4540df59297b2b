// Registrations: Dormants, and descriptors and slots whose numbers are used again.
#include "weft/fiber/io/io_table.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/io.h"
#include "weft/fiber/runtime.h"

namespace weft {
namespace {

using std::chrono::seconds;

// On a fiber. With one worker the order is known: a spawned fiber runs at the next wait or yield of
// its maker, until it waits itself.
template <class Body>
void in_runtime(unsigned workers, Body body) {
    Result<void> result = run(body, {.workers = workers});
    EXPECT_TRUE(result) << result.error().message();
}

template <class T>
ErrorKind kind_of(const Result<T>& result) {
    EXPECT_FALSE(result.has_value());
    return result ? ErrorKind::Other : result.error().kind();
}

struct Sleeper : Dormant {
    Sleeper() { on_ready = woken; }
    static void woken(Dormant& dormant, std::uint8_t events) {
        auto& self = static_cast<Sleeper&>(dormant);
        self.events.store(events, std::memory_order_relaxed);
        self.calls.fetch_add(1, std::memory_order_release);
        unpark(self.owner);
    }
    // For the owner.
    Result<unsigned> wait() {
        while (calls.load(std::memory_order_acquire) == 0)
            WEFT_TRY(park(Deadline::after(seconds(10))));
        return events.load(std::memory_order_relaxed);
    }
    FiberId owner = current_id();
    Atomic<unsigned> calls{0};
    Atomic<unsigned> events{0};
};

// Returns when the worker has seen every event that was there before the call: a later one has
// come.
Result<void> let_events_arrive() {
    Pipe pipe = WEFT_TRY(make_pipe());
    Sleeper sleeper;
    EXPECT_TRUE(WEFT_TRY(pipe.reader.arm(sleeper, kReadable)));
    WEFT_TRY(pipe.writer.write_all(as_bytes("x")));
    WEFT_TRY(sleeper.wait());
    return {};
}

TEST(Dormant, RCT_2_readiness_gives_it_a_fiber) {
    in_runtime(2, []() -> Result<void> {
        struct Idle : Dormant {
            static void begin(Dormant& dormant, std::uint8_t) {
                auto& self = static_cast<Idle&>(dormant);
                // An idle connection owns no fiber; now it gets one.
                EXPECT_TRUE(spawn_detached([&self] {
                    std::byte buffer[16];
                    self.count = self.pipe->reader.read(buffer);
                    unpark(self.owner);
                }));
            }
            Pipe* pipe = nullptr;
            FiberId owner = current_id();
            Result<std::size_t> count = ErrorKind::Other;
        };
        Pipe pipe = WEFT_TRY(make_pipe());
        Idle idle;
        idle.on_ready = Idle::begin;
        idle.pipe = &pipe;
        EXPECT_TRUE(WEFT_TRY(pipe.reader.arm(idle, kReadable)));
        WEFT_TRY(pipe.writer.write_all(as_bytes("request")));
        WEFT_TRY(park(Deadline::after(seconds(10))));
        EXPECT_EQ(idle.count, 7U);
        return {};
    });
}

TEST(Dormant, RCT_2_hang_up_cancels_a_token_and_bytes_do_not) {
    in_runtime(1, []() -> Result<void> {
        struct Guard : Dormant {
            static void gone(Dormant& dormant, std::uint8_t events) {
                EXPECT_TRUE(events & kHangUp);
                static_cast<Guard&>(dormant).source.cancel();
            }
            CancelSource source;
        };
        Pipe pipe = WEFT_TRY(make_pipe());
        Guard guard;
        guard.on_ready = Guard::gone;
        EXPECT_TRUE(WEFT_TRY(pipe.reader.arm(guard, kHangUp | kFailed)));
        auto request = spawn([&] {
            CancelScope scope(guard.source.token());
            return weft::sleep_for(seconds(10));
        });
        WEFT_TRY(pipe.writer.write_all(as_bytes("still here")));
        WEFT_TRY(let_events_arrive());
        EXPECT_FALSE(guard.source.token().is_cancelled());
        pipe.writer.close();
        Result<void> ended = request.join();
        EXPECT_EQ(kind_of(ended), ErrorKind::Cancelled);
        return {};
    });
}

TEST(Dormant, RCT_2_what_is_there_already_is_not_armed) {
    in_runtime(1, []() -> Result<void> {
        Pipe pipe = WEFT_TRY(make_pipe());
        Sleeper sleeper;
        std::byte buffer[16];
        EXPECT_FALSE(WEFT_TRY(pipe.reader.try_read(buffer)).has_value());
        EXPECT_TRUE(WEFT_TRY(pipe.reader.arm(sleeper, kReadable)));
        Sleeper second;
        Result<bool> refused = pipe.reader.arm(second, kReadable);
        EXPECT_EQ(kind_of(refused), ErrorKind::Misuse);
        WEFT_TRY(pipe.writer.write_all(as_bytes("x")));
        EXPECT_EQ(WEFT_TRY(sleeper.wait()), kReadable);
        EXPECT_FALSE(WEFT_TRY(pipe.reader.arm(second, kReadable)));
        EXPECT_EQ(WEFT_TRY(pipe.reader.read(buffer)), 1U);
        EXPECT_TRUE(WEFT_TRY(pipe.reader.arm(second, kReadable)));
        EXPECT_TRUE(pipe.reader.disarm(second));
        EXPECT_EQ(second.calls.load(std::memory_order_acquire), 0U);
        return {};
    });
}

TEST(Dormant, RCT_2_close_tells_it) {
    in_runtime(1, []() -> Result<void> {
        Pipe pipe = WEFT_TRY(make_pipe());
        Sleeper sleeper;
        EXPECT_TRUE(WEFT_TRY(pipe.reader.arm(sleeper, kReadable)));
        pipe.reader.close();
        EXPECT_EQ(WEFT_TRY(sleeper.wait()), kClosed);
        EXPECT_EQ(pipe.reader.arm(sleeper, kReadable).error().kind(), ErrorKind::Closed);
        return {};
    });
}

TEST(Dormant, RCT_2_the_end_of_the_runtime_tells_it) {
    Pipe pipe = std::move(*make_pipe());
    Sleeper sleeper;
    in_runtime(1, [&]() -> Result<void> {
        EXPECT_TRUE(WEFT_TRY(pipe.reader.arm(sleeper, kReadable)));
        return {};
    });
    EXPECT_EQ(sleeper.calls.load(std::memory_order_acquire), 1U);
    EXPECT_EQ(sleeper.events.load(std::memory_order_relaxed), kClosed);
}

TEST(Dormant, RCT_2_it_is_called_or_disarmed_never_both) {
    in_runtime(2, []() -> Result<void> {
        unsigned taken_back = 0;
        unsigned called = 0;
        for (int round = 0; round < 2000; ++round) {
            Pipe pipe = WEFT_TRY(make_pipe());
            Sleeper sleeper;
            EXPECT_TRUE(WEFT_TRY(pipe.reader.arm(sleeper, kReadable)));
            auto writer = spawn([&] { return pipe.writer.write_all(as_bytes("x")); });
            for (int i = round % 7; i > 0; --i) yield();
            if (pipe.reader.disarm(sleeper)) {
                ++taken_back;
                WEFT_TRY(writer.join());
                EXPECT_EQ(sleeper.calls.load(std::memory_order_acquire), 0U);
            } else {
                WEFT_TRY(writer.join());
                EXPECT_EQ(WEFT_TRY(sleeper.wait()), kReadable);
                EXPECT_EQ(sleeper.calls.load(std::memory_order_acquire), 1U);
                ++called;
            }
        }
        EXPECT_EQ(taken_back + called, 2000U);
        return {};
    });
}

// ---------------------------------------------------------------- numbers that come again

TEST(Descriptor, RCT_2_an_old_event_finds_nobody) {
    in_runtime(1, []() -> Result<void> {
        Pipe old_pipe = WEFT_TRY(make_pipe());
        int number = old_pipe.reader.fd();
        Sleeper old_owner;
        EXPECT_TRUE(WEFT_TRY(old_pipe.reader.arm(old_owner, kReadable)));
        // The event is in the kernel; the worker does not look before this fiber waits.
        WEFT_TRY(old_pipe.writer.write_all(as_bytes("for the old owner")));
        EXPECT_TRUE(old_pipe.reader.disarm(old_owner));
        old_pipe.reader.close();
        Pipe new_pipe = WEFT_TRY(make_pipe());
        EXPECT_EQ(new_pipe.reader.fd(), number);
        Sleeper new_owner;
        EXPECT_TRUE(WEFT_TRY(new_pipe.reader.arm(new_owner, kReadable)));
        WEFT_TRY(let_events_arrive());
        EXPECT_EQ(new_owner.calls.load(std::memory_order_acquire), 0U);
        WEFT_TRY(new_pipe.writer.write_all(as_bytes("for the new owner")));
        EXPECT_EQ(WEFT_TRY(new_owner.wait()), kReadable);
        return {};
    });
}

TEST(Descriptor, RCT_2_no_event_strays_while_numbers_come_and_go) {
    in_runtime(2, []() -> Result<void> {
        Atomic<unsigned> strays{0};
        // Each fiber makes pipes that nobody writes to before the last moment: an event for one of
        // them can only be another's. Its neighbours write and close all the time.
        auto quiet = [&]() -> Result<void> {
            for (int round = 0; round < 1000; ++round) {
                Pipe pipe = WEFT_TRY(make_pipe());
                Sleeper sleeper;
                EXPECT_TRUE(WEFT_TRY(pipe.reader.arm(sleeper, kReadable | kHangUp)));
                for (int i = round % 5; i >= 0; --i) yield();
                if (!pipe.reader.disarm(sleeper)) strays.fetch_add(1, std::memory_order_relaxed);
            }
            return {};
        };
        auto noisy = [&]() -> Result<void> {
            std::byte buffer[16];
            for (int round = 0; round < 1000; ++round) {
                Pipe pipe = WEFT_TRY(make_pipe());
                auto reader = spawn([&] { return pipe.reader.read(buffer); });
                yield();
                WEFT_TRY(pipe.writer.write_all(as_bytes("noise")));
                if (round % 3 == 0) pipe.writer.close();
                if (round % 2 == 0) pipe.reader.close();
                static_cast<void>(reader.join());
            }
            return {};
        };
        std::vector<Future<void>> fibers;
        for (int i = 0; i < 4; ++i) {
            fibers.push_back(spawn(quiet));
            fibers.push_back(spawn(noisy));
        }
        for (Future<void>& fiber : fibers) WEFT_TRY(fiber.join());
        EXPECT_EQ(strays.load(std::memory_order_relaxed), 0U);
        return {};
    });
}

TEST(Descriptor, RCT_2_closing_from_anywhere_is_safe_at_any_time) {
    in_runtime(2, []() -> Result<void> {
        for (int round = 0; round < 2000; ++round) {
            Pipe pipe = WEFT_TRY(make_pipe());
            std::byte buffer[16];
            auto reader = spawn([&] { return pipe.reader.read(buffer); });
            auto closer = spawn([&] { pipe.reader.close(); });
            auto writer = spawn([&] { return pipe.writer.write(as_bytes("x")); });
            for (int i = round % 4; i > 0; --i) yield();
            pipe.writer.close();
            Result<std::size_t> count = reader.join();
            EXPECT_TRUE(count || count.error().kind() == ErrorKind::Closed);
            WEFT_TRY(closer.join());
            Result<std::size_t> written = writer.join();
            EXPECT_TRUE(written || written.error().kind() == ErrorKind::Closed ||
                        written.error().kind() == ErrorKind::Reset);
        }
        return {};
    });
}

}  // namespace
}  // namespace weft
