#include "weft/net/socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/os/file.h"
#include "weft/fiber/report/dump.h"
#include "weft/fiber/runtime.h"
#include "weft/net/internal/calls.h"
#include "weft/net/udp.h"
#include "weft/testing/eventually.h"
#include "weft/testing/scale.h"
#include "weft/testing/sockets.h"

namespace weft::net {
namespace {

using namespace testing;
using std::chrono::milliseconds;
using std::chrono::seconds;

int option_of(int fd, int level, int name) {
    int value = -1;
    socklen_t bytes = sizeof value;
    EXPECT_EQ(::getsockopt(fd, level, name, &value, &bytes), 0);
    return value;
}

unsigned mode_of(const std::string& path) {
    struct stat status{};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status.st_mode & 0777U;
}

// Makes the file that a killed listener leaves behind.
void leave_a_stale_file(const Address& address) {
    int fd = calls::socket(AF_UNIX, SOCK_STREAM);
    ASSERT_EQ(calls::bind(fd, address), 0);
    ASSERT_EQ(calls::listen(fd, 1), 0);
    ::close(fd);
}

// ---------------------------------------------------------------- shutdown

TEST(Socket, FIB_12a_waits_for_sockets_end_as_cancelled_at_shutdown) {
    Runtime runtime({.workers = 2});
    Listener listener = *Listener::open(Address::loopback(0));
    UdpSocket datagrams = *UdpSocket::open(Address::loopback(0));
    Socket empty;
    Socket full;
    Socket peer_of_empty;
    Socket peer_of_full;
    std::string text(1 << 16, 'x');
    std::array<std::byte, 64> space{};
    ASSERT_TRUE(runtime
                    .spawn([&]() -> Result<void> {
                        std::tie(empty, peer_of_empty) = WEFT_TRY(Socket::make_pair());
                        std::tie(full, peer_of_full) = WEFT_TRY(Socket::make_pair());
                        fill(full);
                        return {};
                    })
                    .join());
    std::vector<Future<void>> fibers;
    fibers.push_back(runtime.spawn([&]() -> Result<void> {
        WEFT_TRY(listener.accept());
        return {};
    }));
    fibers.push_back(runtime.spawn([&]() -> Result<void> {
        WEFT_TRY(empty.read(space));
        return {};
    }));
    fibers.push_back(runtime.spawn([&] { return full.write_all(as_bytes(text)); }));
    fibers.push_back(runtime.spawn([&]() -> Result<void> {
        WEFT_TRY(datagrams.receive_from(space, Deadline::after(std::chrono::hours(1))));
        return {};
    }));
    ASSERT_TRUE(eventually([] {
        auto parked = [](const FiberReport& fiber) {
            return fiber.state == FiberState::Waiting &&
                   (fiber.reason == WaitReason::Readable || fiber.reason == WaitReason::Writable);
        };
        return std::ranges::count_if(list_fibers(Backtraces::No), parked) == 4;
    }));
    EXPECT_TRUE(runtime.shutdown());
    EXPECT_EQ(runtime.live_fibers(), 0U);
    for (Future<void>& fiber : fibers) {
        ASSERT_TRUE(fiber.is_done());
        EXPECT_EQ(kind_of(fiber.join()), ErrorKind::Cancelled);
    }
}

// ---------------------------------------------------------------- failures

TEST(Socket, NET_3_nobody_listens_is_refused) {
    in_runtime(1, []() -> Result<void> {
        Address address = WEFT_TRY(free_tcp_address());
        EXPECT_EQ(kind_of(Socket::connect(address)), ErrorKind::Refused);
        Folder folder;
        Address path = folder.socket_address("nobody");
        Result<Socket> nothing = Socket::connect(path);
        EXPECT_EQ(native_error_of(nothing), ENOENT);
        EXPECT_EQ(kind_of(nothing), ErrorKind::NotFound);
        Address name = WEFT_TRY(Address::unix_path("@weft nobody listens here"));
        EXPECT_EQ(kind_of(Socket::connect(name)), ErrorKind::Refused);
        return {};
    });
}

TEST(Socket, NET_3_a_socket_does_not_connect_with_itself) {
    // Linux gives connecting sockets even ports one after the other, so that it comes to this one
    // at some time: within some 15,000 of the full count.
    in_runtime(1, []() -> Result<void> {
        Address odd = WEFT_TRY(free_tcp_address());
        Address even = Address::loopback(static_cast<std::uint16_t>(odd.port() & ~1U));
        int refused = 0;
        int count = is_long() ? 60'000 : 1000;
        for (int i = 0; i < count; ++i)
            refused += kind_of(Socket::connect(even, in_ten_seconds())) == ErrorKind::Refused;
        EXPECT_EQ(refused, count);
        return {};
    });
}

TEST(Socket, NET_1_a_listener_that_was_inherited_goes_on_where_the_other_was) {
    Result<void> outcome = run([]() -> Result<void> {
        Listener first = WEFT_TRY(Listener::open(Address::loopback(0)));
        Address address = first.address();
        Socket client = WEFT_TRY(Socket::connect(address));
        int copy = ::dup(first.descriptor().fd());
        first.close();
        Listener second = WEFT_TRY(Listener::open(address, {.inherited = copy}));
        EXPECT_EQ(second.address(), address);
        // The client connected before the first listener was closed.
        Socket accepted = WEFT_TRY(second.accept());
        EXPECT_EQ(accepted.peer_address(), client.local_address());
        return {};
    });
    EXPECT_TRUE(outcome) << outcome.error().message();
}

TEST(Socket, NET_3_an_address_that_is_taken_is_in_use) {
    in_runtime(1, []() -> Result<void> {
        Listener first = WEFT_TRY(Listener::open(Address::loopback(0)));
        EXPECT_EQ(kind_of(Listener::open(first.address())), ErrorKind::AddressInUse);
        Address name = WEFT_TRY(Address::unix_path("@weft in use " + std::to_string(::getpid())));
        Listener abstract = WEFT_TRY(Listener::open(name));
        EXPECT_EQ(kind_of(Listener::open(name)), ErrorKind::AddressInUse);
        return {};
    });
}

TEST(Socket, NET_3_a_network_without_a_route_is_unreachable) {
    in_runtime(1, []() -> Result<void> {
        // 255.255.255.255 cannot be connected to.
        Address broadcast = WEFT_TRY(Address::parse("255.255.255.255:1"));
        EXPECT_EQ(kind_of(Socket::connect(broadcast)), ErrorKind::Unreachable);
        return {};
    });
}

TEST(Socket, NET_3_a_peer_that_drops_the_connection_resets_it) {
    in_runtime(1, []() -> Result<void> {
        Connection connection = WEFT_TRY(tcp_connection());
        WEFT_TRY(connection.server.reset_on_close());
        connection.server.close();
        std::byte buffer[8];
        EXPECT_EQ(kind_of(connection.client.read(buffer)), ErrorKind::Reset);
        EXPECT_EQ(kind_of(connection.client.write_all(as_bytes("x"))), ErrorKind::Reset);
        EXPECT_EQ(kind_of(connection.client.shutdown_write()), ErrorKind::Reset);
        return {};
    });
}

template <class T>
std::string message_of(const Result<T>& result) {
    return result ? "no error" : result.error().message();
}

TEST(Socket, NET_3b_an_error_names_the_address_and_what_was_done) {
    in_runtime(1, []() -> Result<void> {
        Address nobody = WEFT_TRY(free_tcp_address());
        EXPECT_EQ(message_of(Socket::connect(nobody)),
                  "connect " + nobody.to_string() + ": Connection refused");
        Listener listener = WEFT_TRY(Listener::open(Address::loopback(0)));
        std::string here = listener.address().to_string();
        EXPECT_EQ(message_of(Listener::open(listener.address())),
                  "listen on " + here + ": Address already in use");
        EXPECT_EQ(message_of(listener.accept(Deadline::after(milliseconds(1)))),
                  "accept on " + here + ": timed out");
        Socket client = WEFT_TRY(Socket::connect(listener.address()));
        Socket server = WEFT_TRY(listener.accept());
        std::byte buffer[8];
        EXPECT_EQ(message_of(client.read(buffer, Deadline::after(milliseconds(1)))),
                  "read from " + here + ": timed out");
        EXPECT_EQ(message_of(server.read(buffer, Deadline::after(milliseconds(1)))),
                  "read from " + client.local_address().to_string() + ": timed out");
        WEFT_TRY(server.reset_on_close());
        server.close();
        // The kernel has forgotten the address by now.
        EXPECT_EQ(message_of(client.read(buffer)),
                  "read from " + here + ": Connection reset by peer");
        EXPECT_EQ(message_of(client.write_all(as_bytes("x"))),
                  "write to " + here + ": Broken pipe");
        return {};
    });
}

TEST(Socket, NET_3b_what_was_closed_or_cancelled_says_only_that) {
    in_runtime(1, []() -> Result<void> {
        Connection connection = WEFT_TRY(tcp_connection());
        std::byte buffer[8];
        CancelSource source;
        source.cancel();
        {
            CancelScope scope(source.token());
            EXPECT_EQ(message_of(connection.client.read(buffer)), "cancelled");
        }
        connection.client.close();
        EXPECT_EQ(message_of(connection.client.read(buffer)), "closed");
        return {};
    });
}

TEST(Socket, NET_3_a_closed_socket_is_closed) {
    in_runtime(1, []() -> Result<void> {
        auto [one, other] = WEFT_TRY(Socket::make_pair());
        one.close();
        one.close();
        std::byte buffer[8];
        Bytes part = as_bytes("x");
        EXPECT_EQ(kind_of(one.read(buffer)), ErrorKind::Closed);
        EXPECT_EQ(kind_of(one.try_read(buffer)), ErrorKind::Closed);
        EXPECT_EQ(kind_of(one.write_all(part)), ErrorKind::Closed);
        EXPECT_EQ(kind_of(one.write_all(std::span(&part, 1))), ErrorKind::Closed);
        EXPECT_EQ(kind_of(one.try_write(std::span(&part, 1))), ErrorKind::Closed);
        EXPECT_EQ(kind_of(one.shutdown_write()), ErrorKind::Closed);
        EXPECT_EQ(kind_of(one.apply({})), ErrorKind::Closed);
        EXPECT_EQ(kind_of(one.reset_on_close()), ErrorKind::Closed);
        EXPECT_EQ(one.peer_address(), Address());
        EXPECT_EQ(WEFT_TRY(other.read(buffer)), 0U);
        Socket none;
        EXPECT_EQ(kind_of(none.read(buffer)), ErrorKind::Closed);
        Listener nothing;
        EXPECT_EQ(kind_of(nothing.accept()), ErrorKind::Closed);
        EXPECT_EQ(kind_of(nothing.try_accept()), ErrorKind::Closed);
        return {};
    });
}

TEST(Socket, NET_3_waits_time_out) {
    in_runtime(1, []() -> Result<void> {
        Connection connection = WEFT_TRY(tcp_connection());
        std::byte buffer[8];
        Deadline soon = Deadline::after(milliseconds(5));
        EXPECT_EQ(kind_of(connection.client.read(buffer, soon)), ErrorKind::TimedOut);
        fill(connection.client);
        Bytes parts[] = {as_bytes("a"), as_bytes("b")};
        soon = Deadline::after(milliseconds(5));
        EXPECT_EQ(kind_of(connection.client.write_all(parts, soon)), ErrorKind::TimedOut);
        Listener listener = WEFT_TRY(Listener::open(Address::loopback(0)));
        soon = Deadline::after(milliseconds(5));
        EXPECT_EQ(kind_of(listener.accept(soon)), ErrorKind::TimedOut);
        return {};
    });
}

TEST(Socket, NET_3_waits_are_cancelled) {
    in_runtime(1, []() -> Result<void> {
        Listener listener = WEFT_TRY(Listener::open(Address::loopback(0)));
        Connection connection = WEFT_TRY(tcp_connection());
        Connection full = WEFT_TRY(tcp_connection());
        fill(full.client);
        std::byte buffer[8];
        Bytes parts[] = {as_bytes("a"), as_bytes("b")};
        CancelSource source;
        CancelToken token = source.token();
        auto accepts = spawn([&] { return CancelScope(token), listener.accept(); });
        auto reads = spawn([&] { return CancelScope(token), connection.client.read(buffer); });
        auto writes = spawn([&] { return CancelScope(token), full.client.write_all(parts); });
        yield();
        source.cancel();
        EXPECT_EQ(kind_of(accepts.join()), ErrorKind::Cancelled);
        EXPECT_EQ(kind_of(reads.join()), ErrorKind::Cancelled);
        EXPECT_EQ(kind_of(writes.join()), ErrorKind::Cancelled);
        return {};
    });
}

TEST(Socket, NET_1_closing_wakes_whoever_waits) {
    in_runtime(1, []() -> Result<void> {
        Listener listener = WEFT_TRY(Listener::open(Address::loopback(0)));
        Connection connection = WEFT_TRY(tcp_connection());
        fill(connection.client);
        std::byte buffer[8];
        Bytes parts[] = {as_bytes("a"), as_bytes("b")};
        auto accepts = spawn([&] { return listener.accept(); });
        auto reads = spawn([&] { return connection.client.read(buffer); });
        auto writes = spawn([&] { return connection.client.write_all(parts); });
        yield();
        listener.close();
        connection.client.close();
        EXPECT_EQ(kind_of(accepts.join()), ErrorKind::Closed);
        EXPECT_EQ(kind_of(reads.join()), ErrorKind::Closed);
        EXPECT_EQ(kind_of(writes.join()), ErrorKind::Closed);
        return {};
    });
}

// ---------------------------------------------------------------- connecting and accepting

void greets_over(const Address& address) {
    in_runtime(2, [&]() -> Result<void> {
        Listener listener = WEFT_TRY(Listener::open(address));
        auto server = spawn([&]() -> Result<std::string> {
            Socket socket = WEFT_TRY(listener.accept());
            WEFT_TRY(socket.write_all(as_bytes("hello")));
            WEFT_TRY(socket.shutdown_write());
            return read_to_end(socket);
        });
        Socket client = WEFT_TRY(Socket::connect(listener.address(), in_ten_seconds()));
        EXPECT_EQ(client.peer_address(), listener.address());
        EXPECT_EQ(WEFT_TRY(read_to_end(client)), "hello");
        // The other direction is still open.
        WEFT_TRY(client.write_all(as_bytes("good ")));
        WEFT_TRY(client.write_all(as_bytes("bye")));
        WEFT_TRY(client.shutdown_write());
        EXPECT_EQ(WEFT_TRY(server.join()), "good bye");
        return {};
    });
}

TEST(Socket, NET_1_tcp_carries_both_directions_and_half_closes) {
    greets_over(Address::loopback(0));
}

TEST(Socket, NET_1_tcp_over_ipv6) {
    if (!has_ipv6()) GTEST_SKIP() << "this machine has no IPv6";
    greets_over(*Address::parse("[::1]:0"));
}

TEST(Socket, NET_1_unix_carries_both_directions_and_half_closes) {
    Folder folder;
    greets_over(folder.socket_address("greets"));
    greets_over(*Address::unix_path("@weft greets " + std::to_string(::getpid())));
}

TEST(Socket, NET_1_an_ipv6_listener_serves_ipv4_unless_told_not_to) {
    if (!has_ipv6()) GTEST_SKIP() << "this machine has no IPv6";
    in_runtime(1, []() -> Result<void> {
        Address any = WEFT_TRY(Address::parse("[::]:0"));
        Listener both = WEFT_TRY(Listener::open(any));
        Socket client = WEFT_TRY(Socket::connect(Address::loopback(both.address().port())));
        Socket server = WEFT_TRY(both.accept());
        EXPECT_EQ(server.peer_address().ip(), IpAddress::loopback());
        EXPECT_EQ(server.local_address(), Address::loopback(both.address().port()));
        Listener only = WEFT_TRY(Listener::open(any, {.v6_only = true}));
        EXPECT_EQ(kind_of(Socket::connect(Address::loopback(only.address().port()))),
                  ErrorKind::Refused);
        return {};
    });
}

TEST(Socket, NET_1_connecting_to_a_full_backlog_times_out) {
    in_runtime(1, []() -> Result<void> {
        Listener listener = WEFT_TRY(Listener::open(Address::loopback(0), {.backlog = 0}));
        std::vector<Socket> waiting;
        // The kernel drops a request that does not fit into the backlog, and the client repeats it.
        for (int i = 0; i < 16; ++i) {
            Result<Socket> socket =
                Socket::connect(listener.address(), Deadline::after(milliseconds(30)));
            if (!socket) {
                EXPECT_EQ(socket.error().kind(), ErrorKind::TimedOut);
                return {};
            }
            waiting.push_back(std::move(*socket));
        }
        ADD_FAILURE() << "the backlog took sixteen";
        return {};
    });
}

TEST(Socket, NET_1_connecting_to_a_full_unix_backlog_waits_its_turn) {
    Folder folder;
    in_runtime(1, [&]() -> Result<void> {
        Listener listener = WEFT_TRY(Listener::open(folder.socket_address("full"), {.backlog = 0}));
        Socket first = WEFT_TRY(Socket::connect(listener.address()));
        EXPECT_EQ(kind_of(Socket::connect(listener.address(), Deadline::after(milliseconds(5)))),
                  ErrorKind::TimedOut);
        CancelSource source;
        auto cancelled =
            spawn([&] { return CancelScope(source.token()), Socket::connect(listener.address()); });
        auto patient = spawn([&] { return Socket::connect(listener.address()); });
        yield();
        source.cancel();
        EXPECT_EQ(kind_of(cancelled.join()), ErrorKind::Cancelled);
        Socket served = WEFT_TRY(listener.accept());
        EXPECT_TRUE(patient.join());
        return {};
    });
}

TEST(Socket, NET_1_connecting_is_cancelled) {
    in_runtime(1, []() -> Result<void> {
        Listener listener = WEFT_TRY(Listener::open(Address::loopback(0), {.backlog = 0}));
        std::vector<Socket> waiting;
        CancelSource source;
        auto filler = spawn([&]() -> Result<void> {
            CancelScope scope(source.token());
            for (int i = 0; i < 16; ++i)
                waiting.push_back(WEFT_TRY(Socket::connect(listener.address())));
            return {};
        });
        yield();  // it runs until it has to wait
        source.cancel();
        EXPECT_EQ(kind_of(filler.join()), ErrorKind::Cancelled);
        return {};
    });
}

TEST(Listener, NET_1_several_listeners_share_a_port) {
    in_runtime(1, []() -> Result<void> {
        Listener one =
            WEFT_TRY(Listener::open(Address::loopback(0), {.reuse_port = ReusePort::Yes}));
        Listener other = WEFT_TRY(Listener::open(one.address(), {.reuse_port = ReusePort::Yes}));
        EXPECT_EQ(one.address(), other.address());
        return {};
    });
}

TEST(Listener, NET_1_try_accept_does_not_wait) {
    in_runtime(1, []() -> Result<void> {
        Listener listener = WEFT_TRY(Listener::open(Address::loopback(0)));
        EXPECT_FALSE(WEFT_TRY(listener.try_accept()).has_value());
        Socket client = WEFT_TRY(Socket::connect(listener.address()));
        EXPECT_TRUE(WEFT_TRY(listener.try_accept()).has_value());
        EXPECT_FALSE(WEFT_TRY(listener.try_accept()).has_value());
        return {};
    });
}

TEST(Listener, NET_1_a_connection_that_was_reset_in_the_backlog_does_no_harm) {
    in_runtime(1, []() -> Result<void> {
        Listener listener = WEFT_TRY(Listener::open(Address::loopback(0)));
        Socket gone = WEFT_TRY(Socket::connect(listener.address()));
        WEFT_TRY(gone.reset_on_close());
        gone.close();
        Socket client = WEFT_TRY(Socket::connect(listener.address()));
        WEFT_TRY(client.write_all(as_bytes("x")));
        // Linux accepts the connection that is gone, and reports that when it is read.
        for (int i = 0; i < 2; ++i) {
            Socket server = WEFT_TRY(listener.accept(in_ten_seconds()));
            std::byte buffer[8];
            Result<std::size_t> count = server.read(buffer, in_ten_seconds());
            if (count && *count == 1) return {};
        }
        ADD_FAILURE() << "the living connection was not accepted";
        return {};
    });
}

TEST(Listener, NET_1_the_file_of_a_unix_listener_goes_with_it) {
    Folder folder;
    in_runtime(1, [&]() -> Result<void> {
        Address address = folder.socket_address("listener");
        {
            Listener listener = WEFT_TRY(Listener::open(address, {.unix_mode = 0600}));
            EXPECT_EQ(mode_of(address.path()), 0600U);
            Listener moved = std::move(listener);
            EXPECT_TRUE(std::filesystem::exists(address.path()));
            moved.close();
            EXPECT_FALSE(std::filesystem::exists(address.path()));
        }
        Listener other = WEFT_TRY(Listener::open(address));
        EXPECT_EQ(mode_of(address.path()), 0666U);
        return {};
    });
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Listener, NET_1_a_stale_file_is_replaced_and_a_used_one_is_not) {
    Folder folder;
    in_runtime(1, [&]() -> Result<void> {
        Address address = folder.socket_address("stale");
        leave_a_stale_file(address);
        Listener listener = WEFT_TRY(Listener::open(address));
        EXPECT_EQ(kind_of(Listener::open(address)), ErrorKind::AddressInUse);
        EXPECT_TRUE(Socket::connect(address));
        return {};
    });
}

TEST(Listener, NET_1_a_file_that_is_no_socket_is_left_alone) {
    Folder folder;
    in_runtime(1, [&]() -> Result<void> {
        Address address = folder.socket_address("file");
        { File file = WEFT_TRY(File::open(address.path(), {.write = true, .create = true})); }
        EXPECT_EQ(kind_of(Listener::open(address)), ErrorKind::AddressInUse);
        EXPECT_TRUE(std::filesystem::is_regular_file(address.path()));
        return {};
    });
}

TEST(Listener, NET_1_a_file_that_has_passed_to_another_is_left_alone) {
    Folder folder;
    in_runtime(1, [&]() -> Result<void> {
        Address address = folder.socket_address("another");
        Listener first = WEFT_TRY(Listener::open(address));
        std::filesystem::rename(address.path(), address.path() + ".old");
        Listener second = WEFT_TRY(Listener::open(address));
        first.close();
        EXPECT_TRUE(Socket::connect(address));
        return {};
    });
}

// ---------------------------------------------------------------- bytes

TEST(Socket, NET_1_vectored_writes_arrive_whole_and_in_order) {
    in_runtime(2, []() -> Result<void> {
        Connection connection = WEFT_TRY(tcp_connection({.send_buffer_bytes = 4096}));
        // More parts than one call takes, some of them empty, and more bytes than the kernel takes.
        std::vector<std::string> texts;
        std::string expected;
        for (std::size_t i = 0; i < 1000; ++i) {
            texts.push_back(std::string(i % 7 == 0 ? 0 : i * 3, static_cast<char>('a' + i % 26)));
            expected += texts.back();
        }
        std::vector<Bytes> parts;
        for (const std::string& text : texts) parts.push_back(as_bytes(text));
        auto reader = spawn([&] { return read_to_end(connection.server); });
        WEFT_TRY(connection.client.write_all(parts));
        WEFT_TRY(connection.client.shutdown_write());
        EXPECT_TRUE(WEFT_TRY(reader.join()) == expected);
        return {};
    });
}

TEST(Socket, NET_1_nothing_is_written_of_no_parts) {
    in_runtime(1, []() -> Result<void> {
        Connection connection = WEFT_TRY(tcp_connection());
        Bytes empty[] = {{}, {}};
        WEFT_TRY(connection.client.write_all(std::span<const Bytes>()));
        WEFT_TRY(connection.client.write_all(empty));
        WEFT_TRY(connection.client.write_all(Bytes()));
        EXPECT_EQ(WEFT_TRY(connection.client.try_write(empty)), 0U);
        EXPECT_EQ(WEFT_TRY(connection.client.read_vectored({})), 0U);
        std::byte buffer[8];
        EXPECT_FALSE(WEFT_TRY(connection.server.try_read(buffer)).has_value());
        return {};
    });
}

TEST(Socket, NET_1_vectored_reads_fill_one_space_after_the_other) {
    in_runtime(1, []() -> Result<void> {
        auto [one, other] = WEFT_TRY(Socket::make_pair());
        WEFT_TRY(one.write_all(as_bytes("hello")));
        std::byte first[2];
        std::byte second[8];
        ByteSpace spaces[] = {first, {}, second};
        EXPECT_EQ(WEFT_TRY(other.read_vectored(spaces)), 5U);
        EXPECT_EQ(as_text(first), "he");
        EXPECT_EQ(as_text(Bytes(second).first(3)), "llo");
        one.close();
        EXPECT_EQ(WEFT_TRY(other.read_vectored(spaces)), 0U);
        return {};
    });
}

TEST(Socket, NET_1_try_write_takes_what_fits) {
    in_runtime(1, []() -> Result<void> {
        auto [one, other] = WEFT_TRY(Socket::make_pair());
        std::string large(10'000'000, 'x');
        Bytes parts[] = {as_bytes("ab"), as_bytes(large)};
        std::size_t count = WEFT_TRY(one.try_write(parts));
        EXPECT_GT(count, 2U);
        EXPECT_LT(count, large.size());
        EXPECT_EQ(WEFT_TRY(one.try_write(parts)), 0U);
        one.close();
        std::string text = WEFT_TRY(read_to_end(other));
        EXPECT_EQ(text.size(), count);
        EXPECT_TRUE(text.starts_with("abx"));
        return {};
    });
}

TEST(Socket, NET_1_options_reach_the_kernel) {
    in_runtime(1, []() -> Result<void> {
        Connection connection = WEFT_TRY(tcp_connection());
        int client = connection.client.descriptor().fd();
        EXPECT_EQ(option_of(client, IPPROTO_TCP, TCP_NODELAY), 1);
        EXPECT_EQ(option_of(client, SOL_SOCKET, SO_KEEPALIVE), 0);
        EXPECT_EQ(option_of(connection.server.descriptor().fd(), IPPROTO_TCP, TCP_NODELAY), 1);
        SocketOptions options{.no_delay = false,
                              .keep_alive = true,
                              .send_buffer_bytes = 20'000,
                              .receive_buffer_bytes = 30'000};
        WEFT_TRY(connection.client.apply(options));
        EXPECT_EQ(option_of(client, IPPROTO_TCP, TCP_NODELAY), 0);
        EXPECT_EQ(option_of(client, SOL_SOCKET, SO_KEEPALIVE), 1);
        // The kernel doubles it for its own records.
        EXPECT_EQ(option_of(client, SOL_SOCKET, SO_SNDBUF), 40'000);
        EXPECT_EQ(option_of(client, SOL_SOCKET, SO_RCVBUF), 60'000);
        // TCP's own options are not for Unix sockets.
        auto [one, other] = WEFT_TRY(Socket::make_pair());
        EXPECT_TRUE(one.apply(options));
        return {};
    });
}

// ---------------------------------------------------------------- files

void sends_a_file(std::size_t bytes) {
    Result<std::pair<Socket, Socket>> pair = Socket::make_pair();
    ASSERT_TRUE(pair);
    TemporaryFile file(bytes);
    std::string received;
    std::thread reader([&] { received = read_to_end(pair->second).value_or(""); });
    Result<void> sent = pair->first.send_file(file.fd(), 3, bytes - 3, in_ten_seconds());
    EXPECT_TRUE(sent) << sent.error().message();
    // Nothing of it, and more than there is.
    EXPECT_TRUE(pair->first.send_file(file.fd(), 0, 0));
    EXPECT_EQ(kind_of(pair->first.send_file(file.fd(), bytes - 1, 2)), ErrorKind::Closed);
    pair->first.close();
    reader.join();
    EXPECT_TRUE(received == file.text().substr(3) + file.text().back());
}

TEST(Socket, NET_1_files_are_sent_from_a_fiber) {
    in_runtime(1, []() -> Result<void> {
        sends_a_file(3'000'000);
        return {};
    });
}

TEST(Socket, NET_1_files_are_sent_from_a_thread) { sends_a_file(300'000); }

TEST(Socket, NET_1_files_that_the_kernel_cannot_send_are_copied) {
    in_runtime(1, []() -> Result<void> {
        // The kernel refuses to send to a socket from what has no pages.
        int file = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
        auto [one, other] = WEFT_TRY(Socket::make_pair());
        WEFT_TRY(one.send_file(file, 0, 5));
        ::close(file);
        one.close();
        EXPECT_EQ(WEFT_TRY(read_to_end(other)), "Name:");
        return {};
    });
}

TEST(Socket, NET_3_a_file_for_a_peer_that_is_gone) {
    TemporaryFile file(100'000);
    auto send = [&]() -> Result<void> {
        auto [one, other] = WEFT_TRY(Socket::make_pair());
        other.close();
        EXPECT_EQ(kind_of(one.send_file(file.fd(), 0, 100'000)), ErrorKind::Reset);
        return {};
    };
    in_runtime(1, send);
    EXPECT_TRUE(send());  // on a thread the signal would end the process
}

}  // namespace
}  // namespace weft::net
