// The simulated network behaves as the kernel's does, as far as net/ can tell.
#ifdef WEFT_NET

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "weft/base/bytes.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/os/file.h"
#include "weft/fiber/runtime.h"
#include "weft/net/socket.h"
#include "weft/net/udp.h"
#include "weft/sim/sim.h"
#include "weft/testing/sockets.h"

namespace weft::sim {
namespace {

using net::Address;
using net::Listener;
using net::Socket;

constexpr std::uint64_t kSeeds = 50;

// Runs the body in a fiber, once for each seed.
void over_seeds(const Faults& faults, const std::function<Result<void>()>& body) {
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        Report report = run({.seed = seed, .faults = faults}, [&] {
            Runtime runtime({.workers = 2});
            Result<void> result = runtime.spawn([&] { return body(); }).join();
            if (!result) fail(result.error().message());
        });
        ASSERT_TRUE(report.ok()) << report.text();
    }
}

template <class T>
bool is_error(const Result<T>& result, ErrorKind kind) {
    return !result && result.error().kind() == kind;
}

// Two clients send at once; `order` becomes what the server got, cut as it came.
Result<void> talk_in_some_order(std::string& order) {
    Listener listener = WEFT_TRY(Listener::open(Address::loopback(0)));
    auto send = [&](std::string_view text) {
        return spawn([&listener, text]() -> Result<void> {
            Socket socket = WEFT_TRY(Socket::connect(listener.address()));
            WEFT_TRY(socket.write_all(as_bytes(text)));
            return socket.shutdown_write();
        });
    };
    auto receive = [&] {
        return spawn([&]() -> Result<void> {
            Socket socket = WEFT_TRY(listener.accept());
            std::byte space[4];
            for (;;) {
                std::size_t count = WEFT_TRY(socket.read(space));
                if (count == 0) return {};
                order += as_text(Bytes(space).first(count));
                order += ' ';
            }
        });
    };
    Future<void> fibers[] = {send("aaaaaa"), send("bbbbbb"), receive(), receive()};
    for (Future<void>& fiber : fibers) WEFT_TRY(fiber.join());
    return {};
}

// The seed, and nothing else, decides which of two clients is served first and how the bytes are
// cut.
TEST(SimNetwork, SIM_1d_sockets_run_under_the_seed) {
    auto order_of = [](std::uint64_t seed, std::uint64_t& hash) {
        std::string order;
        Report report = run({.seed = seed}, [&] {
            Runtime runtime({.workers = 2});
            Result<void> outcome =
                runtime.spawn([&]() -> Result<void> { return talk_in_some_order(order); }).join();
            if (!outcome) fail(outcome.error().message());
        });
        EXPECT_TRUE(report.ok()) << report.text();
        hash = report.trace_hash;
        return order;
    };
    std::map<std::string, int> orders;
    std::set<std::uint64_t> hashes;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        std::uint64_t first = 0;
        std::uint64_t second = 0;
        std::string order = order_of(seed, first);
        ++orders[order];
        EXPECT_EQ(order_of(seed, second), order) << "seed " << seed;
        EXPECT_EQ(first, second) << "seed " << seed;
        hashes.insert(first);
    }
    EXPECT_GT(orders.size(), 3U);
    EXPECT_GT(hashes.size(), kSeeds - 3);
}

TEST(SimNetwork, SIM_1_connections_take_virtual_time_and_have_names) {
    std::int64_t longest = 0;
    over_seeds({}, [&]() -> Result<void> {
        Address any = WEFT_TRY(Address::parse("[::]:0"));
        Listener listener = WEFT_TRY(Listener::open(any));
        require(listener.address().port() != 0, "no port was chosen");
        Instant begin = Clock::now();
        Address there = WEFT_TRY(Address::parse("[::1]:0"));
        Address address(there.ip(), listener.address().port());
        Socket client = WEFT_TRY(Socket::connect(address));
        longest = std::max(longest, (Clock::now() - begin).count());
        Socket server = WEFT_TRY(listener.accept());
        require(client.peer_address() == address, "the client's peer has another name");
        require(server.peer_address() == client.local_address(), "the server's peer has");
        require(server.local_address() == listener.address(), "the server has another name");
        return {};
    });
    EXPECT_GT(longest, 1000);
}

TEST(SimNetwork, SIM_1_an_address_is_taken_until_its_listener_is_closed) {
    over_seeds({}, []() -> Result<void> {
        Listener listener = WEFT_TRY(Listener::open(Address::loopback(7)));
        require(is_error(Listener::open(Address::loopback(7)), ErrorKind::AddressInUse), "taken");
        listener.close();
        Listener next = WEFT_TRY(Listener::open(Address::loopback(7)));
        return {};
    });
}

TEST(SimNetwork, SIM_1_connections_are_dealt_out_to_those_who_share_a_port) {
    unsigned first_got = 0;
    over_seeds({}, [&]() -> Result<void> {
        net::ListenOptions shared{.reuse_port = net::ReusePort::Yes};
        Listener first = WEFT_TRY(Listener::open(Address::loopback(0), shared));
        Listener second = WEFT_TRY(Listener::open(first.address(), shared));
        require(is_error(Listener::open(first.address()), ErrorKind::AddressInUse),
                "somebody else shares the port");
        Socket client = WEFT_TRY(Socket::connect(first.address()));
        Deadline soon = Deadline::after(std::chrono::seconds(1));
        bool by_first = first.accept(soon).has_value();
        bool by_second = second.accept(soon).has_value();
        require(by_first != by_second, "a connection came twice, or not at all");
        first_got += by_first ? 1 : 0;
        return {};
    });
    EXPECT_GT(first_got, 0U);
    EXPECT_LT(first_got, kSeeds);
}

TEST(SimNetwork, SIM_1_a_listener_that_closes_resets_its_backlog) {
    over_seeds({}, []() -> Result<void> {
        Listener listener = WEFT_TRY(Listener::open(Address::loopback(0)));
        Socket client = WEFT_TRY(Socket::connect(listener.address()));
        listener.close();
        std::array<std::byte, 1> buffer;
        require(is_error(client.read(buffer), ErrorKind::Reset), "it was not reset");
        require(client.read(buffer) == std::size_t{0}, "a reset is told once");
        require(is_error(client.shutdown_write(), ErrorKind::Reset), "it is not there any more");
        return {};
    });
}

TEST(SimNetwork, SIM_1_writing_to_a_closed_peer_fails_at_once_or_at_the_next_write) {
    int late = 0;
    over_seeds({}, [&]() -> Result<void> {
        auto [one, other] = WEFT_TRY(Socket::make_pair());
        other.close();
        Result<void> first = one.write_all(as_bytes("x"));
        late += first.has_value();
        require(first || is_error(first, ErrorKind::Reset), "an odd error");
        require(is_error(one.write_all(as_bytes("x")), ErrorKind::Reset), "nobody is there");
        return {};
    });
    EXPECT_GT(late, 0);
    EXPECT_LT(late, static_cast<int>(kSeeds));
}

TEST(SimNetwork, SIM_1_files_are_copied_to_sockets) {
    over_seeds({}, [&]() -> Result<void> {
        File file = WEFT_TRY(File::open("/file", {.write = true, .create = true}));
        WEFT_TRY(file.write_all(as_bytes("0123456789 what is sent and more")));
        auto [one, other] = WEFT_TRY(Socket::make_pair());
        auto sender = spawn([&]() -> Result<void> {
            WEFT_TRY(one.send_file(file.fd(), 11, 12));
            return one.shutdown_write();
        });
        std::string text = WEFT_TRY(testing::read_to_end(other));
        require(text == "what is sent", "another text came");
        return sender.join();
    });
}

TEST(SimNetwork, SIM_1_there_are_no_datagrams) {
    over_seeds({}, []() -> Result<void> {
        Result<net::UdpSocket> socket = net::UdpSocket::open(Address::loopback(0));
        require(!socket && socket.error().native_code() == EAFNOSUPPORT, "there are");
        return {};
    });
}

TEST(SimNetwork, NET_3_out_of_memory_is_an_error_and_passes) {
    int failures = 0;
    Faults faults = Faults::none();
    faults.allocation = true;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        // On a plain thread: fibers need memory of their own.
        Report report = run({.seed = seed, .faults = faults}, [&] {
            auto persist = [&](auto attempt) {
                for (;;) {
                    auto result = attempt();
                    if (result) return std::move(*result);
                    require(is_error(result, ErrorKind::OutOfMemory), "an odd error");
                    ++failures;
                }
            };
            Address name = *Address::unix_path("@weft");
            Listener listener = persist([&] { return Listener::open(name); });
            Socket client = persist([&] { return Socket::connect(name); });
            Socket server = persist([&] { return listener.accept(); });
            require(client.write_all(as_bytes("x")).has_value(), "a write failed");
        });
        ASSERT_TRUE(report.ok()) << report.text();
    }
    EXPECT_GT(failures, 0);
}

}  // namespace
}  // namespace weft::sim

#endif
