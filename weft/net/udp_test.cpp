#include "weft/net/udp.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/testing/sockets.h"

namespace weft::net {
namespace {

using namespace testing;
using std::chrono::milliseconds;

TEST(UdpSocket, NET_1_datagrams_keep_their_bounds) {
    in_runtime(1, []() -> Result<void> {
        UdpSocket server = WEFT_TRY(UdpSocket::open(Address::loopback(0)));
        UdpSocket client = WEFT_TRY(UdpSocket::connect(server.local_address()));
        EXPECT_EQ(client.peer_address(), server.local_address());
        WEFT_TRY(client.send(as_bytes("one")));
        WEFT_TRY(client.send({}));
        WEFT_TRY(client.send(as_bytes("three")));
        std::byte space[16];
        for (std::string_view expected : {"one", "", "three"}) {
            Datagram datagram = WEFT_TRY(server.receive_from(space, in_ten_seconds()));
            EXPECT_EQ(as_text(Bytes(space).first(datagram.count)), expected);
            EXPECT_EQ(datagram.from, client.local_address());
            EXPECT_FALSE(datagram.truncated);
        }
        EXPECT_FALSE(WEFT_TRY(server.try_receive_from(space)).has_value());
        WEFT_TRY(server.send_to(as_bytes("back"), client.local_address()));
        Datagram back = WEFT_TRY(client.receive(space, in_ten_seconds()));
        EXPECT_EQ(as_text(Bytes(space).first(back.count)), "back");
        EXPECT_EQ(back.from, server.local_address());
        return {};
    });
}

TEST(UdpSocket, NET_1_ipv6) {
    if (!has_ipv6()) GTEST_SKIP() << "this machine has no IPv6";
    in_runtime(1, []() -> Result<void> {
        Address address = WEFT_TRY(Address::parse("[::1]:0"));
        UdpSocket one = WEFT_TRY(UdpSocket::open(address));
        UdpSocket other = WEFT_TRY(UdpSocket::open(address));
        WEFT_TRY(one.send_to(as_bytes("x"), other.local_address()));
        std::byte space[16];
        Datagram datagram = WEFT_TRY(other.receive_from(space, in_ten_seconds()));
        EXPECT_EQ(datagram.from, one.local_address());
        return {};
    });
}

TEST(UdpSocket, NET_1_a_waiting_receiver_gets_what_comes) {
    in_runtime(1, []() -> Result<void> {
        UdpSocket server = WEFT_TRY(UdpSocket::open(Address::loopback(0)));
        UdpSocket client = WEFT_TRY(UdpSocket::open(Address::loopback(0)));
        std::byte space[16];
        auto receiver = spawn([&] { return server.receive_from(space, in_ten_seconds()); });
        yield();
        WEFT_TRY(client.send_to(as_bytes("x"), server.local_address()));
        EXPECT_EQ(WEFT_TRY(receiver.join()).count, 1U);
        return {};
    });
}

TEST(UdpSocket, NET_1_a_datagram_longer_than_the_space_is_cut_and_says_so) {
    in_runtime(1, []() -> Result<void> {
        UdpSocket server = WEFT_TRY(UdpSocket::open(Address::loopback(0)));
        UdpSocket client = WEFT_TRY(UdpSocket::connect(server.local_address()));
        WEFT_TRY(client.send(as_bytes("12345")));
        WEFT_TRY(client.send(as_bytes("6")));
        std::byte space[3];
        Datagram cut = WEFT_TRY(server.receive_from(space, in_ten_seconds()));
        EXPECT_EQ(cut.count, 3U);
        EXPECT_TRUE(cut.truncated);
        Datagram next = WEFT_TRY(server.receive_from(space, in_ten_seconds()));
        EXPECT_EQ(as_text(Bytes(space).first(next.count)), "6");
        EXPECT_FALSE(next.truncated);
        return {};
    });
}

TEST(UdpSocket, NET_3_a_datagram_that_is_too_long_is_beyond_the_limit) {
    in_runtime(1, []() -> Result<void> {
        UdpSocket server = WEFT_TRY(UdpSocket::open(Address::loopback(0)));
        std::vector<std::byte> bytes(70'000);
        EXPECT_EQ(kind_of(server.send_to(bytes, server.local_address())), ErrorKind::Limit);
        return {};
    });
}

TEST(UdpSocket, NET_3_a_peer_that_does_not_listen_refuses) {
    in_runtime(1, []() -> Result<void> {
        UdpSocket server = WEFT_TRY(UdpSocket::open(Address::loopback(0)));
        UdpSocket client = WEFT_TRY(UdpSocket::connect(server.local_address()));
        server.close();
        WEFT_TRY(client.send(as_bytes("x")));
        std::byte space[16];
        EXPECT_EQ(kind_of(client.receive(space, in_ten_seconds())), ErrorKind::Refused);
        return {};
    });
}

TEST(UdpSocket, NET_3_waits_time_out_are_cancelled_and_closed) {
    in_runtime(1, []() -> Result<void> {
        UdpSocket socket = WEFT_TRY(UdpSocket::open(Address::loopback(0)));
        std::byte space[16];
        EXPECT_EQ(kind_of(socket.receive_from(space, Deadline::after(milliseconds(5)))),
                  ErrorKind::TimedOut);
        CancelSource source;
        auto cancelled = spawn([&] {
            CancelScope scope(source.token());
            return socket.receive_from(space);
        });
        yield();
        source.cancel();
        EXPECT_EQ(kind_of(cancelled.join()), ErrorKind::Cancelled);
        auto closed = spawn([&] { return socket.receive_from(space); });
        yield();
        socket.close();
        EXPECT_EQ(kind_of(closed.join()), ErrorKind::Closed);
        EXPECT_EQ(kind_of(socket.send_to({}, Address::loopback(1))), ErrorKind::Closed);
        EXPECT_EQ(socket.local_address(), Address());
        return {};
    });
}

TEST(UdpSocket, NET_3_an_address_that_is_taken_or_of_another_kind) {
    in_runtime(1, []() -> Result<void> {
        UdpSocket socket = WEFT_TRY(UdpSocket::open(Address::loopback(0)));
        EXPECT_EQ(kind_of(UdpSocket::open(socket.local_address())), ErrorKind::AddressInUse);
        Address path = WEFT_TRY(Address::unix_path("/tmp/x"));
        EXPECT_EQ(kind_of(UdpSocket::open(path)), ErrorKind::Misuse);
        return {};
    });
}

TEST(UdpSocket, NET_1_on_a_plain_thread) {
    Result<UdpSocket> server = UdpSocket::open(Address::loopback(0));
    ASSERT_TRUE(server);
    std::byte space[16];
    EXPECT_EQ(kind_of(server->receive_from(space, Deadline::after(milliseconds(5)))),
              ErrorKind::TimedOut);
    ASSERT_TRUE(server->send_to(as_bytes("x"), server->local_address()));
    EXPECT_EQ(server->receive_from(space, in_ten_seconds())->count, 1U);
}

}  // namespace
}  // namespace weft::net
