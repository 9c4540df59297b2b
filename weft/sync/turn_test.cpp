// A fiber that repeats operations which need not wait: the other fibers of its worker still get
// their turns in time.
#include "weft/fiber/turn.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <functional>
#include <mutex>

#include "weft/fiber/fiber.h"
#include "weft/fiber/io.h"
#include "weft/sync/channel.h"
#include "weft/sync/event.h"
#include "weft/sync/internal/sync_test.h"
#include "weft/sync/mutex.h"
#include "weft/sync/once.h"
#include "weft/sync/select.h"
#include "weft/sync/semaphore.h"
#include "weft/sync/shared_mutex.h"
#include "weft/sync/wait_group.h"

namespace weft {
namespace {

using namespace std::chrono_literals;
using sync_test::kTooLong;
using sync_test::on_workers;

constexpr int kTurnsWanted = 10;

// Calls `operation` until a sleeper, a reader of a pipe and a fiber that only yields have each had
// so many turns. If the fiber never gives up its turn, the time limit ends the test.
void expect_turns_beside(const std::function<void()>& operation) {
    on_workers(1, [&]() -> Result<void> {
        Pipe pipe = WEFT_TRY(make_pipe());
        std::array<int, 3> turns{};
        bool stop = false;
        auto sleeper = spawn([&]() -> Result<void> {
            for (; turns[0] < kTurnsWanted && !stop; ++turns[0])
                WEFT_TRY(sleep_for(10ms));  // tidy: allow sleep: it is what must come in time
            return {};
        });
        auto reader = spawn([&]() -> Result<void> {
            std::byte byte[1];
            for (; turns[1] < kTurnsWanted; ++turns[1]) {
                if (WEFT_TRY(pipe.reader.read(byte)) == 0) break;
            }
            return {};
        });
        auto another = spawn([&] {
            for (; turns[2] < kTurnsWanted && !stop; ++turns[2]) yield();
        });
        Deadline deadline = Deadline::after(kTooLong);
        int written = 0;
        auto is_done = [&] {
            return turns[0] == kTurnsWanted && turns[1] == kTurnsWanted && turns[2] == kTurnsWanted;
        };
        while (!is_done() && !deadline.expired(Clock::now())) {
            operation();
            // The next byte comes when the one before was read: each needs a poll of the reactor.
            if (written < kTurnsWanted && written == turns[1]) {
                std::byte byte[1] = {};
                EXPECT_TRUE(pipe.writer.try_write(byte).value().has_value());
                ++written;
            }
        }
        EXPECT_EQ(turns[0], kTurnsWanted) << "a sleeper of 10 ms";
        EXPECT_EQ(turns[1], kTurnsWanted) << "a reader";
        EXPECT_EQ(turns[2], kTurnsWanted) << "one that is always ready";
        stop = true;
        pipe.writer.close();
        WEFT_TRY(sleeper.join());
        WEFT_TRY(reader.join());
        return another.join();
    });
}

TEST(Turn, FIB_15a_a_channel_that_is_always_ready_leaves_turns_to_others) {
    Channel<int> channel(1000);
    expect_turns_beside([&] {
        static_cast<void>(channel.send(1));
        static_cast<void>(channel.receive());
    });
}

TEST(Turn, FIB_15a_so_does_a_channel_with_deadlines) {
    Channel<int> channel(1000);
    expect_turns_beside([&] {
        static_cast<void>(channel.send_for(1, 1h));
        static_cast<void>(channel.receive_for(1h));
    });
}

TEST(Turn, FIB_15a_so_does_a_closed_channel) {
    Channel<int> channel(1);
    channel.close();
    expect_turns_beside([&] { static_cast<void>(channel.receive()); });
    expect_turns_beside([&] { static_cast<void>(channel.send(1)); });
}

TEST(Turn, FIB_15b_a_select_that_is_always_ready_leaves_turns_to_others) {
    Channel<int> channel(1);
    expect_turns_beside([&] {
        static_cast<void>(select(on_send(channel, 1, [](const Result<void>&) {}),
                                 on_receive(channel, [](const Result<int>&) {})));
    });
}

TEST(Turn, FIB_15c_a_mutex_that_is_always_free_leaves_turns_to_others) {
    Mutex mutex;
    expect_turns_beside([&] { std::lock_guard guard(mutex); });
    SharedMutex shared;
    expect_turns_beside([&] { std::lock_guard guard(shared); });
}

TEST(Turn, FIB_15d_a_semaphore_with_permits_leaves_turns_to_others) {
    Semaphore semaphore(1);
    expect_turns_beside([&] {
        static_cast<void>(semaphore.acquire());
        semaphore.release();
    });
    expect_turns_beside([&] {
        static_cast<void>(semaphore.acquire_for(1h));
        semaphore.release();
    });
}

TEST(Turn, FIB_15e_reads_and_writes_that_are_always_ready_leave_turns_to_others) {
    Pipe pipe = make_pipe().value();
    std::byte bytes[16] = {};
    expect_turns_beside([&] {
        static_cast<void>(pipe.writer.write(bytes));
        static_cast<void>(pipe.reader.read(bytes));
    });
}

TEST(Turn, FIB_15f_waits_that_are_always_over_leave_turns_to_others) {
    Event event(Event::State::Set);
    expect_turns_beside([&] { static_cast<void>(event.wait()); });
    WaitGroup group;
    expect_turns_beside([&] { static_cast<void>(group.wait()); });
    Once once;
    expect_turns_beside([&] { static_cast<void>(once.call([] {})); });
}

// Each operation takes long, so the number of operations in a turn must shrink. Lateness is counted
// in operations, not in time, because another program may occupy the cpu.
TEST(Turn, FIB_15g_others_are_in_time_also_when_each_operation_takes_long) {
    on_workers(1, [&]() -> Result<void> {
        Channel<int> channel(2);
        constexpr auto kEach = 200us;
        Instant due = Instant::max();
        int done_since = 0;
        int most = 0;
        bool stop = false;
        auto sleeper = spawn([&]() -> Result<void> {
            for (int i = 0; i < 20; ++i) {
                done_since = 0;
                due = Clock::now() + 10ms;
                // tidy: allow sleep: it is what must come in time
                WEFT_TRY(sleep_until(Deadline::at(due)));
                // From the first operations the scheduler learns how long they take.
                if (i >= 5) most = std::max(most, done_since);
            }
            stop = true;
            return {};
        });
        Deadline deadline = Deadline::after(kTooLong);
        while (!stop && !deadline.expired(Clock::now())) {
            Instant until = Clock::now() + kEach;
            while (Clock::now() < until) {}
            if (until > due) ++done_since;
            WEFT_TRY(channel.send(1));
            WEFT_TRY(channel.receive());
        }
        EXPECT_TRUE(stop);
        EXPECT_LT(most * kEach, 10ms);
        return sleeper.join();
    });
}

// Operations that never wait may be called where waiting is forbidden, such as under a std::mutex.
TEST(Turn, FIB_15h_an_operation_that_never_waits_keeps_its_turn) {
    on_workers(1, [&]() -> Result<void> {
        int turns = 0;
        bool stop = false;
        auto another = spawn([&] {
            for (; !stop; ++turns) yield();
        });
        yield();
        int before = turns;
        Channel<int> channel(1);
        Mutex mutex;
        Semaphore semaphore(1);
        Event event;
        for (int i = 0; i < 100'000; ++i) {
            static_cast<void>(channel.try_send(1));
            static_cast<void>(channel.try_receive());
            if (mutex.try_lock()) mutex.unlock();
            if (semaphore.try_acquire()) semaphore.release();
            event.set();
            event.reset();
        }
        EXPECT_EQ(turns, before);
        stop = true;
        return another.join();
    });
}

}  // namespace
}  // namespace weft
