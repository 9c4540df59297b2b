// Leaving the block of a server, by whatever way, closes it and waits until it has ended.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/http/internal/server_test.h"
#include "weft/http/request.h"
#include "weft/http/server/server.h"
#include "weft/net/socket.h"
#include "weft/sync/event.h"

namespace weft::http {
namespace {

using testing::kGet;
using testing::kPatience;

constexpr auto kRelaxed = std::memory_order_relaxed;

enum class Way { Return, Error, Throw };

// How serve() is called by a fiber whose Future is dropped.
enum class Serving { Started, Spawned };

struct Probe {
    Event asked;
    Event served;                         // of one that was spawned: serve() is about to be called
    Atomic<bool> saw_the_end{false};      // by the context of the request
    Atomic<bool> frame_was_there{false};  // when the handler ended, some turns after that
};

Result<int> fails() { return Error(ErrorKind::Other, "config missing"); }

// A frame with a server that has a request under way.
Result<void> leave(Way way, Serving how, Probe& probe) {
    std::vector<int> frame(1'000, 7);
    Server server([&frame, &probe](Request&, async::Context& context) -> Result<Response> {
        probe.asked.set();
        Event never;
        Result<void> ended = never.wait();
        probe.saw_the_end.store(context.is_done(), kRelaxed);
        for (int turn = 0; turn < 100; ++turn) yield();
        bool intact = std::ranges::all_of(frame, [](int number) { return number == 7; });
        probe.frame_was_there.store(intact, kRelaxed);
        return ended.error();
    });
    net::Address address = WEFT_TRY(server.listen(net::Address::loopback(0)));
    Future<void> serving =
        how == Serving::Started ? server.start() : spawn([&] { return server.serve(); });
    net::Socket client = WEFT_TRY(net::Socket::connect(address, Deadline::after(kPatience)));
    WEFT_TRY(client.write_all(as_bytes(kGet), Deadline::after(kPatience)));
    EXPECT_TRUE(probe.asked.wait_for(kPatience));
    if (way == Way::Return) return {};
    if (way == Way::Throw) throw std::runtime_error("thrown");
    int limit = WEFT_TRY(fails());
    return Error(ErrorKind::Other, std::to_string(limit));
}

void check_leaving(Way way) {
    for (Serving how : {Serving::Started, Serving::Spawned}) {
        auto leaves = [&]() -> Result<void> {
            Probe probe;
            std::string left_with;
            try {
                Result<void> outcome = leave(way, how, probe);
                if (!outcome) left_with = outcome.error().message();
            } catch (const std::runtime_error& error) {
                left_with = error.what();
            }
            // Whoever comes here has left the frame: no request may be alive.
            EXPECT_TRUE(probe.saw_the_end.load(kRelaxed));
            EXPECT_TRUE(probe.frame_was_there.load(kRelaxed));
            const char* expected = way == Way::Return  ? ""
                                   : way == Way::Error ? "config missing"
                                                       : "thrown";
            EXPECT_EQ(left_with, expected);
            return {};
        };
        EXPECT_TRUE(run(leaves, {.workers = 2}));
    }
}

TEST(LeftServer, SC_10m_a_server_left_by_return) { check_leaving(Way::Return); }
TEST(LeftServer, SC_10m_a_server_left_by_error) { check_leaving(Way::Error); }
TEST(LeftServer, SC_10m_a_server_left_by_exception) { check_leaving(Way::Throw); }

Result<Response> answer(Request&, async::Context&) { return Response::text("x"); }

TEST(LeftServer, SC_10m_a_server_left_before_its_fiber_has_begun) {
    for (unsigned workers : {1U, 2U}) {
        auto leaves = []() -> Result<void> {
            for (int count = 0; count < 10; ++count) {
                Server server(answer);
                WEFT_TRY(server.listen(net::Address::loopback(0)));
                static_cast<void>(server.start());
            }
            return {};
        };
        EXPECT_TRUE(run(leaves, {.workers = workers}));
    }
}

TEST(LeftServer, SC_10m_who_joins_gets_the_outcome_of_a_server_that_was_started) {
    Result<void> joined = run([]() -> Result<void> {
        Server deaf(answer);
        EXPECT_EQ(deaf.start().join().error().kind(), ErrorKind::Misuse);
        Server server(answer);
        WEFT_TRY(server.listen(net::Address::loopback(0)));
        Future<void> serving = server.start();
        server.close();
        return serving.join();
    });
    EXPECT_TRUE(joined);
}

// The end of a frame whose context is over is no reason to leave requests behind.
TEST(LeftServer, SC_10m_the_wait_for_a_server_cannot_be_cancelled) {
    Result<void> left = run([]() -> Result<void> {
        Probe probe;
        CancelSource source;
        CancelScope scope(source.token());
        Future<void> leaving = spawn([&] { return leave(Way::Return, Serving::Started, probe); });
        {
            CancelScope beside(CancelSource::detached().token());
            EXPECT_TRUE(probe.asked.wait_for(kPatience));
            source.cancel();
            static_cast<void>(leaving.join());
        }
        EXPECT_TRUE(probe.frame_was_there.load(kRelaxed));
        return {};
    });
    EXPECT_TRUE(left);
}

class LeftServerDeathTest : public ::testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(LeftServerDeathTest, SC_10m_a_serve_that_begins_after_the_end_of_its_server_is_asserted) {
    auto late = [] {
        auto body = []() -> Result<void> {
            auto place = std::make_unique_for_overwrite<std::byte[]>(sizeof(Server));
            auto* server = std::construct_at(reinterpret_cast<Server*>(place.get()), answer);
            Future<void> serving = spawn([server] { return server->serve(); });
            std::destroy_at(server);
            return serving.join();
        };
        static_cast<void>(run(body, {.workers = 1}));
    };
    EXPECT_DEATH(late(), "serve\\(\\) begins after its server has ended");
}

TEST_F(LeftServerDeathTest, SC_10m_a_request_must_not_destroy_its_own_server) {
    auto destroy = [] {
        auto body = []() -> Result<void> {
            std::unique_ptr<Server> server;
            server = std::make_unique<Server>([&](Request&, async::Context&) {
                server.reset();
                return Response::text("x");
            });
            net::Address address = WEFT_TRY(server->listen(net::Address::loopback(0)));
            Future<void> serving = server->start();
            net::Socket client =
                WEFT_TRY(net::Socket::connect(address, Deadline::after(kPatience)));
            WEFT_TRY(client.write_all(as_bytes(kGet), Deadline::after(kPatience)));
            return serving.join();
        };
        static_cast<void>(run(body, {.workers = 1}));
    };
    EXPECT_DEATH(destroy(), "a request destroys its own server");
}

}  // namespace
}  // namespace weft::http
