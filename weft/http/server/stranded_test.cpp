// Connections for whose fibers there is no memory.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "weft/fiber/fiber.h"
#include "weft/http/internal/server_test.h"
#include "weft/http/server/server.h"
#include "weft/testing/eventually.h"
#include "weft/testing/scale.h"
#include "weft/testing/short_memory.h"

namespace weft::http {
namespace {

using namespace std::chrono_literals;
using testing::RawClient;
using testing::TestServer;
using weft::testing::end_with;
using weft::testing::eventually;
using weft::testing::lift_limit;
using weft::testing::limit_address_space;

using testing::kGet;
constexpr std::size_t kStackBytes = 1 << 20;

class StrandedDeathTest : public ::testing::Test {
protected:
    void SetUp() override {
        GTEST_FLAG_SET(death_test_style, "threadsafe");
        if (weft::testing::kSanitizer)
            GTEST_SKIP() << "the sanitizer itself needs the address space";
        weft::testing::use_one_heap();
    }
};

// A server whose runtime has used up the address space for stacks like those of its handlers.
class DryServer {
public:
    explicit DryServer(Nanoseconds queue_delay)
        : server_([](Request&, async::Context&) { return Response::text("hello"); },
                  options(queue_delay), {.workers = 1}) {
        weft::testing::fill_heap(16 << 20);
        limit_address_space(16 << 20);
        for (int refused = 0; refused < 10 && hogs_.size() < 1000;) {
            hogs_.push_back(
                server_.runtime().spawn([] { return park(); }, {.stack_bytes = kStackBytes}));
            // What was spawned before has run, or was refused.
            static_cast<void>(server_.runtime().spawn([] {}).join());
            refused += hogs_.back().is_done() ? 1 : 0;
        }
    }
    TestServer& operator*() { return server_; }
    void let_go() {
        lift_limit();
        for (Future<void>& hog : hogs_) {
            unpark(hog.id());
            static_cast<void>(hog.join());
        }
    }

private:
    static ServerOptions options(Nanoseconds queue_delay) {
        ServerOptions options;
        options.stack_bytes = kStackBytes;
        options.limits.queue_delay = queue_delay;
        return options;
    }

    TestServer server_;
    std::vector<Future<void>> hogs_;
};

TEST_F(StrandedDeathTest, HTTP_11j_a_connection_waits_for_the_memory_of_its_fiber) {
    EXPECT_EXIT(
        {
            DryServer dry(30s);
            RawClient client = (*dry).connect();
            client.send(kGet);
            bool stranded = eventually([&] { return (*dry).server().counters().stranded > 1; });
            dry.let_go();
            bool served = client.read_response().ends_with("hello");
            end_with("stranded: " + std::to_string(stranded) +
                     ", served: " + std::to_string(served));
        },
        ::testing::ExitedWithCode(0), "stranded: 1, served: 1");
}

TEST_F(StrandedDeathTest, HTTP_11j_it_is_closed_when_that_takes_too_long) {
    EXPECT_EXIT(
        {
            DryServer dry(50ms);
            RawClient client = (*dry).connect();
            client.send(kGet);
            bool ended = client.is_ended();
            bool gone = eventually([&] { return (*dry).server().connections() == 0; });
            dry.let_go();
            bool drained = (*dry).drain().has_value();
            end_with("ended: " + std::to_string(ended) + ", gone: " + std::to_string(gone) +
                     ", drained: " + std::to_string(drained));
        },
        ::testing::ExitedWithCode(0), "ended: 1, gone: 1, drained: 1");
}

}  // namespace
}  // namespace weft::http
