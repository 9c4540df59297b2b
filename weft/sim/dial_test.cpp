// Happy eyeballs in virtual time.
#ifdef WEFT_NET

#include "weft/net/dial.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <utility>
#include <vector>

#include "weft/fiber/cancel.h"
#include "weft/fiber/runtime.h"
#include "weft/net/resolver.h"
#include "weft/net/socket.h"
#include "weft/sim/sim.h"

namespace weft::sim {
namespace {

using namespace std::chrono_literals;
using net::Address;
using net::IpAddress;
using net::Listener;
using net::Resolver;
using net::Socket;

constexpr std::uint64_t kSeeds = 100;
constexpr std::uint16_t kPort = 7;

IpAddress ip(const char* text) { return IpAddress::parse(text).value(); }

Resolver host_with(std::vector<IpAddress> addresses) {
    return Resolver({.table = {{"host.test", std::move(addresses)}}});
}

// The queue of a listener that accepts nobody is full.
struct BlackHole {
    Listener listener;
    std::vector<Socket> waiting;

    static Result<BlackHole> create(const IpAddress& address) {
        BlackHole hole;
        hole.listener = WEFT_TRY(Listener::open(Address(address, kPort), {.backlog = 0}));
        for (;;) {
            Result<Socket> next = Socket::connect(hole.listener.address(), Deadline::after(1s));
            if (!next) return hole;
            hole.waiting.push_back(std::move(*next));
        }
    }
};

void over_seeds(const std::function<Result<void>()>& body) {
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        Report report = run({.seed = seed, .faults = Faults::none()}, [&] {
            Runtime runtime({.workers = 2});
            Result<void> result = runtime.spawn([&] { return body(); }).join();
            if (!result) fail(result.error().message());
        });
        ASSERT_TRUE(report.ok()) << report.text();
    }
}

TEST(SimDial, NET_5_the_next_address_is_tried_after_250_milliseconds) {
    over_seeds([]() -> Result<void> {
        BlackHole hole = WEFT_TRY(BlackHole::create(ip("::1")));
        Listener listener = WEFT_TRY(Listener::open(Address::loopback(kPort)));
        Resolver resolver = host_with({ip("127.0.0.1"), ip("::1")});
        Instant begun = Clock::now();
        Socket socket = WEFT_TRY(dial(resolver, "host.test", kPort, Deadline::after(1h)));
        require(socket.peer_address() == listener.address(), "connected to the black hole");
        Nanoseconds took = Clock::now() - begun;
        require(took >= 250ms, "the second attempt came too early");
        require(took < 1s, "the second attempt came too late");
        return {};
    });
}

TEST(SimDial, NET_5_a_cancellation_anywhere_leaves_nothing_behind) {
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        Report report = run({.seed = seed}, [] {
            Runtime runtime({.workers = 2});
            CancelSource source(runtime.root());
            Future<void> dialling = runtime.spawn([&]() -> Result<void> {
                Listener listener = WEFT_TRY(Listener::open(Address::loopback(kPort)));
                Resolver resolver = host_with({ip("127.0.0.1"), ip("::1")});
                CancelScope scope(source.token());
                for (int i = 0; i < 10; ++i) WEFT_TRY(dial(resolver, "host.test", kPort));
                return {};
            });
            await_interrupt();
            source.cancel();
            Result<void> outcome = dialling.join();
            require(outcome || outcome.error().kind() == ErrorKind::Cancelled,
                    "it ended in another way");
        });
        ASSERT_TRUE(report.ok()) << report.text();
    }
}

TEST(SimDial, NET_5_a_name_that_is_not_in_the_table_does_not_exist) {
    over_seeds([]() -> Result<void> {
        Resolver resolver = host_with({ip("127.0.0.1")});
        Result<Socket> socket = dial(resolver, "other.test", kPort);
        require(!socket && socket.error().kind() == ErrorKind::Dns, "it was found");
        return {};
    });
}

}  // namespace
}  // namespace weft::sim

#endif
