#include "weft/fiber/io.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>  // tidy: allow foreign: a pair of sockets to read and write
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/base/env.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"

namespace weft {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Runs the body on a fiber. With one worker the order is known: a spawned fiber runs at the next
// wait or yield of its maker, until it waits itself.
template <class Body>
void in_runtime(unsigned workers, Body body) {
    Result<void> result = run(body, {.workers = workers});
    EXPECT_TRUE(result) << result.error().message();
}

std::string_view text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Reads up to the end of the stream.
Result<std::string> read_to_end(Descriptor& descriptor) {
    std::string text;
    std::byte buffer[1000];
    for (;;) {
        std::size_t count = WEFT_TRY(descriptor.read(buffer));
        if (count == 0) return text;
        text += text_of(std::span(buffer, count));
    }
}

template <class T>
ErrorKind kind_of(const Result<T>& result) {
    EXPECT_FALSE(result.has_value());
    return result ? ErrorKind::Other : result.error().kind();
}

void fill(Descriptor& writer) {
    std::vector<std::byte> bytes(4096);
    for (;;) {
        Result<std::optional<std::size_t>> count = writer.try_write(bytes);
        ASSERT_TRUE(count);
        if (!*count) return;
    }
}

TEST(Descriptor, RCT_2_two_pipes_carry_1000_messages_and_eof) {
    in_runtime(2, []() -> Result<void> {
        constexpr unsigned messages = 1000;
        Pipe there = WEFT_TRY(make_pipe());
        Pipe back = WEFT_TRY(make_pipe());
        auto echo = spawn([&]() -> Result<unsigned> {
            std::byte buffer[64];
            unsigned count = 0;
            for (;;) {
                std::size_t size = WEFT_TRY(there.reader.read(buffer));
                if (size == 0) break;
                WEFT_TRY(back.writer.write_all(std::span(buffer, size)));
                ++count;
            }
            back.writer.close();
            return count;
        });
        std::byte buffer[64];
        for (unsigned i = 0; i < messages; ++i) {
            std::string message = "message " + std::to_string(i);
            WEFT_TRY(there.writer.write_all(as_bytes(message)));
            std::size_t size = WEFT_TRY(back.reader.read(buffer));
            EXPECT_EQ(text_of(std::span(buffer, size)), message);
        }
        there.writer.close();
        EXPECT_EQ(WEFT_TRY(back.reader.read(buffer)), 0U);
        EXPECT_EQ(WEFT_TRY(echo.join()), messages);
        return {};
    });
}

// How many turns all players have had, how many are left, and the most that one has waited for.
struct Turns {
    std::size_t taken = 0;
    std::size_t left = 0;
    std::size_t longest_wait = 0;
};

// Two that wake each other through the reactor, until all turns are over.
struct Pair {
    static Descriptor make_event() {
        return Descriptor::adopt_nonblocking(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC),
                                             Flow::Unknown);
    }
    // try_write, because a write_all may first let others have their turns.
    Result<void> send(Descriptor& event, const Turns& turns) {
        ready_since = turns.taken;
        const std::uint64_t one = 1;
        EXPECT_TRUE(WEFT_TRY(event.try_write(std::as_bytes(std::span(&one, 1)))));
        return {};
    }
    Result<void> play(Descriptor& mine, Descriptor& other, Turns& turns) {
        auto read_and_count = [&](int fd) -> long {
            std::uint64_t count = 0;
            if (::read(fd, &count, sizeof count) < 0) return -errno;
            turns.longest_wait = std::max(turns.longest_wait, turns.taken - ready_since);
            ++turns.taken;
            return sizeof count;
        };
        while (turns.left > 0) {
            WEFT_TRY(mine.until_ready(kReadable, read_and_count, Deadline::never()));
            if (turns.left > 0) --turns.left;
            WEFT_TRY(send(other, turns));
        }
        return {};
    }

    Descriptor first = make_event();
    Descriptor second = make_event();
    std::size_t ready_since = 0;
};

// One of each pair is ready, and these are more than a worker's queue holds. The promise is that of
// docs/design/002: while a descriptor is ready and its fiber waits, no other fiber has two turns.
TEST(Descriptor, FIB_6_none_of_many_busy_descriptors_is_kept_waiting) {
    in_runtime(1, []() -> Result<void> {
        std::vector<Pair> pairs(350);
        Turns turns{.left = pairs.size() * 50};
        std::vector<Future<void>> players;
        for (Pair& pair : pairs) {
            players.push_back(spawn([&] { return pair.play(pair.first, pair.second, turns); }));
            players.push_back(spawn([&] { return pair.play(pair.second, pair.first, turns); }));
        }
        // All wait before the first one may begin.
        for (std::size_t count = 0; count < players.size(); ++count) yield();
        for (Pair& pair : pairs) WEFT_TRY(pair.send(pair.first, turns));
        for (Future<void>& player : players) WEFT_TRY(player.join());
        EXPECT_GE(turns.longest_wait, pairs.size() - 1) << "they were not all ready at once";
        EXPECT_LT(turns.longest_wait, players.size());
        return {};
    });
}

TEST(Descriptor, RCT_2_a_large_stream_arrives_whole) {
    in_runtime(2, []() -> Result<void> {
        constexpr std::size_t total = 3'000'000;
        Pipe pipe = WEFT_TRY(make_pipe());
        auto writer = spawn([&]() -> Result<void> {
            std::vector<std::byte> bytes(100'003);
            for (std::size_t sent = 0; sent < total;) {
                std::size_t size = std::min(bytes.size(), total - sent);
                for (std::size_t i = 0; i < size; ++i)
                    bytes[i] = static_cast<std::byte>((sent + i) * 7 >> 3);
                WEFT_TRY(pipe.writer.write_all(std::span(bytes).first(size)));
                sent += size;
            }
            pipe.writer.close();
            return {};
        });
        std::vector<std::byte> buffer(7919);
        std::size_t received = 0;
        std::size_t wrong = 0;
        for (;;) {
            std::size_t count = WEFT_TRY(pipe.reader.read(buffer));
            if (count == 0) break;
            for (std::size_t i = 0; i < count; ++i)
                wrong += buffer[i] != static_cast<std::byte>((received + i) * 7 >> 3);
            received += count;
        }
        EXPECT_EQ(received, total);
        EXPECT_EQ(wrong, 0U);
        return writer.join();
    });
}

TEST(Descriptor, RCT_2_the_end_comes_after_the_last_bytes) {
    // The reader waits when bytes and end arrive, so that one edge tells of both.
    in_runtime(1, []() -> Result<void> {
        for (int round = 0; round < 100; ++round) {
            Pipe pipe = WEFT_TRY(make_pipe());
            auto reader = spawn([&] { return read_to_end(pipe.reader); });
            yield();
            WEFT_TRY(pipe.writer.write_all(as_bytes("abc")));
            pipe.writer.close();
            EXPECT_EQ(WEFT_TRY(reader.join()), "abc");
        }
        return {};
    });
}

TEST(Descriptor, RCT_2_a_waiting_reader_sees_the_end) {
    in_runtime(1, []() -> Result<void> {
        Pipe pipe = WEFT_TRY(make_pipe());
        auto reader = spawn([&] { return read_to_end(pipe.reader); });
        yield();
        pipe.writer.close();
        EXPECT_EQ(WEFT_TRY(reader.join()), "");
        return {};
    });
}

TEST(Descriptor, RCT_2_empty_buffers_do_nothing) {
    in_runtime(1, []() -> Result<void> {
        Pipe pipe = WEFT_TRY(make_pipe());
        EXPECT_EQ(WEFT_TRY(pipe.reader.read({})), 0U);
        EXPECT_EQ(WEFT_TRY(pipe.writer.write({})), 0U);
        WEFT_TRY(pipe.writer.write_all({}));
        std::byte buffer[8];
        EXPECT_FALSE(WEFT_TRY(pipe.reader.try_read(buffer)).has_value());
        return {};
    });
}

TEST(Descriptor, RCT_2_writing_without_a_reader_is_reset) {
    in_runtime(1, []() -> Result<void> {
        Pipe pipe = WEFT_TRY(make_pipe());
        pipe.reader.close();
        EXPECT_EQ(kind_of(pipe.writer.write(as_bytes("x"))), ErrorKind::Reset);
        return {};
    });
    // On a thread of the program the signal would end the process.
    Pipe pipe = std::move(*make_pipe());
    pipe.reader.close();
    EXPECT_EQ(kind_of(pipe.writer.write(as_bytes("x"))), ErrorKind::Reset);
    sigset_t pending;
    ::sigpending(&pending);
    EXPECT_FALSE(sigismember(&pending, SIGPIPE));
}

TEST(Descriptor, RCT_2_a_waiting_writer_sees_the_reader_go) {
    in_runtime(1, []() -> Result<void> {
        Pipe pipe = WEFT_TRY(make_pipe());
        fill(pipe.writer);
        auto writer = spawn([&] { return pipe.writer.write(as_bytes("one more")); });
        yield();
        pipe.reader.close();
        EXPECT_EQ(kind_of(writer.join()), ErrorKind::Reset);
        return {};
    });
}

TEST(Descriptor, RCT_2_a_waiting_writer_goes_on_when_there_is_room) {
    in_runtime(1, []() -> Result<void> {
        Pipe pipe = WEFT_TRY(make_pipe());
        fill(pipe.writer);
        auto writer = spawn([&] { return pipe.writer.write(as_bytes("one more")); });
        yield();
        EXPECT_FALSE(writer.is_done());
        std::vector<std::byte> buffer(1 << 17);
        WEFT_TRY(pipe.reader.read(buffer));
        EXPECT_EQ(WEFT_TRY(writer.join()), 8U);
        return {};
    });
}

TEST(Descriptor, RCT_2_a_read_times_out) {
    in_runtime(1, []() -> Result<void> {
        Pipe pipe = WEFT_TRY(make_pipe());
        std::byte buffer[8];
        Instant before = Clock::now();
        EXPECT_EQ(kind_of(pipe.reader.read(buffer, Deadline::after(milliseconds(5)))),
                  ErrorKind::TimedOut);
        EXPECT_GE(Clock::now() - before, milliseconds(5));
        EXPECT_EQ(kind_of(pipe.reader.read(buffer, Deadline::at(before))), ErrorKind::TimedOut);
        // What is there is read, however late it is.
        WEFT_TRY(pipe.writer.write_all(as_bytes("late")));
        EXPECT_EQ(WEFT_TRY(pipe.reader.read(buffer, Deadline::after(seconds(10)))), 4U);
        return {};
    });
}

TEST(Descriptor, RCT_2_a_read_honours_tokens) {
    in_runtime(1, []() -> Result<void> {
        Pipe pipe = WEFT_TRY(make_pipe());
        std::byte buffer[8];
        CancelSource given;
        auto by_given =
            spawn([&] { return pipe.reader.read(buffer, Deadline::never(), given.token()); });
        yield();
        given.cancel();
        EXPECT_EQ(kind_of(by_given.join()), ErrorKind::Cancelled);

        CancelSource around;
        auto by_ambient = spawn([&] {
            CancelScope scope(around.token());
            return pipe.reader.read(buffer);
        });
        yield();
        around.cancel();
        EXPECT_EQ(kind_of(by_ambient.join()), ErrorKind::Cancelled);

        CancelScope scope(CancelSource::with_deadline(Deadline::after(milliseconds(5))).token());
        EXPECT_EQ(kind_of(pipe.reader.read(buffer)), ErrorKind::TimedOut);
        return {};
    });
}

TEST(Descriptor, RCT_2_nothing_is_left_behind_by_a_cancelled_read) {
    in_runtime(1, []() -> Result<void> {
        Pipe pipe = WEFT_TRY(make_pipe());
        std::byte buffer[8];
        for (int i = 0; i < 50; ++i)
            EXPECT_FALSE(pipe.reader.read(buffer, Deadline::after(std::chrono::microseconds(50))));
        WEFT_TRY(pipe.writer.write_all(as_bytes("x")));
        EXPECT_EQ(WEFT_TRY(pipe.reader.read(buffer)), 1U);
        return {};
    });
}

TEST(Descriptor, RCT_2_close_wakes_whoever_waits) {
    in_runtime(1, []() -> Result<void> {
        Pipe pipe = WEFT_TRY(make_pipe());
        fill(pipe.writer);
        Pipe empty = WEFT_TRY(make_pipe());
        std::byte buffer[8];
        auto reader = spawn([&] { return empty.reader.read(buffer); });
        auto second_reader = spawn([&] { return empty.reader.read(buffer); });
        auto writer = spawn([&] { return pipe.writer.write(as_bytes("x")); });
        auto watcher = spawn([&] { return empty.reader.wait_readable(); });
        yield();
        yield();
        empty.reader.close();
        pipe.writer.close();
        EXPECT_EQ(kind_of(reader.join()), ErrorKind::Closed);
        EXPECT_EQ(kind_of(second_reader.join()), ErrorKind::Closed);
        EXPECT_EQ(kind_of(writer.join()), ErrorKind::Closed);
        EXPECT_EQ(kind_of(watcher.join()), ErrorKind::Closed);
        EXPECT_EQ(kind_of(empty.reader.read(buffer)), ErrorKind::Closed);
        EXPECT_EQ(empty.reader.fd(), -1);
        empty.reader.close();  // a second time does nothing
        return {};
    });
}

TEST(Descriptor, RCT_2_close_waits_for_no_one_but_the_number_stays_until_the_last_call) {
    in_runtime(1, []() -> Result<void> {
        Pipe pipe = WEFT_TRY(make_pipe());
        int number = pipe.reader.fd();
        std::byte buffer[8];
        auto reader = spawn([&] { return pipe.reader.read(buffer); });
        yield();
        pipe.reader.close();
        EXPECT_FALSE(pipe.reader.is_open());
        EXPECT_EQ(::fcntl(number, F_GETFD), FD_CLOEXEC);  // the reader has not left yet
        EXPECT_EQ(kind_of(reader.join()), ErrorKind::Closed);
        EXPECT_EQ(::fcntl(number, F_GETFD), -1);
        return {};
    });
}

TEST(Descriptor, RCT_2c_calls_of_all_workers_and_threads_race_with_the_close) {
    constexpr int kRounds = 200;
    in_runtime(3, []() -> Result<void> {
        for (int round = 0; round < kRounds; ++round) {
            Pipe pipe = WEFT_TRY(make_pipe());
            // After a wait the descriptor is registered with a worker, which then counts its own
            // calls without locked operations.
            auto reader = spawn([&] {
                std::byte buffer[8];
                return pipe.reader.read(buffer);
            });
            Atomic<bool> number_was_there{true};
            auto call_until_closed = [&] {
                auto has_number = [](int fd) { return ::fcntl(fd, F_GETFD) >= 0 ? 1 : 0; };
                while (Result<long> there = pipe.reader.with_fd(has_number)) {
                    if (*there == 0) number_was_there.store(false, std::memory_order_relaxed);
                    yield();
                }
            };
            auto first = spawn(call_until_closed);
            auto second = spawn(call_until_closed);
            std::thread outside(call_until_closed);
            for (int turn = round % 4; turn > 0; --turn) yield();
            auto closer = spawn([&] { pipe.reader.close(); });
            if (round % 2 == 0) pipe.reader.close();
            static_cast<void>(closer.join());
            static_cast<void>(first.join());
            static_cast<void>(second.join());
            outside.join();
            EXPECT_EQ(kind_of(reader.join()), ErrorKind::Closed);
            EXPECT_TRUE(number_was_there.load(std::memory_order_relaxed));
            EXPECT_EQ(pipe.reader.fd(), -1);
        }
        return {};
    });
}

TEST(Descriptor, RCT_2_two_readers_share_a_stream) {
    in_runtime(2, []() -> Result<void> {
        Pipe pipe = WEFT_TRY(make_pipe());
        auto count_bytes = [&]() -> Result<std::size_t> {
            return WEFT_TRY(read_to_end(pipe.reader))
            .size();
        };
        auto first = spawn(count_bytes);
        auto second = spawn(count_bytes);
        std::string block(100, 'x');
        for (int i = 0; i < 1000; ++i) WEFT_TRY(pipe.writer.write_all(as_bytes(block)));
        pipe.writer.close();
        std::size_t total = WEFT_TRY(first.join());
        total += WEFT_TRY(second.join());
        EXPECT_EQ(total, 100'000U);
        return {};
    });
}

TEST(Descriptor, RCT_2_one_who_always_finds_bytes_lets_others_run) {
    in_runtime(1, []() -> Result<void> {
        Descriptor zeroes = WEFT_TRY(Descriptor::adopt(::open("/dev/zero", O_RDONLY | O_CLOEXEC)));
        bool ran = false;
        auto other = spawn([&] { ran = true; });
        std::byte buffer[8];
        int reads = 0;
        for (; !ran && reads < 1000; ++reads) WEFT_TRY(zeroes.read(buffer));
        EXPECT_LT(reads, 1000);
        return other.join();
    });
}

TEST(Descriptor, RCT_2_a_reading_loop_notices_cancellation) {
    in_runtime(1, []() -> Result<void> {
        Descriptor zeroes = WEFT_TRY(Descriptor::adopt(::open("/dev/zero", O_RDONLY | O_CLOEXEC)));
        CancelSource source;
        CancelScope scope(source.token());
        source.cancel();
        std::byte buffer[8];
        int reads = 0;
        while (reads < 1000 && zeroes.read(buffer)) ++reads;
        EXPECT_LT(reads, 1000);
        return {};
    });
}

TEST(Descriptor, RCT_2_a_regular_file_never_waits) {
    in_runtime(1, []() -> Result<void> {
        Descriptor file =
            WEFT_TRY(Descriptor::adopt(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC)));
        std::byte buffer[4];
        EXPECT_EQ(WEFT_TRY(file.read(buffer)), 4U);
        WEFT_TRY(file.wait_readable(Deadline::after(seconds(10))));
        return {};
    });
}

TEST(Descriptor, RCT_2_what_is_no_descriptor_is_refused) {
    Result<Descriptor> adopted = Descriptor::adopt(-1);
    ASSERT_FALSE(adopted);
    EXPECT_EQ(adopted.error().native_code(), EBADF);
    Descriptor none;
    std::byte buffer[4];
    EXPECT_EQ(kind_of(none.read(buffer)), ErrorKind::Closed);
    EXPECT_EQ(kind_of(none.write(buffer)), ErrorKind::Closed);
    none.close();
}

TEST(Descriptor, RCT_2_out_of_descriptors_is_told) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    rlimit few = before;
    few.rlim_cur = 3;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    Result<Pipe> pipe = make_pipe();
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    ASSERT_FALSE(pipe);
    EXPECT_EQ(kind_of(pipe), ErrorKind::OutOfFds);
}

TEST(Descriptor, RCT_2_released_it_is_the_callers_again) {
    in_runtime(1, []() -> Result<void> {
        Pipe pipe = WEFT_TRY(make_pipe());
        std::byte buffer[8];
        EXPECT_FALSE(pipe.reader.read(buffer, Deadline::after(milliseconds(1))));
        int number = pipe.reader.release();
        EXPECT_FALSE(pipe.reader.is_open());
        Descriptor again = WEFT_TRY(Descriptor::adopt(number));
        auto reader = spawn([&] { return again.read(buffer); });
        yield();
        WEFT_TRY(pipe.writer.write_all(as_bytes("hello")));
        EXPECT_EQ(WEFT_TRY(reader.join()), 5U);
        return {};
    });
}

TEST(Descriptor, RCT_2_moved_it_keeps_its_registration) {
    in_runtime(1, []() -> Result<void> {
        Pipe pipe = WEFT_TRY(make_pipe());
        std::byte buffer[8];
        EXPECT_FALSE(pipe.reader.read(buffer, Deadline::after(milliseconds(1))));
        Descriptor moved(std::move(pipe.reader));
        EXPECT_EQ(kind_of(pipe.reader.read(buffer)), ErrorKind::Closed);
        Pipe other = WEFT_TRY(make_pipe());
        other.reader = std::move(moved);
        auto reader = spawn([&] { return other.reader.read(buffer); });
        yield();
        WEFT_TRY(pipe.writer.write_all(as_bytes("hello")));
        EXPECT_EQ(WEFT_TRY(reader.join()), 5U);
        return {};
    });
}

TEST(Descriptor, RCT_2_it_outlives_its_runtime_and_serves_the_next) {
    Pipe pipe = std::move(*make_pipe());
    for (int round = 0; round < 3; ++round) {
        in_runtime(2, [&]() -> Result<void> {
            std::byte buffer[8];
            auto reader = spawn([&] { return pipe.reader.read(buffer); });
            yield();
            WEFT_TRY(pipe.writer.write_all(as_bytes("hello")));
            EXPECT_EQ(WEFT_TRY(reader.join()), 5U);
            return {};
        });
    }
}

// ---------------------------------------------------------------- for libraries

TEST(Descriptor, RCT_2_waiting_for_a_library_asks_the_kernel) {
    in_runtime(1, []() -> Result<void> {
        Pipe pipe = WEFT_TRY(make_pipe());
        WEFT_TRY(pipe.writer.write_all(as_bytes("one")));
        WEFT_TRY(pipe.reader.wait_readable());
        WEFT_TRY(pipe.reader.wait_readable());  // still so
        char bytes[8];
        EXPECT_EQ(::read(pipe.reader.fd(), bytes, sizeof bytes), 3);  // as a library would
        Result<void> nothing = pipe.reader.wait_readable(Deadline::after(milliseconds(2)));
        EXPECT_EQ(kind_of(nothing), ErrorKind::TimedOut);
        auto waiter = spawn([&] { return pipe.reader.wait_readable(); });
        yield();
        EXPECT_EQ(::write(pipe.writer.fd(), "two", 3), 3);
        WEFT_TRY(waiter.join());
        WEFT_TRY(pipe.writer.wait_writable());
        fill(pipe.writer);
        EXPECT_FALSE(pipe.writer.wait_writable(Deadline::after(milliseconds(2))));
        CancelSource source;
        source.cancel();
        Result<void> cancelled = pipe.writer.wait_writable(Deadline::never(), source.token());
        EXPECT_EQ(kind_of(cancelled), ErrorKind::Cancelled);
        return {};
    });
}

TEST(Descriptor, RCT_2_other_calls_are_tried_until_they_do_not_block) {
    in_runtime(1, []() -> Result<void> {
        Pipe pipe = WEFT_TRY(make_pipe());
        int tries = 0;
        auto reader = spawn([&] {
            char bytes[8];
            auto attempt = [&](int fd) -> long {
                ++tries;
                return env::read(fd, bytes, sizeof bytes);
            };
            return pipe.reader.until_ready(kReadable, attempt, Deadline::never());
        });
        yield();
        EXPECT_EQ(tries, 1);
        WEFT_TRY(pipe.writer.write_all(as_bytes("hello")));
        EXPECT_EQ(WEFT_TRY(reader.join()), 5);
        EXPECT_EQ(tries, 2);
        auto failing = [](int) -> long { return -EIO; };
        Result<long> failed = pipe.reader.until_ready(kReadable, failing, Deadline::never());
        EXPECT_EQ(failed.error().native_code(), EIO);
        return {};
    });
}

long read_one_byte(int fd) {
    char byte = 0;
    return env::read(fd, &byte, 1);
}

TEST(Descriptor, RCT_2_an_attempt_may_be_a_function_a_pointer_or_a_temporary) {
    in_runtime(1, []() -> Result<void> {
        Pipe pipe = WEFT_TRY(make_pipe());
        WEFT_TRY(pipe.writer.write_all(as_bytes("abcd")));
        long (*const pointer)(int) = read_one_byte;
        auto never = Deadline::never();
        EXPECT_EQ(WEFT_TRY(pipe.reader.until_ready(kReadable, read_one_byte, never)), 1);
        EXPECT_EQ(WEFT_TRY(pipe.reader.until_ready(kReadable, &read_one_byte, never)), 1);
        EXPECT_EQ(WEFT_TRY(pipe.reader.until_ready(kReadable, pointer, never)), 1);
        auto temporary = [byte = '\0'](int fd) mutable { return env::read(fd, &byte, 1); };
        EXPECT_EQ(WEFT_TRY(pipe.reader.until_ready(kReadable, std::move(temporary), never)), 1);
        return {};
    });
}

// A poll that is still under way in the kernel would hold the file open.
TEST(Descriptor, RCT_2_the_other_side_sees_the_end_at_once_although_the_reactor_watched) {
    in_runtime(1, []() -> Result<void> {
        Pipe pipe = WEFT_TRY(make_pipe());
        Dormant nobody{[](Dormant&, std::uint8_t) {}};
        EXPECT_TRUE(WEFT_TRY(pipe.writer.arm(nobody, kReadable)));
        WEFT_TRY(weft::sleep_for(milliseconds(2)));  // the worker has looked at its reactor
        pipe.writer.close();
        std::byte buffer[8];
        EXPECT_EQ(WEFT_TRY(pipe.reader.try_read(buffer)), std::optional<std::size_t>(0));
        return {};
    });
}

TEST(Descriptor, RCT_2_a_close_is_seen_although_an_event_is_on_its_way) {
    in_runtime(1, []() -> Result<void> {
        Pipe pipe = WEFT_TRY(make_pipe());
        fill(pipe.writer);
        Dormant nobody{[](Dormant&, std::uint8_t) {}};
        EXPECT_TRUE(WEFT_TRY(pipe.writer.arm(nobody, kReadable)));
        WEFT_TRY(weft::sleep_for(milliseconds(2)));  // the worker has looked at its reactor
        // Another thread makes the pipe writable, while the worker does not enter the kernel.
        Atomic<bool> is_empty{false};
        std::thread drainer([&] {
            std::vector<std::byte> bytes(1 << 20);
            while (pipe.reader.try_read(bytes).value().has_value()) continue;
            is_empty.store(true, std::memory_order_release);
        });
        while (!is_empty.load(std::memory_order_acquire)) env::spin_pause(0);
        pipe.writer.close();
        std::byte buffer[8];
        EXPECT_EQ(WEFT_TRY(pipe.reader.try_read(buffer)), std::optional<std::size_t>(0));
        drainer.join();
        return {};
    });
}

// ---------------------------------------------------------------- sockets

Pipe make_socket_pair() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    return Pipe{Descriptor::adopt_nonblocking(ends[0], Flow::StreamSocket),
                Descriptor::adopt_nonblocking(ends[1], Flow::StreamSocket)};
}

TEST(Descriptor, RCT_2_a_socket_is_read_to_its_end) {
    in_runtime(1, []() -> Result<void> {
        Pipe sockets = make_socket_pair();
        auto reader = spawn([&] { return read_to_end(sockets.reader); });
        for (int i = 0; i < 3; ++i) {
            yield();
            WEFT_TRY(sockets.writer.write_all(as_bytes("abc")));
        }
        sockets.writer.close();
        EXPECT_EQ(WEFT_TRY(reader.join()), "abcabcabc");
        return {};
    });
}

TEST(Descriptor, RCT_2_a_broken_socket_is_an_error_and_no_signal) {
    Pipe sockets = make_socket_pair();
    sockets.reader.close();
    Result<std::size_t> on_thread = sockets.writer.write(as_bytes("abc"));
    EXPECT_EQ(kind_of(on_thread), ErrorKind::Reset);
    in_runtime(1, [&]() -> Result<void> {
        EXPECT_EQ(kind_of(sockets.writer.write(as_bytes("abc"))), ErrorKind::Reset);
        return {};
    });
}

// ---------------------------------------------------------------- threads

TEST(Descriptor, RCT_2_threads_and_fibers_use_the_same_pipe_in_turn) {
    Pipe there = std::move(*make_pipe());
    Pipe back = std::move(*make_pipe());
    constexpr int rounds = 200;
    std::thread partner([&] {
        std::byte buffer[16];
        for (int i = 0; i < rounds; ++i) {
            Result<std::size_t> count = there.reader.read(buffer);
            ASSERT_TRUE(count && *count == 4);
            ASSERT_TRUE(back.writer.write_all(std::span(buffer, *count)));
        }
    });
    in_runtime(2, [&]() -> Result<void> {
        std::byte buffer[16];
        for (int i = 0; i < rounds; ++i) {
            WEFT_TRY(there.writer.write_all(as_bytes("ping")));
            EXPECT_EQ(WEFT_TRY(back.reader.read(buffer)), 4U);
        }
        return {};
    });
    partner.join();
    // Now the ends change hands.
    std::thread writer([&] { ASSERT_TRUE(there.writer.write_all(as_bytes("more"))); });
    in_runtime(1, [&]() -> Result<void> {
        std::byte buffer[16];
        EXPECT_EQ(WEFT_TRY(there.reader.read(buffer)), 4U);
        return {};
    });
    writer.join();
}

TEST(Descriptor, RCT_2_a_thread_times_out_and_is_cancelled) {
    Pipe pipe = std::move(*make_pipe());
    std::byte buffer[8];
    EXPECT_EQ(kind_of(pipe.reader.read(buffer, Deadline::after(milliseconds(2)))),
              ErrorKind::TimedOut);
    EXPECT_FALSE(pipe.reader.wait_readable(Deadline::after(milliseconds(2))));

    CancelSource source;
    std::thread canceller([&] { source.cancel(); });
    EXPECT_EQ(kind_of(pipe.reader.read(buffer, Deadline::never(), source.token())),
              ErrorKind::Cancelled);
    canceller.join();

    CancelSource around;
    std::thread second([&] { around.cancel(); });
    {
        CancelScope scope(around.token());
        EXPECT_EQ(kind_of(pipe.reader.read(buffer)), ErrorKind::Cancelled);
    }
    second.join();

    CancelScope scope(CancelSource::with_deadline(Deadline::after(milliseconds(2))).token());
    EXPECT_EQ(kind_of(pipe.reader.read(buffer)), ErrorKind::TimedOut);
}

TEST(Descriptor, RCT_2_close_wakes_a_waiting_thread) {
    for (int round = 0; round < 50; ++round) {
        Pipe pipe = std::move(*make_pipe());
        std::thread reader([&] {
            std::byte buffer[8];
            EXPECT_EQ(kind_of(pipe.reader.read(buffer)), ErrorKind::Closed);
        });
        if (round % 2 == 0) env::spin_pause(1000);
        pipe.reader.close();
        reader.join();
    }
}

TEST(Descriptor, RCT_2_a_signal_does_not_end_a_threads_wait) {
    struct sigaction action{};
    struct sigaction before{};
    action.sa_handler = [](int) {};  // and no SA_RESTART: the wait is interrupted
    ASSERT_EQ(::sigaction(SIGUSR2, &action, &before), 0);
    Pipe pipe = std::move(*make_pipe());
    Atomic<bool> over{false};
    Result<std::size_t> count = ErrorKind::Other;
    std::thread reader([&] {
        std::byte buffer[8];
        count = pipe.reader.read(buffer);
        over.store(true, std::memory_order_release);
    });
    for (int i = 0; i < 200; ++i) {
        ::pthread_kill(reader.native_handle(), SIGUSR2);
        env::spin_pause(1000);
    }
    EXPECT_FALSE(over.load(std::memory_order_acquire));
    EXPECT_TRUE(pipe.writer.write_all(as_bytes("x")));
    reader.join();
    EXPECT_EQ(count, 1U);
    ::sigaction(SIGUSR2, &before, nullptr);
}

}  // namespace
}  // namespace weft
