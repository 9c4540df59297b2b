// A proxy whose upstreams are killed, stopped and started again under load.
// tidy: allow-file sleep: upstreams die at moments that nobody announces
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <vector>

#include "tests/stress/service.h"
#include "weft/base/atomic.h"
#include "weft/fiber/runtime.h"
#include "weft/http/client/client.h"
#include "weft/http/proxy/reverse_proxy.h"
#include "weft/http/server/server.h"
#include "weft/testing/eventually.h"
#include "weft/testing/scale.h"

namespace weft::stress {
namespace {

using namespace std::chrono_literals;

// Two upstreams in processes of their own, and a proxy before them in this one.
class Ground {
public:
    // An upstream has as long for the head of its answer.
    Result<void> start(std::chrono::seconds head_time) {
        http::ProxyOptions options;
        for (std::optional<Service>& upstream : upstreams_) {
            upstream.emplace(WEFT_TRY(Service::start({WEFT_HELLO_PROGRAM, "127.0.0.1:0"})));
            options.upstreams.push_back("http://" + upstream->address().to_string());
        }
        options.timeouts.head = head_time;
        options.health.out_for = 100ms;
        proxy_.emplace(WEFT_TRY(http::ReverseProxy::create(std::move(options))));
        server_.emplace(proxy_->handler());
        address_ = WEFT_TRY(server_->listen(net::Address::loopback(0)));
        serving_ = spawn([this] { return server_->serve(); });
        return {};
    }
    Result<void> stop() {
        server_->drain();
        WEFT_TRY(serving_.join(Deadline::after(kPatience)));
        for (std::optional<Service>& upstream : upstreams_) WEFT_TRY(upstream->stop());
        return {};
    }

    Service& upstream(std::size_t index) { return *upstreams_[index]; }
    // As its supervisor would: at once, at the same address.
    Result<void> restart(std::size_t index) {
        std::string address = upstream(index).address().to_string();
        WEFT_TRY(upstream(index).process().kill(SIGKILL));
        WEFT_TRY(upstream(index).process().wait(Deadline::after(kPatience)));
        // The kernel may still be taking apart what the killed one had: its ring holds the
        // listener.
        for (Deadline late = Deadline::after(kPatience);;) {
            Result<Service> started = Service::start({WEFT_HELLO_PROGRAM, address});
            if (!started && !late.expired(Clock::now())) {
                WEFT_TRY(sleep_for(20ms));
                continue;
            }
            upstreams_[index].emplace(WEFT_TRY(std::move(started)));
            return {};
        }
    }
    std::uint64_t asked_of(std::size_t index) const { return proxy_->upstreams()[index].requests; }
    std::string url() const { return "http://" + address_.to_string() + "/"; }

private:
    std::array<std::optional<Service>, 2> upstreams_;
    std::optional<http::ReverseProxy> proxy_;
    std::optional<http::Server> server_;
    net::Address address_;
    Future<void> serving_;
};

constexpr std::uint64_t kClients = 16;

struct Load {
    // Relaxed, all: numbers, read when everybody has been joined.
    static constexpr auto kRelaxed = std::memory_order_relaxed;

    explicit Load(const Ground& ground) {
        for (std::uint64_t index = 0; index < kClients; ++index) {
            clients.push_back(spawn([this, &ground]() -> Result<void> {
                while (!over.load(kRelaxed)) {
                    auto response = client.get(ground.url());
                    bool good = response && response->status == 200 && response->read_all();
                    (good ? answered : failed).fetch_add(1, kRelaxed);
                }
                return {};
            }));
        }
    }
    Result<void> end() {
        over.store(true, kRelaxed);
        for (auto& each : clients) WEFT_TRY(each.join());
        return {};
    }

    http::Client client;
    Atomic<bool> over{false};
    Atomic<std::uint64_t> answered{0};
    Atomic<std::uint64_t> failed{0};
    std::vector<Future<void>> clients;
};

TEST(Upstreams, HTTP_7_no_request_fails_while_upstreams_are_killed_in_turn) {
    std::size_t rounds = weft::testing::is_long() ? 60 : 6;
    auto outcome = run([&]() -> Result<void> {
        Ground ground;
        // One that was killed says so at once; one that is only slow must not fail.
        WEFT_TRY(ground.start(kPatience));
        Load load(ground);
        for (std::size_t round = 0; round < rounds; ++round) {
            WEFT_TRY(sleep_for(100ms + std::chrono::milliseconds(round * 7 % 50)));
            WEFT_TRY(ground.restart(round % 2));
        }
        WEFT_TRY(load.end());
        EXPECT_EQ(load.failed.load(Load::kRelaxed), 0U);
        EXPECT_GT(load.answered.load(Load::kRelaxed), 100U);
        return ground.stop();
    });
    EXPECT_TRUE(outcome) << outcome.error().message();
}

// One that hangs without a word: what it was asked fails when its time is over, and others go on.
TEST(Upstreams, HTTP_7_an_upstream_that_was_stopped_is_left_out_until_it_goes_on) {
    auto outcome = run([&]() -> Result<void> {
        Ground ground;
        WEFT_TRY(ground.start(1s));
        Load load(ground);
        WEFT_TRY(sleep_for(100ms));
        Instant stopped = Clock::now();
        WEFT_TRY(ground.upstream(0).process().kill(SIGSTOP));
        WEFT_TRY(sleep_for(1500ms));
        std::uint64_t failed = load.failed.load(Load::kRelaxed);
        // Each client waits there for a second at a time, so it was there twice at most; more often
        // only where the sleep took longer.
        auto times = static_cast<std::uint64_t>((Clock::now() - stopped) / 1s) + 1;
        EXPECT_LE(failed, kClients * times);
        WEFT_TRY(ground.upstream(0).process().kill(SIGCONT));
        // Far more than could wait there while it was stopped.
        std::uint64_t asked = ground.asked_of(0);
        EXPECT_TRUE(weft::testing::eventually([&] { return ground.asked_of(0) > asked + 500; }));
        WEFT_TRY(load.end());
        return ground.stop();
    });
    EXPECT_TRUE(outcome) << outcome.error().message();
}

}  // namespace
}  // namespace weft::stress
