// Several upstreams: the choice between them, their health, and repeated requests.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weft/async/group.h"
#include "weft/http/proxy/internal/proxy_test.h"
#include "weft/http/proxy/reverse_proxy.h"
#include "weft/http/request.h"
#include "weft/sync/event.h"

namespace weft::http {
namespace {

using namespace testing;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view kPost = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi";

// Servers that answer with their number, and can be stopped one by one.
class Farm {
public:
    static Result<std::unique_ptr<Farm>> start(std::size_t count) {
        auto farm = std::make_unique<Farm>();
        for (std::size_t i = 0; i < count; ++i) WEFT_TRY(farm->add());
        return farm;
    }
    Result<void> stop() {
        for (std::size_t i = 0; i < servers_.size(); ++i) WEFT_TRY(kill(i));
        return {};
    }
    // Ends the requests of a server, and closes its listener.
    Result<void> kill(std::size_t index) {
        if (std::exchange(servers_[index]->is_dead, true)) return {};
        servers_[index]->server.close();
        return servers_[index]->serving.join();
    }

    std::vector<std::string> urls() const {
        std::vector<std::string> all;
        for (const auto& server : servers_) all.push_back(url_of(server->address));
        return all;
    }
    Server& server(std::size_t index) { return servers_[index]->server; }
    Atomic<bool>& is_ill(std::size_t index) { return servers_[index]->is_ill; }
    Event& hold(std::size_t index) { return servers_[index]->hold; }

private:
    struct One {
        explicit One(Handler handler) : server(std::move(handler)) {}
        Atomic<bool> is_ill{false};
        Event hold{Event::State::Set};
        Server server;
        Address address;
        Future<void> serving;
        bool is_dead = false;
    };
    Result<void> add() {
        std::size_t number = servers_.size();
        servers_.push_back(std::make_unique<One>(
            [this, number](Request& request, async::Context&) -> Result<Response> {
                One& self = *servers_[number];
                if (request.path() == "/health" && self.is_ill.load(std::memory_order_relaxed))
                    return Response::plain(500);
                WEFT_TRY(self.hold.wait());
                return Response::text(std::to_string(number));
            }));
        One& self = *servers_.back();
        self.address = WEFT_TRY(self.server.listen(Address::loopback(0)));
        self.serving = spawn([&self] { return self.server.serve(); });
        return {};
    }
    std::vector<std::unique_ptr<One>> servers_;
};

template <class Body>
void with_farm(std::size_t count, ProxyOptions options, Body body) {
    in_runtime(2, [&]() -> Result<void> {
        std::unique_ptr<Farm> farm = WEFT_TRY(Farm::start(count));
        options.upstreams = farm->urls();
        Result<void> outcome =
            with_proxy(options, [&](const Address& address, ReverseProxy& proxy) -> Result<void> {
                return body(*farm, address, proxy);
            });
        WEFT_TRY(farm->stop());
        return outcome;
    });
}

std::map<std::string, int> answers(const Address& address, int count) {
    std::map<std::string, int> counts;
    for (int i = 0; i < count; ++i) ++counts[body_of(get(address))];
    return counts;
}

TEST(Upstreams, HTTP_7_each_in_turn) {
    with_farm(3, {.upstreams = {}},
              [](Farm&, const Address& address, ReverseProxy&) -> Result<void> {
                  EXPECT_EQ(answers(address, 30),
                            (std::map<std::string, int>{{"0", 10}, {"1", 10}, {"2", 10}}));
                  return {};
              });
}

TEST(Upstreams, HTTP_7_the_one_with_the_fewest_requests_under_way) {
    with_farm(2, {.upstreams = {}, .balance = Balance::LeastRequests},
              [](Farm& farm, const Address& address, ReverseProxy& proxy) -> Result<void> {
                  farm.hold(0).reset();
                  farm.hold(1).reset();
                  async::Group group;
                  for (int i = 0; i < 10; ++i) WEFT_TRY(group.go([&] { get(address); }));
                  auto all = proxy.upstreams();
                  EXPECT_TRUE(eventually([&] {
                      all = proxy.upstreams();
                      return all[0].under_way + all[1].under_way == 10;
                  }));
                  // Two workers that choose at the same time may choose the same upstream.
                  EXPECT_NEAR(all[0].under_way, 5, 2);
                  farm.hold(1).set();
                  EXPECT_TRUE(eventually([&] { return proxy.upstreams()[1].under_way == 0; }));
                  EXPECT_EQ(answers(address, 10), (std::map<std::string, int>{{"1", 10}}));
                  farm.hold(0).set();
                  return group.wait();
              });
}

TEST(Upstreams, HTTP_7_the_same_one_for_the_same_client) {
    with_farm(4, {.upstreams = {}, .balance = Balance::ClientAddress},
              [](Farm&, const Address& address, ReverseProxy&) -> Result<void> {
                  EXPECT_EQ(answers(address, 10).size(), 1U);
                  return {};
              });
}

TEST(Upstreams, HTTP_7_a_dead_upstream_is_left_out_after_some_failures_and_tried_again_later) {
    with_farm(2, {.upstreams = {}, .health = {.failures = 2, .out_for = seconds(4)}},
              [](Farm& farm, const Address& address, ReverseProxy& proxy) -> Result<void> {
                  WEFT_TRY(farm.kill(0));
                  // No client notices: a request that cannot be sent goes to the other.
                  EXPECT_EQ(answers(address, 20), (std::map<std::string, int>{{"1", 20}}));
                  EXPECT_FALSE(proxy.upstreams()[0].is_well);
                  std::uint64_t failures = proxy.upstreams()[0].failures;
                  EXPECT_GE(failures, 2U);
                  EXPECT_LE(failures, 6U);
                  EXPECT_TRUE(eventually([&] { return proxy.upstreams()[0].is_well; }));
                  EXPECT_EQ(answers(address, 4), (std::map<std::string, int>{{"1", 4}}));
                  EXPECT_GT(proxy.upstreams()[0].failures, failures);
                  return {};
              });
}

TEST(Upstreams, HTTP_7_none_that_passes_its_check_is_503) {
    in_runtime(1, []() -> Result<void> {
        Address nobody = WEFT_TRY(weft::testing::free_tcp_address());
        return with_proxy(
            {.upstreams = {url_of(nobody)}, .health = {.check_path = "/"}},
            [](const Address& address, ReverseProxy& proxy) -> Result<void> {
                CancelSource source;
                auto checks =
                    spawn([&] { return proxy.check_health(); }, {.token = source.token().state()});
                EXPECT_TRUE(eventually([&] { return !proxy.upstreams()[0].is_well; }));
                std::string response = get(address);
                EXPECT_EQ(status_of(response), 503);
                EXPECT_TRUE(has(response, "retry-after: 1\r\n"));
                source.cancel();
                EXPECT_EQ(kind_of(checks.join()), ErrorKind::Cancelled);
                return {};
            });
    });
}

TEST(Upstreams, HTTP_7_the_last_upstream_is_not_left_out_and_serves_as_soon_as_it_is_back) {
    in_runtime(1, [] {
        Atomic<bool> is_back{false};
        return with_upstream(
            [&](Peer& peer) {
                if (peer.read_request().empty()) return;
                if (is_back.load(std::memory_order_relaxed)) peer.respond("ok");
            },
            [&](const Address& address, ReverseProxy& proxy) -> Result<void> {
                for (int i = 0; i < 5; ++i) EXPECT_EQ(status_of(get(address)), 502);
                EXPECT_FALSE(proxy.upstreams()[0].is_well);
                is_back.store(true, std::memory_order_relaxed);
                EXPECT_EQ(status_of(get(address)), 200);
                return {};
            });
    });
}

TEST(Upstreams, HTTP_7_health_checks_take_an_upstream_out_and_bring_it_back) {
    with_farm(
        2,
        {.upstreams = {}, .health = {.check_path = "/health", .check_interval = milliseconds(2)}},
        [](Farm& farm, const Address& address, ReverseProxy& proxy) -> Result<void> {
            CancelSource source;
            auto checks =
                spawn([&] { return proxy.check_health(); }, {.token = source.token().state()});
            farm.is_ill(1).store(true, std::memory_order_relaxed);
            EXPECT_TRUE(eventually([&] { return !proxy.upstreams()[1].is_well; }));
            EXPECT_EQ(answers(address, 10), (std::map<std::string, int>{{"0", 10}}));
            farm.is_ill(1).store(false, std::memory_order_relaxed);
            EXPECT_TRUE(eventually([&] { return proxy.upstreams()[1].is_well; }));
            EXPECT_EQ(answers(address, 10).size(), 2U);
            source.cancel();
            EXPECT_EQ(kind_of(checks.join()), ErrorKind::Cancelled);
            return {};
        });
}

// ---------------------------------------------------------------- repeats

// Two upstreams: the first takes a request and closes without an answer, the second answers.
template <class Body>
void with_a_quitter(Body body, Atomic<unsigned>& quits) {
    in_runtime(1, [&] {
        return with_server(
            [&](Peer& peer) {
                if (!peer.read_request().empty()) quits.fetch_add(1, std::memory_order_relaxed);
            },
            [&](const Address& quitter) {
                return with_server(
                    [](Peer& peer) {
                        while (!peer.read_request().empty()) peer.respond("answered");
                    },
                    [&](const Address& good) {
                        return with_proxy(
                            {.upstreams = {url_of(quitter), url_of(good)},
                             .health = {.failures = 0}},
                            [&](const Address& address, ReverseProxy&) { return body(address); });
                    });
            });
    });
}

TEST(Upstreams, HTTP_7_a_request_that_may_be_repeated_goes_to_another_upstream) {
    Atomic<unsigned> quits{0};
    with_a_quitter(
        [](const Address& address) -> Result<void> {
            for (int i = 0; i < 10; ++i) EXPECT_EQ(body_of(get(address)), "answered");
            return {};
        },
        quits);
    EXPECT_EQ(quits.load(std::memory_order_relaxed), 5U);
}

TEST(Upstreams, HTTP_7_a_request_that_may_not_be_repeated_is_not) {
    for (std::string_view request :
         {kPost, std::string_view("POST / HTTP/1.1\r\nHost: a\r\n\r\n"),
          std::string_view("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi")}) {
        Atomic<unsigned> quits{0};
        with_a_quitter(
            [&](const Address& address) -> Result<void> {
                int failed = 0;
                for (int i = 0; i < 4; ++i) failed += status_of(ask(address, request)) == 502;
                EXPECT_EQ(failed, 2) << request;
                return {};
            },
            quits);
        EXPECT_EQ(quits.load(std::memory_order_relaxed), 2U);
    }
}

TEST(Upstreams, HTTP_7_nothing_is_repeated_after_a_byte_of_a_response) {
    Atomic<unsigned> asked{0};
    auto serve = [&](Peer& peer) {
        peer.read_request();
        asked.fetch_add(1, std::memory_order_relaxed);
        peer.say("HTTP/1.1 2");
    };
    in_runtime(1, [&] {
        return with_server(serve, [&](const Address& one) {
            return with_server(serve, [&](const Address& two) {
                return with_proxy({.upstreams = {url_of(one), url_of(two)}},
                                  [](const Address& address, ReverseProxy&) -> Result<void> {
                                      EXPECT_EQ(status_of(get(address)), 502);
                                      return {};
                                  });
            });
        });
    });
    EXPECT_EQ(asked.load(std::memory_order_relaxed), 1U);
}

TEST(Upstreams, HTTP_7_a_kept_connection_that_was_closed_is_no_failure_of_the_upstream) {
    in_runtime(1, [] {
        return with_upstream(
            [](Peer& peer) {
                // Answers one request on each connection, and closes at the second.
                if (peer.read_request().empty()) return;
                peer.respond("once");
                peer.read_request();
            },
            [](const Address& address, ReverseProxy& proxy) -> Result<void> {
                for (int i = 0; i < 10; ++i) EXPECT_EQ(body_of(get(address)), "once");
                EXPECT_EQ(proxy.upstreams()[0].failures, 0U);
                return {};
            });
    });
}

TEST(Upstreams, HTTP_7_an_upstream_killed_under_load_fails_only_what_it_had) {
    with_farm(3, {.upstreams = {}, .health = {.out_for = seconds(60)}},
              [](Farm& farm, const Address& address, ReverseProxy&) -> Result<void> {
                  farm.hold(0).reset();
                  constexpr int kEach = 40;
                  Atomic<int> good{0};
                  Atomic<int> bad{0};
                  async::Group group;
                  for (int fiber = 0; fiber < 12; ++fiber) {
                      WEFT_TRY(group.go([&]() -> Result<void> {
                          RawPeer client = WEFT_TRY(RawPeer::connect(address));
                          for (int i = 0; i < kEach; ++i) {
                              // The request is not idempotent, so that a failure is seen.
                              std::string response = client.ask(kPost);
                              bool answered = status_of(response) == 200;
                              (answered ? good : bad).fetch_add(1, std::memory_order_relaxed);
                          }
                          return {};
                      }));
                  }
                  // Wait until every client has a request at the server that is killed.
                  EXPECT_TRUE(eventually([&] { return farm.server(0).connections() == 12; }));
                  farm.server(0).close();
                  WEFT_TRY(group.wait());
                  // The requests it had, and those sent to it before its end was noticed.
                  EXPECT_GE(bad.load(std::memory_order_relaxed), 12);
                  EXPECT_LE(bad.load(std::memory_order_relaxed), 24);
                  EXPECT_EQ(
                      good.load(std::memory_order_relaxed) + bad.load(std::memory_order_relaxed),
                      12 * kEach);
                  return {};
              });
}

}  // namespace
}  // namespace weft::http
