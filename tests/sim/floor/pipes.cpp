#include "tests/sim/floor/pipes.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "tests/sim/floor/crew.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/io.h"
#include "weft/sync/event.h"

namespace weft::sim::scenarios {
namespace {

using namespace std::chrono_literals;

Pipe open_pipe() {
    Result<Pipe> pipe = make_pipe();
    require(pipe.has_value(), "no pipe could be made");
    return std::move(*pipe);
}

// The byte at a position of the stream `name`: every stream and every place is different.
std::byte byte_at(int name, std::size_t position) {
    return static_cast<std::byte>(static_cast<std::size_t>(name) * 89 + position * 7);
}

std::vector<std::byte> bytes_from(int name, std::size_t position, std::size_t count) {
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i < count; ++i) bytes.push_back(byte_at(name, position + i));
    return bytes;
}

// Writes `total` bytes in pieces of any size, some with a deadline that may pass, and closes.
void write_stream(Descriptor& writer, int name, std::size_t total) {
    for (std::size_t position = 0; position < total;) {
        std::size_t size = 1 + random_below(std::min<std::size_t>(total - position, 9));
        std::vector<std::byte> piece = bytes_from(name, position, size);
        Deadline deadline = coin() ? Deadline::never() : Deadline::after(up_to_us(2000));
        Result<std::size_t> written = writer.write(piece, deadline);
        if (written) {
            require(*written >= 1 && *written <= size, "a write of an odd size");
            position += *written;
        } else {
            require(is_error(written, ErrorKind::TimedOut), "a write gave an odd error");
            require(deadline.expired(Clock::now()), "a write timed out early");
        }
    }
    writer.close();
}

// Reads to the end of the stream.
void read_stream(Descriptor& reader, int name, std::size_t total) {
    std::array<std::byte, 8> buffer;
    std::size_t position = 0;
    for (;;) {
        auto room = std::span(buffer).first(1 + random_below(buffer.size()));
        Deadline deadline = coin() ? Deadline::never() : Deadline::after(up_to_us(2000));
        Result<std::size_t> count = reader.read(room, deadline);
        if (!count) {
            require(is_error(count, ErrorKind::TimedOut), "a read gave an odd error");
            require(deadline.expired(Clock::now()), "a read timed out early");
            continue;
        }
        if (*count == 0) break;
        require(*count <= room.size(), "a read of an odd size");
        for (std::size_t i = 0; i < *count; ++i)
            require(room[i] == byte_at(name, position + i), "another byte came out of the pipe");
        position += *count;
    }
    require(position == total, "the stream ended early");
}

}  // namespace

// Several streams at once, whole and in order, whatever the pipes do.
void pipe_traffic() {
    Runtime runtime({.workers = some_workers()});
    std::deque<Pipe> pipes;
    Crew crew(runtime);
    for (int name = 0; name < 2; ++name) {
        Pipe& pipe = pipes.emplace_back(open_pipe());
        std::size_t total = random_below(40);
        crew.add([&pipe, name, total] { write_stream(pipe.writer, name, total); });
        crew.add([&pipe, name, total] { read_stream(pipe.reader, name, total); });
    }
}

// Two pipes, a message there and an answer back.
void pipe_messages() {
    Runtime runtime({.workers = some_workers()});
    Pipe there = open_pipe();
    Pipe back = open_pipe();
    int rounds = between(1, 5);
    auto read_exactly = [](Descriptor& reader, std::span<std::byte> room) {
        while (!room.empty()) {
            Result<std::size_t> count = reader.read(room);
            require(count.has_value() && *count != 0, "a message was cut off");
            room = room.subspan(*count);
        }
    };
    Crew crew(runtime);
    crew.add([&] {
        for (int i = 0; i < rounds; ++i) {
            std::vector<std::byte> message = bytes_from(i, 0, 5);
            require(there.writer.write_all(message).has_value(), "a message was not written");
            std::array<std::byte, 5> answer;
            read_exactly(back.reader, answer);
            require(std::ranges::equal(answer, message), "another answer came");
        }
    });
    crew.add([&] {
        for (int i = 0; i < rounds; ++i) {
            std::array<std::byte, 5> message;
            read_exactly(there.reader, message);
            require(back.writer.write_all(message).has_value(), "an answer was not written");
        }
    });
}

// An empty pipe gives nothing, a full one takes nothing: the wait ends as it was asked to.
void pipe_deadlines() {
    Runtime runtime({.workers = some_workers()});
    Pipe empty = open_pipe();
    Pipe full = open_pipe();
    CancelSource source = CancelSource::detached();
    bool cancelled = false;
    Crew crew(runtime);
    for (int i = between(1, 3); i > 0; --i) {
        crew.add([&] {
            std::array<std::byte, 4> buffer;
            Deadline deadline = coin() ? Deadline::after(up_to_us(300)) : Deadline::never();
            Result<std::size_t> count = empty.reader.read(buffer, deadline, source.token());
            require(!count.has_value(), "bytes came out of nowhere");
            if (is_error(count, ErrorKind::TimedOut))
                return require(deadline.expired(Clock::now()), "a read timed out early");
            require(is_error(count, ErrorKind::Cancelled) && cancelled, "an odd error");
        });
    }
    crew.add([&] {
        Result<void> written;
        Deadline deadline = Deadline::after(up_to_us(300));
        while (written) written = full.writer.write_all(bytes_from(0, 0, 512), deadline);
        require(is_error(written, ErrorKind::TimedOut), "a full pipe gave an odd error");
        require(deadline.expired(Clock::now()), "a write timed out early");
    });
    crew.add([&] {
        static_cast<void>(sleep_for(up_to_us(300)));
        cancelled = true;
        source.cancel();
    });
}

// Closing wakes every call with Closed. The number is not given away under a call: a reader of the
// old descriptor would take what is in the new pipe.
void pipe_close_while_waiting() {
    Runtime runtime({.workers = some_workers()});
    Pipe pipe = open_pipe();
    bool closed = false;
    Crew crew(runtime);
    for (int i = between(1, 3); i > 0; --i) {
        crew.add([&] {
            std::array<std::byte, 4> buffer;
            Result<std::size_t> count = pipe.reader.read(buffer);
            require(is_error(count, ErrorKind::Closed) && closed, "a read ended for no reason");
        });
    }
    crew.add([&] {
        static_cast<void>(sleep_for(up_to_us(50)));
        closed = true;
        pipe.reader.close();
        pipe.reader.close();
        Pipe other = open_pipe();
        require(other.writer.write_all(as_bytes("w")).has_value(), "a write failed");
        std::array<std::byte, 1> buffer;
        Result<std::size_t> count = other.reader.read(buffer);
        require(count.has_value() && *count == 1, "the new pipe lost its byte");
    });
    crew.join();
    require(is_error(pipe.writer.write_all(as_bytes("x")), ErrorKind::Reset), "nobody reads");
}

// The reader goes: what is written fails as Reset. The writer goes: the reader sees the end.
void pipe_broken() {
    Runtime runtime({.workers = some_workers()});
    Pipe pipe = open_pipe();
    bool gone = false;
    Crew crew(runtime);
    crew.add([&] {
        std::size_t limit = random_below(20);
        std::size_t position = 0;
        std::array<std::byte, 4> buffer;
        while (position < limit) {
            Result<std::size_t> count = pipe.reader.read(buffer);
            require(count.has_value(), "a read gave an error");
            if (*count == 0) break;
            position += *count;
        }
        gone = true;
        pipe.reader.close();
    });
    crew.add([&] {
        Result<void> written;
        for (int i = between(1, 30); i > 0 && written; --i)
            written = pipe.writer.write_all(as_bytes("weft"));
        require(written || (is_error(written, ErrorKind::Reset) && gone), "an odd error");
        pipe.writer.close();
    });
}

// Pipes that break by themselves: both sides are told, and nothing comes after that.
void pipe_resets() {
    Runtime runtime({.workers = some_workers()});
    Pipe pipe = open_pipe();
    std::size_t sent = 0;
    Crew crew(runtime);
    crew.add([&] {
        Result<std::size_t> count;
        for (int i = between(1, 20); i > 0; --i) {
            count = pipe.writer.write(bytes_from(1, sent, 4));
            if (!count) break;
            sent += *count;
        }
        require(count || is_error(count, ErrorKind::Reset), "a write gave an odd error");
        pipe.writer.close();
    });
    crew.add([&] {
        std::array<std::byte, 4> buffer;
        std::size_t position = 0;
        for (;;) {
            Result<std::size_t> count = pipe.reader.read(buffer);
            if (!count) {
                require(is_error(count, ErrorKind::Reset), "a read gave an odd error");
                count = pipe.reader.read(buffer);
                require(is_error(count, ErrorKind::Reset), "a broken pipe came back to life");
                break;
            }
            if (*count == 0) {
                require(position == sent, "the end came before the last byte");
                break;
            }
            for (std::size_t i = 0; i < *count; ++i)
                require(buffer[i] == byte_at(1, position + i), "another byte came out");
            position += *count;
        }
        pipe.reader.close();
    });
}

// Numbers come back at once, with events of their former owner under way: nobody is woken by them.
// Spurious readiness is off here.
void descriptor_reuse() {
    Runtime runtime({.workers = some_workers()});
    Crew crew(runtime);
    crew.add_fiber([&] {
        for (int round = between(2, 5); round > 0; --round) {
            Pipe pipe = open_pipe();
            bool written = false;
            Future<void> other = spawn([&] {
                static_cast<void>(sleep_for(up_to_us(200)));
                written = true;
                require(pipe.writer.write_all(as_bytes("w")).has_value(), "a write failed");
            });
            // A read registers the descriptor; its deadline may leave the event under way.
            std::array<std::byte, 1> buffer;
            Result<std::size_t> count = pipe.reader.read(buffer, Deadline::after(up_to_us(200)));
            if (!count) {
                Result<void> ready = pipe.reader.wait_readable();
                require(ready.has_value(), "a wait failed");
                require(written, "an event of another descriptor came here");
            }
            require(other.join().has_value(), "the writer failed");
        }
    });
}

namespace {

struct Sleeper : Dormant {
    Sleeper() : Dormant{call} {}
    static void call(Dormant& dormant, std::uint8_t events) {
        auto& self = static_cast<Sleeper&>(dormant);
        ++self.calls;
        self.events = events;
        self.called.set();
    }
    Event called;
    int calls = 0;
    std::uint8_t events = 0;
};

}  // namespace

// Something without a fiber: called once, or not at all if it was disarmed in time.
void dormant_descriptors() {
    Runtime runtime({.workers = some_workers()});
    Pipe pipe = open_pipe();
    bool written = false;
    Crew crew(runtime);
    crew.add_fiber([&] {
        Sleeper sleeper;
        Result<bool> armed = pipe.reader.arm(sleeper, kReadable);
        if (is_error(armed, ErrorKind::Closed)) return;
        require(armed.has_value(), "nothing could be armed");
        if (!*armed) return require(sleeper.calls == 0, "it was not armed and was called");
        some_yields();
        if (coin() && pipe.reader.disarm(sleeper)) {
            some_yields();
            return require(sleeper.calls == 0, "it was disarmed and was called");
        }
        require(sleeper.called.wait().has_value(), "a wait was cancelled by nobody");
        require(sleeper.calls == 1, "it was called twice");
        bool closed = (sleeper.events & kClosed) != 0;
        require(closed || written || (sleeper.events & kReadable) != 0, "called for nothing");
    });
    crew.add([&] {
        some_yields();
        if (coin()) {
            written = true;
            require(pipe.writer.write_all(as_bytes("w")).has_value(), "a write failed");
        } else {
            pipe.reader.close();
        }
    });
}

// The reader's descriptor is closed at one exact step.
void close_pipe_anywhere() {
    Runtime runtime({.workers = some_workers()});
    Pipe pipe = open_pipe();
    Crew crew(runtime);
    crew.add_thread([&] {
        await_interrupt();
        pipe.reader.close();
    });
    crew.add([&] {
        std::array<std::byte, 2> buffer;
        Result<std::size_t> count(1);
        for (std::size_t position = 0; count && *count != 0; position += count.value_or(0)) {
            count = pipe.reader.read(buffer);
            for (std::size_t i = 0; i < count.value_or(0); ++i)
                require(buffer[i] == byte_at(0, position + i), "another byte came out");
        }
        require(count || is_error(count, ErrorKind::Closed), "a read gave an odd error");
    });
    crew.add([&] {
        Result<void> written = pipe.writer.write_all(bytes_from(0, 0, 6));
        require(written || is_error(written, ErrorKind::Reset), "a write gave an odd error");
        pipe.writer.close();
    });
}

}  // namespace weft::sim::scenarios
