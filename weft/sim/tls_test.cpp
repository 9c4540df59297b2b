// TLS over the simulated network. OpenSSL has its own randomness, so the sizes of some records, and
// with them the trace, differ between two runs of a seed; the expectations hold in all of them.
#ifdef WEFT_NET

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "weft/async/group.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/runtime.h"
#include "weft/net/socket.h"
#include "weft/net/tls/tls_stream.h"
#include "weft/sim/sim.h"
#include "weft/testing/scale.h"
#include "weft/testing/tls_peers.h"

namespace weft::sim {
namespace {

using namespace std::chrono_literals;
using net::Socket;
using net::TlsStream;
using testing::Contexts;

constexpr std::uint64_t kSeeds = testing::repeats(100);
// A handshake through pipes of a few bytes, in the checked build with a step at every atomic.
constexpr std::uint64_t kStepsMax = 50'000'000;

std::string message(std::size_t size) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 5 >> 2);
    return text;
}

Result<void> send_and_receive(TlsStream& stream, const std::string& text) {
    async::Group group;
    WEFT_TRY(group.go([&]() -> Result<void> {
        WEFT_TRY(stream.write_all(as_bytes(text)));
        return stream.shutdown_write();
    }));
    WEFT_TRY(group.go([&]() -> Result<void> {
        std::string got;
        std::byte space[700];
        for (;;) {
            std::size_t count = WEFT_TRY(stream.read(space));
            if (count == 0) break;
            got += as_text(Bytes(space).first(count));
        }
        require(got == text, "what came is not what was sent");
        return {};
    }));
    return group.wait();
}

// Both ends send a message and read one, all at once.
Result<void> talk(Contexts& contexts) {
    auto sockets = WEFT_TRY(Socket::make_pair());
    std::string text = message(1 + random_below(40'000));
    async::Group group;
    WEFT_TRY(group.go([&]() -> Result<void> {
        auto below = std::make_unique<Socket>(std::move(sockets.first));
        auto stream =
            WEFT_TRY(TlsStream::accept(std::move(below), contexts.server, Deadline::after(1h)));
        return send_and_receive(*stream, text);
    }));
    WEFT_TRY(group.go([&]() -> Result<void> {
        auto below = std::make_unique<Socket>(std::move(sockets.second));
        auto stream = WEFT_TRY(TlsStream::connect(std::move(below), contexts.client, "example.test",
                                                  Deadline::after(1h)));
        return send_and_receive(*stream, text);
    }));
    return group.wait();
}

TEST(SimTls, NET_2_bytes_arrive_whole_whatever_the_network_does_to_them) {
    Contexts contexts = Contexts::create().value();
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        Report report = run({.seed = seed, .steps_max = kStepsMax}, [&] {
            Runtime runtime({.workers = 2});
            Result<void> outcome = runtime.spawn([&] { return talk(contexts); }).join();
            if (!outcome) fail(outcome.error().message());
        });
        ASSERT_TRUE(report.ok()) << report.text();
    }
}

TEST(SimTls, NET_2_a_cancellation_anywhere_ends_both_ends) {
    Contexts contexts = Contexts::create().value();
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        Report report = run({.seed = seed, .faults = Faults::none(), .steps_max = kStepsMax}, [&] {
            Runtime runtime({.workers = 2});
            CancelSource source(runtime.root());
            Future<void> talking = runtime.spawn([&] {
                CancelScope scope(source.token());
                return talk(contexts);
            });
            await_interrupt();
            source.cancel();
            Result<void> outcome = talking.join();
            // Either end may be the first to notice; the other then gets the end of the stream.
            if (!outcome) {
                ErrorKind kind = outcome.error().kind();
                require(kind == ErrorKind::Cancelled || kind == ErrorKind::Tls ||
                            kind == ErrorKind::Reset || kind == ErrorKind::Closed,
                        "it ended in another way");
            }
        });
        ASSERT_TRUE(report.ok()) << report.text();
    }
}

TEST(SimTls, NET_2_a_connection_that_is_reset_is_an_error) {
    Contexts contexts = Contexts::create().value();
    Faults resets = Faults::none();
    resets.resets = true;
    int whole = 0;
    int broken = 0;
    int told_as_reset = 0;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        Result<void> outcome;
        Report report = run({.seed = seed, .faults = resets, .steps_max = kStepsMax}, [&] {
            Runtime runtime({.workers = 2});
            outcome = runtime.spawn([&] { return talk(contexts); }).join();
        });
        ASSERT_TRUE(report.ok()) << report.text();
        ++(outcome ? whole : broken);
        // Without a reset neither end gets an error.
        if (report.injected.resets == 0) {
            EXPECT_TRUE(outcome) << "seed " << seed << ": " << outcome.error().message();
        }
        if (!outcome && outcome.error().kind() == ErrorKind::Reset) ++told_as_reset;
        // Closed and Tls: the end that was reset closes, and cuts off the other.
        bool is_told = outcome || outcome.error().kind() == ErrorKind::Reset ||
                       outcome.error().kind() == ErrorKind::Closed ||
                       outcome.error().kind() == ErrorKind::Tls;
        EXPECT_TRUE(is_told) << "seed " << seed << ": " << outcome.error().message();
    }
    // Never taken for a whole conversation, and not every one is reset.
    EXPECT_GT(broken, 0);
    EXPECT_GT(whole, 0);
    EXPECT_GT(told_as_reset, 0);
}

}  // namespace
}  // namespace weft::sim

#endif
