#include "tests/sim/floor/sockets.h"

#ifdef WEFT_NET

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "tests/sim/floor/crew.h"
#include "weft/fiber/cancel.h"
#include "weft/net/socket.h"

namespace weft::sim::scenarios {
namespace {

using net::Address;
using net::Listener;
using net::Socket;

Address some_address() {
    if (coin()) return Address::loopback(0);
    Result<Address> name = Address::unix_path("@weft");
    require(name.has_value(), "a name was refused");
    return *name;
}

Listener open_listener(const Address& address, int backlog) {
    Result<Listener> listener = Listener::open(address, {.backlog = backlog});
    require(listener.has_value(), "no listener could be opened");
    return std::move(*listener);
}

Socket connect_to(const Listener& listener) {
    Result<Socket> socket = Socket::connect(listener.address());
    require(socket.has_value(), "a connect failed");
    require(socket->peer_address() == listener.address(), "connected to somebody else");
    return std::move(*socket);
}

std::byte byte_at(int name, std::size_t position) {
    return static_cast<std::byte>(static_cast<std::size_t>(name) * 89 + position * 7);
}

// Waits on plain threads are served by the workers.
void start(Runtime& runtime) { require(runtime.start().has_value(), "the runtime did not start"); }

// Writes `total` bytes in several parts at a time, some of them empty.
Result<void> write_stream(Socket& socket, int name, std::size_t total) {
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i < total; ++i) bytes.push_back(byte_at(name, i));
    for (Bytes rest = bytes; !rest.empty();) {
        std::vector<Bytes> parts;
        for (int i = between(1, 4); i > 0; --i) {
            parts.push_back(rest.first(random_below(std::min<std::size_t>(rest.size(), 6) + 1)));
            rest = rest.subspan(parts.back().size());
        }
        WEFT_TRY(socket.write_all(parts));
    }
    return {};
}

// Reads to the end; what comes is what was written, as far as it comes.
Result<std::size_t> read_stream(Socket& socket, int name) {
    std::array<std::byte, 4> first;
    std::array<std::byte, 4> second;
    std::size_t position = 0;
    for (;;) {
        std::array<ByteSpace, 2> spaces = {ByteSpace(first).first(1 + random_below(4)), second};
        bool vectored = coin();
        std::size_t count =
            WEFT_TRY(vectored ? socket.read_vectored(spaces) : socket.read(spaces[0]));
        if (count == 0) return position;
        for (std::size_t i = 0; i < count; ++i) {
            std::size_t head = spaces[0].size();
            std::byte byte = i < head ? first[i] : second[i - head];
            require(byte == byte_at(name, position + i), "another byte came");
        }
        position += count;
    }
}

// Gives back what comes as it comes.
Result<void> echo(Socket& socket) {
    std::array<std::byte, 8> buffer;
    for (;;) {
        std::size_t count = WEFT_TRY(socket.read(buffer));
        if (count == 0) return socket.shutdown_write();
        WEFT_TRY(socket.write_all(Bytes(buffer).first(count)));
    }
}

// One writes while another reads: what comes back would else fill the connection.
Result<void> talk(Runtime& runtime, Socket& socket, int name, std::size_t total) {
    Future<void> writer = runtime.spawn([&]() -> Result<void> {
        WEFT_TRY(write_stream(socket, name, total));
        return socket.shutdown_write();
    });
    Result<std::size_t> count = read_stream(socket, name);
    Result<void> written = writer.join();
    if (!count) return count.error();
    if (!written) return written.error();
    require(*count == total, "the echo ended early");
    return {};
}

// Until the listener is closed.
void serve(Runtime& runtime, Listener& listener) {
    std::vector<Future<void>> served;
    for (;;) {
        Result<Socket> socket = listener.accept();
        if (is_error(socket, ErrorKind::OutOfFds)) {
            static_cast<void>(sleep_for(up_to_us(100)));
            continue;
        }
        if (is_error(socket, ErrorKind::Closed)) break;
        require(socket.has_value(), "an accept failed");
        served.push_back(
            runtime.spawn([socket = std::move(*socket)]() mutable { return echo(socket); }));
    }
    for (Future<void>& one : served) require(one.join().has_value(), "an echo failed");
}

}  // namespace

// Many clients, each of which gets back what it sends.
void socket_echo() {
    Runtime runtime({.workers = some_workers()});
    Listener listener = open_listener(some_address(), between(0, 2));
    int clients = between(1, 4);
    int left = clients;
    Crew crew(runtime);
    crew.add([&] { serve(runtime, listener); });
    for (int name = 0; name < clients; ++name) {
        crew.add([&, name] {
            Socket socket = connect_to(listener);
            require(talk(runtime, socket, name, random_below(30)).has_value(), "a talk failed");
            if (--left == 0) listener.close();
        });
    }
}

// Question, end, answer, end.
void socket_half_close() {
    Runtime runtime({.workers = some_workers()});
    Result<std::pair<Socket, Socket>> pair = Socket::make_pair();
    require(pair.has_value(), "there was no pair");
    std::size_t question = random_below(20);
    std::size_t answer = random_below(20);
    Crew crew(runtime);
    crew.add([&] {
        Socket& socket = pair->first;
        require(write_stream(socket, 1, question).has_value(), "the question was not written");
        require(socket.shutdown_write().has_value(), "a half-close failed");
        require(is_error(socket.write_all(as_bytes("x")), ErrorKind::Reset), "wrote after the end");
        require(read_stream(socket, 2) == answer, "the answer was cut off");
    });
    crew.add([&] {
        Socket& socket = pair->second;
        require(read_stream(socket, 1) == question, "the question was cut off");
        require(write_stream(socket, 2, answer).has_value(), "the answer was not written");
        socket.close();
    });
}

// Closing wakes whoever accepts, reads and writes, with Closed.
void socket_close_while_waiting() {
    Runtime runtime({.workers = some_workers()});
    Listener listener = open_listener(some_address(), 1);
    Result<std::pair<Socket, Socket>> pair = Socket::make_pair();
    require(pair.has_value(), "there was no pair");
    bool closed = false;
    Crew crew(runtime);
    for (int i = between(1, 2); i > 0; --i) {
        crew.add([&] {
            require(is_error(listener.accept(), ErrorKind::Closed) && closed, "an odd accept");
        });
    }
    crew.add([&] {
        std::array<std::byte, 4> buffer;
        require(is_error(pair->first.read(buffer), ErrorKind::Closed) && closed, "an odd read");
    });
    crew.add([&] {
        Result<void> written;
        while (written) written = write_stream(pair->first, 0, 3000);
        require(is_error(written, ErrorKind::Closed) && closed, "an odd write");
    });
    crew.add([&] {
        static_cast<void>(sleep_for(up_to_us(50)));
        closed = true;
        listener.close();
        pair->first.close();
    });
}

// Connect, accept and talk, all cancelled at one exact step: everybody returns.
void socket_cancel_anywhere() {
    Runtime runtime({.workers = some_workers()});
    Listener listener = open_listener(some_address(), between(0, 1));
    CancelSource source = CancelSource::detached();
    bool cancelled = false;
    auto check = [&](const Error& error) {
        // Whoever is cancelled closes, and the other side sees that.
        bool expected = error.kind() == ErrorKind::Cancelled || error.kind() == ErrorKind::Reset;
        require(expected && cancelled, "an odd error");
    };
    Crew crew(runtime);
    crew.add_thread([&] {
        await_interrupt();
        cancelled = true;
        source.cancel();
    });
    crew.add([&] {
        CancelScope scope(source.token());
        Result<Socket> socket = listener.accept();
        if (!socket) return check(socket.error());
        Result<void> result = echo(*socket);
        if (!result) check(result.error());
    });
    crew.add([&] {
        CancelScope scope(source.token());
        Result<Socket> socket = Socket::connect(listener.address());
        if (!socket) return check(socket.error());
        constexpr std::size_t total = 4;
        Result<void> written = write_stream(*socket, 1, total);
        if (written) written = socket->shutdown_write();
        if (!written) return check(written.error());
        Result<std::size_t> count = read_stream(*socket, 1);
        if (!count) return check(count.error());
        require(*count == total || cancelled, "the echo ended early");
    });
}

// The client's socket is closed by a third at one exact step.
void socket_close_anywhere() {
    Runtime runtime({.workers = some_workers()});
    start(runtime);
    Listener listener = open_listener(some_address(), 1);
    Socket socket = connect_to(listener);
    Crew crew(runtime);
    crew.add_thread([&] {
        await_interrupt();
        socket.close();
    });
    crew.add([&] {
        Result<Socket> server = listener.accept();
        require(server.has_value(), "an accept failed");
        Result<void> result = echo(*server);
        require(result || is_error(result, ErrorKind::Reset), "the echo gave an odd error");
    });
    crew.add([&] {
        Result<void> written = write_stream(socket, 1, 4);
        if (written) written = socket.shutdown_write();
        require(written || is_error(written, ErrorKind::Closed), "a write gave an odd error");
    });
    crew.add([&] {
        Result<std::size_t> count = read_stream(socket, 1);
        require(count || is_error(count, ErrorKind::Closed), "a read gave an odd error");
    });
}

// Descriptors run out now and then: everybody tries again, and everybody is served.
void socket_exhaustion() {
    Runtime runtime({.workers = some_workers()});
    auto persist = [](auto attempt) {
        for (;;) {
            auto result = attempt();
            if (result) return std::move(*result);
            require(is_error(result, ErrorKind::OutOfFds), "an odd error");
            static_cast<void>(sleep_for(up_to_us(100)));
        }
    };
    Address address = some_address();
    Listener listener = persist([&] { return Listener::open(address, {.backlog = 1}); });
    int clients = between(1, 3);
    int left = clients;
    Crew crew(runtime);
    crew.add([&] { serve(runtime, listener); });
    for (int name = 0; name < clients; ++name) {
        crew.add([&, name] {
            Socket socket = persist([&] { return Socket::connect(listener.address()); });
            require(talk(runtime, socket, name, random_below(10)).has_value(), "a talk failed");
            if (--left == 0) listener.close();
        });
    }
}

// Numbers come back at once, with events of former connections under way: nobody is woken by them.
// Spurious readiness is off here.
void socket_reuse() {
    Runtime runtime({.workers = some_workers()});
    Listener listener = open_listener(some_address(), 1);
    Crew crew(runtime);
    crew.add_fiber([&] {
        for (int round = between(2, 4); round > 0; --round) {
            Socket client = connect_to(listener);
            Result<Socket> server = listener.accept();
            require(server.has_value(), "an accept failed");
            bool written = false;
            Future<void> other = spawn([&] {
                static_cast<void>(sleep_for(up_to_us(200)));
                written = true;
                require(server->write_all(as_bytes("w")).has_value(), "a write failed");
            });
            std::array<std::byte, 1> buffer;
            Result<std::size_t> count = client.read(buffer, Deadline::after(up_to_us(200)));
            if (!count) {
                require(client.descriptor().wait_readable().has_value(), "a wait failed");
                require(written, "an event of another connection came here");
            }
            require(other.join().has_value(), "the writer failed");
        }
    });
}

// Nobody listens, or the network fails: connect says so, and never gives a socket without a peer.
void socket_connects() {
    Runtime runtime({.workers = some_workers()});
    Listener listener = open_listener(Address::loopback(0), 4);
    Address nobody = open_listener(Address::loopback(0), 0).address();
    auto check = [](const Result<Socket>& socket, Deadline deadline) {
        bool late = is_error(socket, ErrorKind::TimedOut) && deadline.expired(Clock::now());
        bool failed = is_error(socket, ErrorKind::Refused) ||
                      is_error(socket, ErrorKind::Unreachable) ||
                      (is_error(socket, ErrorKind::TimedOut) && socket.error().native_code() != 0);
        require(late || failed, "a connect gave an odd error");
    };
    Crew crew(runtime);
    crew.add([&] {
        Deadline deadline = coin() ? Deadline::never() : Deadline::after(up_to_us(150));
        Result<Socket> socket = Socket::connect(nobody, deadline);
        require(!socket, "connected to nobody");
        check(socket, deadline);
    });
    for (int i = between(1, 2); i > 0; --i) {
        crew.add([&] {
            Deadline deadline = coin() ? Deadline::never() : Deadline::after(up_to_us(150));
            Result<Socket> socket = Socket::connect(listener.address(), deadline);
            if (!socket) return check(socket, deadline);
            require(socket->write_all(as_bytes("x")).has_value(), "connected with nobody");
        });
    }
}

// Who does not fit into the backlog waits, until the deadline or until there is room.
void socket_full_backlog() {
    Runtime runtime({.workers = some_workers()});
    start(runtime);
    Listener listener = open_listener(some_address(), 0);
    Socket first = connect_to(listener);
    bool accepted = false;
    Crew crew(runtime);
    crew.add([&] {
        Deadline deadline = Deadline::after(up_to_us(2000));
        Result<Socket> second = Socket::connect(listener.address(), deadline);
        if (second) return require(accepted, "more were admitted than there is room for");
        require(is_error(second, ErrorKind::TimedOut), "an odd error");
        require(deadline.expired(Clock::now()), "a connect timed out early");
    });
    crew.add([&] {
        static_cast<void>(sleep_for(up_to_us(2000)));
        accepted = true;
        require(listener.accept().has_value(), "an accept failed");
    });
    crew.join();
    require(
        is_error(listener.accept(Deadline::after(up_to_us(500))), ErrorKind::TimedOut) || accepted,
        "a connection came from nowhere");
}

// Connections break by themselves: both sides are told, and nothing wrong is read before.
void socket_resets() {
    Runtime runtime({.workers = some_workers()});
    Listener listener = open_listener(some_address(), 1);
    Crew crew(runtime);
    crew.add([&] {
        for (;;) {
            Result<Socket> socket = listener.accept();
            if (is_error(socket, ErrorKind::Closed)) return;
            require(socket.has_value(), "an accept failed for a connection that did");
            Result<void> result = echo(*socket);
            require(result || is_error(result, ErrorKind::Reset), "the echo gave an odd error");
        }
    });
    crew.add([&] {
        for (int name = between(1, 3); name > 0; --name) {
            Socket socket = connect_to(listener);
            std::size_t total = random_below(12);
            Future<void> writer = runtime.spawn([&]() -> Result<void> {
                WEFT_TRY(write_stream(socket, name, total));
                return socket.shutdown_write();
            });
            Result<std::size_t> count = read_stream(socket, name);
            Result<void> written = writer.join();
            require(written || is_error(written, ErrorKind::Reset), "a write gave an odd error");
            require(count || is_error(count, ErrorKind::Reset), "a read gave an odd error");
            require(!count || *count <= total, "more came back than was sent");
        }
        listener.close();
    });
}

// Whoever closes with something unread, or asks for it, resets: the other side is told once.
void socket_reset_on_close() {
    Runtime runtime({.workers = some_workers()});
    Listener listener = open_listener(some_address(), 1);
    bool leaves_unread = coin();
    Crew crew(runtime);
    crew.add([&] {
        Result<Socket> server = listener.accept();
        require(server.has_value(), "an accept failed");
        if (leaves_unread) {
            require(server->descriptor().wait_readable().has_value(), "a wait failed");
            std::array<std::byte, 1> buffer;
            require(server->read(buffer) == std::size_t{1}, "nothing came");
        } else {
            require(server->reset_on_close().has_value(), "an option failed");
        }
        server->close();
    });
    crew.add([&] {
        Socket client = connect_to(listener);
        Result<void> written = client.write_all(as_bytes("xyz"));
        require(written || is_error(written, ErrorKind::Reset), "a write gave an odd error");
        std::array<std::byte, 1> buffer;
        Result<std::size_t> count = client.read(buffer);
        bool told = is_error(count, ErrorKind::Reset) || is_error(written, ErrorKind::Reset);
        // The server may have read it before the rest was written.
        require(told || leaves_unread, "a reset was kept quiet");
        count = client.read(buffer);
        require(count == std::size_t{0} || is_error(count, ErrorKind::Reset), "it came back");
    });
}

}  // namespace weft::sim::scenarios

#endif
