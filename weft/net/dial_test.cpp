#include "weft/net/dial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/testing/sockets.h"

namespace weft::net {
namespace {

using namespace weft::testing;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

IpAddress ip(std::string_view text) { return IpAddress::parse(text).value(); }

Resolver host_with(std::vector<IpAddress> addresses) {
    return Resolver({.table = {{"host.test", std::move(addresses)}}});
}

std::size_t open_descriptors() {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                      std::filesystem::directory_iterator()));
}

// An address that does not answer: the backlog of a listener that accepts nobody is full.
struct BlackHole {
    Listener listener;
    std::vector<Socket> waiting;

    static Result<BlackHole> create(const Address& address) {
        BlackHole hole;
        hole.listener = WEFT_TRY(Listener::open(address, {.backlog = 1}));
        // A single failure is not enough: that connection may be in the backlog nevertheless.
        for (int i = 0, dropped = 0; i < 10; ++i) {
            Result<Socket> socket =
                Socket::connect(hole.listener.address(), Deadline::after(milliseconds(30)));
            dropped = socket ? 0 : dropped + 1;
            if (dropped == 2) return hole;
            if (socket) hole.waiting.push_back(std::move(*socket));
        }
        return Error(ErrorKind::Other, "the queue of the listener is never full");
    }
};

TEST(Dial, NET_5_families_take_turns_and_ipv6_is_first) {
    EXPECT_THAT(interleaved({ip("10.0.0.1"), ip("10.0.0.2"), ip("10.0.0.3"), ip("::1"), ip("::2")}),
                ElementsAre(ip("::1"), ip("10.0.0.1"), ip("::2"), ip("10.0.0.2"), ip("10.0.0.3")));
    EXPECT_THAT(interleaved({}), ElementsAre());
}

TEST(Dial, NET_5_all_addresses_fail) {
    in_runtime(2, []() -> Result<void> {
        std::uint16_t port = WEFT_TRY(free_tcp_address())
        .port();
        for (std::vector<IpAddress> addresses :
             {std::vector{ip("127.0.0.1")}, std::vector{ip("127.0.0.1"), ip("127.0.0.2")}}) {
            Resolver resolver = host_with(addresses);
            Result<Socket> socket = dial(resolver, "host.test", port, in_ten_seconds());
            EXPECT_EQ(kind_of(socket), ErrorKind::Refused);
            EXPECT_THAT(socket.error().message(), StartsWith("host.test: connect 127.0.0."));
        }
        Resolver resolver = host_with({});
        EXPECT_EQ(kind_of(dial(resolver, "other host", port)), ErrorKind::Dns);
        return {};
    });
}

TEST(Dial, NET_5_the_first_address_refuses_and_the_second_is_used) {
    in_runtime(2, []() -> Result<void> {
        Listener listener = WEFT_TRY(Listener::open(Address(ip("127.0.0.2"), 0)));
        Resolver resolver = host_with({ip("127.0.0.1"), ip("127.0.0.2")});
        // The delay does not matter: a failure is followed by the next attempt at once.
        Socket socket = WEFT_TRY(dial(resolver, "host.test", listener.address().port(),
                                      in_ten_seconds(), {.attempt_delay = std::chrono::hours(1)}));
        EXPECT_EQ(socket.peer_address(), listener.address());
        return {};
    });
}

TEST(Dial, NET_5_an_address_that_does_not_answer_is_overtaken_after_the_delay) {
    in_runtime(2, []() -> Result<void> {
        BlackHole hole = WEFT_TRY(BlackHole::create(Address(ip("127.0.0.1"), 0)));
        std::uint16_t port = hole.listener.address().port();
        Listener listener = WEFT_TRY(Listener::open(Address(ip("127.0.0.3"), port)));
        Resolver resolver = host_with({ip("127.0.0.1"), ip("127.0.0.2"), ip("127.0.0.3")});
        std::vector<Instant> begun;
        DialOptions options;
        options.allow = [&](const Address&) -> Result<void> {
            begun.push_back(Clock::now());
            // The second one refuses, and the third follows at once, whatever the delay is.
            if (begun.size() == 2) options.attempt_delay = std::chrono::hours(1);
            return {};
        };
        std::size_t descriptors = open_descriptors();
        Socket socket = WEFT_TRY(dial(resolver, "host.test", port, in_ten_seconds(), options));
        EXPECT_EQ(socket.peer_address(), listener.address());
        EXPECT_EQ(begun.size(), 3U);
        EXPECT_GE(begun[1] - begun[0], milliseconds(250));
        EXPECT_EQ(open_descriptors(), descriptors + 1);  // the loser is closed
        return {};
    });
}

TEST(Dial, NET_5_the_deadline_and_a_cancellation_end_all_attempts) {
    in_runtime(2, []() -> Result<void> {
        BlackHole first = WEFT_TRY(BlackHole::create(Address(ip("127.0.0.1"), 0)));
        std::uint16_t port = first.listener.address().port();
        BlackHole second = WEFT_TRY(BlackHole::create(Address(ip("127.0.0.2"), port)));
        std::size_t descriptors = open_descriptors();
        DialOptions options{.attempt_delay = milliseconds(5)};
        for (std::vector<IpAddress> addresses :
             {std::vector{ip("127.0.0.1")}, std::vector{ip("127.0.0.1"), ip("127.0.0.2")}}) {
            Resolver resolver = host_with(addresses);
            EXPECT_EQ(kind_of(dial(resolver, "host.test", port, Deadline::after(milliseconds(30)),
                                   options)),
                      ErrorKind::TimedOut);
            CancelSource source = CancelSource::with_deadline(Deadline::after(milliseconds(30)));
            {
                CancelScope scope(source.token());
                EXPECT_EQ(kind_of(dial(resolver, "host.test", port, in_ten_seconds(), options)),
                          ErrorKind::TimedOut);
            }
            CancelSource cancelled;
            auto dialling = spawn([&] {
                CancelScope scope(cancelled.token());
                return dial(resolver, "host.test", port, in_ten_seconds(), options);
            });
            for (int i = 0; i < 10; ++i) yield();
            cancelled.cancel();
            EXPECT_EQ(kind_of(dialling.join(in_ten_seconds())), ErrorKind::Cancelled);
        }
        EXPECT_EQ(open_descriptors(), descriptors);
        return {};
    });
}

TEST(Dial, NET_5_a_policy_is_asked_for_each_number) {
    in_runtime(2, []() -> Result<void> {
        Listener listener = WEFT_TRY(Listener::open(Address(ip("127.0.0.2"), 0)));
        std::uint16_t port = listener.address().port();
        Resolver resolver = host_with({ip("127.0.0.1"), ip("127.0.0.2")});
        std::vector<std::string> asked;
        DialOptions options{.allow = [&](const Address& address) -> Result<void> {
            asked.push_back(address.to_string());
            if (address.ip() == ip("127.0.0.1")) return Error(ErrorKind::Refused, "not this one");
            return {};
        }};
        WEFT_TRY(dial(resolver, "host.test", port, in_ten_seconds(), options));
        EXPECT_THAT(asked, ElementsAre("127.0.0.1:" + std::to_string(port),
                                       "127.0.0.2:" + std::to_string(port)));
        options.allow = [](const Address&) -> Result<void> {
            return Error(ErrorKind::Misuse, "this machine is out of bounds");
        };
        for (std::string_view host : {"host.test", "127.0.0.2"}) {
            Result<Socket> socket = dial(resolver, host, port, in_ten_seconds(), options);
            EXPECT_EQ(kind_of(socket), ErrorKind::Misuse);
            EXPECT_THAT(socket.error().message(), HasSubstr("out of bounds"));
        }
        return {};
    });
}

TEST(Dial, NET_5_localhost_is_reached_by_whichever_family_listens) {
    in_runtime(2, []() -> Result<void> {
        Listener listener = WEFT_TRY(Listener::open(Address::loopback(0)));
        Resolver resolver;
        Socket socket =
            WEFT_TRY(dial(resolver, "localhost", listener.address().port(), in_ten_seconds()));
        EXPECT_EQ(socket.peer_address(), listener.address());
        return {};
    });
}

TEST(Dial, NET_5_a_plain_thread_tries_one_after_the_other) {
    Listener listener = Listener::open(Address(ip("127.0.0.2"), 0)).value();
    Resolver resolver = host_with({ip("127.0.0.1"), ip("127.0.0.2")});
    Result<Socket> socket =
        dial(resolver, "host.test", listener.address().port(), in_ten_seconds());
    ASSERT_TRUE(socket) << socket.error().message();
    EXPECT_EQ(socket->peer_address(), listener.address());
}

}  // namespace
}  // namespace weft::net
