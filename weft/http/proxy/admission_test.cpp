#include "weft/http/proxy/internal/admission.h"

#include <gtest/gtest.h>

#include <list>
#include <optional>
#include <string>
#include <vector>

#include "weft/async/group.h"
#include "weft/fiber/fiber.h"
#include "weft/testing/eventually.h"
#include "weft/testing/sockets.h"

namespace weft::http {
namespace {

using namespace testing;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Pass = Admission::Pass;

net::Address client(const std::string& ip) { return {net::IpAddress::parse(ip).value(), 40'000}; }

ProxyOptions with(std::size_t connections, std::size_t waiting = 100) {
    return {.upstreams = {},
            .limits = {.connections_per_origin = connections, .waiting_per_origin = waiting}};
}

// Takes passes for a client until it would have to wait; returns how many it got.
std::size_t take_all(Admission& admission, const std::string& ip, std::list<Pass>& passes) {
    for (std::size_t count = 0;; ++count) {
        auto pass = admission.enter(client(ip), Nanoseconds(0));
        if (!pass) return count;
        passes.push_back(std::move(*pass));
    }
}

TEST(Admission, HTTP_7k_a_client_has_at_most_as_many_as_are_free_for_others) {
    in_runtime(1, []() -> Result<void> {
        Admission admission(with(256));
        std::list<Pass> passes;
        EXPECT_EQ(take_all(admission, "10.0.0.1", passes), 128U);
        EXPECT_EQ(take_all(admission, "10.0.0.2", passes), 64U);
        // Every further client gets at least one.
        for (int i = 3; i < 6; ++i)
            EXPECT_GE(take_all(admission, "10.0.0." + std::to_string(i), passes), 1U);
        passes.clear();
        EXPECT_EQ(take_all(admission, "10.0.0.9", passes), 128U);
        return {};
    });
}

TEST(Admission, HTTP_7k_a_client_of_ipv6_is_the_first_half_of_its_address) {
    in_runtime(1, []() -> Result<void> {
        Admission admission(with(64));
        std::list<Pass> passes;
        EXPECT_EQ(take_all(admission, "2001:db8::1", passes), 32U);
        EXPECT_EQ(take_all(admission, "2001:db8::ffff:2", passes), 0U);
        EXPECT_EQ(take_all(admission, "2001:db8:0:1::1", passes), 16U);
        // One client, in both notations of its address.
        EXPECT_EQ(take_all(admission, "10.0.0.1", passes), 8U);
        EXPECT_EQ(take_all(admission, "::ffff:10.0.0.1", passes), 0U);
        return {};
    });
}

// All clients of a Unix socket have the same address, most likely because of another proxy.
TEST(Admission, HTTP_7k_clients_without_an_address_are_not_one_client) {
    in_runtime(1, []() -> Result<void> {
        Admission admission(with(8));
        std::list<Pass> passes;
        net::Address local = WEFT_TRY(net::Address::unix_path("/run/proxy.sock"));
        for (int i = 0; i < 8; ++i)
            passes.push_back(WEFT_TRY(admission.enter(local, Nanoseconds(0))));
        EXPECT_EQ(kind_of(admission.enter(local, Nanoseconds(0))), ErrorKind::TimedOut);
        return {};
    });
}

TEST(Admission, HTTP_7k_a_stream_leaves_its_place_to_the_next) {
    in_runtime(1, []() -> Result<void> {
        ProxyOptions options = with(1);
        options.streams_per_upstream = 2;
        Admission admission(options);
        Pass first = WEFT_TRY(admission.enter(client("10.0.0.1"), seconds(1)));
        Result<void> second = ErrorKind::Other;
        async::Group group;
        WEFT_TRY(group.go([&]() -> Result<void> {
            Pass pass = WEFT_TRY(admission.enter(client("10.0.0.1"), seconds(10)));
            second = {};
            EXPECT_FALSE(pass.become_stream());
            return {};
        }));
        yield();
        EXPECT_FALSE(second);
        EXPECT_TRUE(first.become_stream());
        WEFT_TRY(group.wait());
        EXPECT_TRUE(second);
        return {};
    });
}

TEST(Admission, HTTP_7k_the_line_is_served_in_order_but_for_those_who_have_enough) {
    in_runtime(1, []() -> Result<void> {
        Admission admission(with(2));
        std::optional<Pass> mine(WEFT_TRY(admission.enter(client("10.0.0.1"), seconds(1))));
        std::optional<Pass> others(WEFT_TRY(admission.enter(client("10.0.0.2"), seconds(1))));
        std::vector<std::string> order;
        async::Group group;
        for (const char* ip : {"10.0.0.1", "10.0.0.3", "10.0.0.4"}) {
            WEFT_TRY(group.go([&, ip]() -> Result<void> {
                Pass pass = WEFT_TRY(admission.enter(client(ip), seconds(10)));
                order.push_back(ip);
                return {};
            }));
            yield();
        }
        // One becomes free. The first client in the queue holds one already, so it goes on waiting.
        others.reset();
        EXPECT_TRUE(eventually([&] { return order.size() == 2; }));
        mine.reset();
        WEFT_TRY(group.wait());
        EXPECT_EQ(order, (std::vector<std::string>{"10.0.0.3", "10.0.0.4", "10.0.0.1"}));
        return {};
    });
}

TEST(Admission, HTTP_7k_one_client_does_not_fill_the_line) {
    in_runtime(1, []() -> Result<void> {
        Admission admission(with(1, 4));
        std::optional<Pass> pass(WEFT_TRY(admission.enter(client("10.0.0.1"), seconds(1))));
        async::Group group;
        int refused = 0;
        for (int i = 0; i < 5; ++i) {
            WEFT_TRY(group.go([&]() -> Result<void> {
                auto next = admission.enter(client("10.0.0.1"), seconds(10));
                if (!next && next.error().kind() == ErrorKind::Limit) ++refused;
                return {};
            }));
        }
        EXPECT_TRUE(eventually([&] { return refused == 3; }));
        EXPECT_EQ(kind_of(admission.enter(client("10.0.0.2"), milliseconds(1))),
                  ErrorKind::TimedOut);
        pass.reset();
        return group.wait();
    });
}

// If a waiter is admitted at the moment its time runs out, it or another waiter has the place.
TEST(Admission, HTTP_7k_no_place_is_lost_when_patience_ends_as_one_gets_free) {
    in_runtime(4, []() -> Result<void> {
        Admission admission(with(3));
        async::Group group;
        for (int fiber = 0; fiber < 16; ++fiber) {
            WEFT_TRY(group.go([&, fiber]() -> Result<void> {
                for (int i = 0; i < 200; ++i) {
                    std::string ip = "10.0.0." + std::to_string(fiber % 5);
                    auto pass = admission.enter(client(ip), std::chrono::microseconds(i % 50));
                    if (pass) yield();
                }
                return {};
            }));
        }
        WEFT_TRY(group.wait());
        std::list<Pass> passes;
        EXPECT_EQ(take_all(admission, "10.0.1.1", passes), 2U);
        EXPECT_EQ(take_all(admission, "10.0.1.2", passes), 1U);
        return {};
    });
}

}  // namespace
}  // namespace weft::http
