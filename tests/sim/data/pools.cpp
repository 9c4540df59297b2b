#include <chrono>
#include <memory>
#include <optional>

#include "tests/sim/data/scenarios.h"
#include "tests/sim/floor/crew.h"
#include "weft/data/failure.h"
#include "weft/data/pool.h"
#include "weft/fiber/cancel.h"
#include "weft/testing/fake_database.h"

namespace weft::sim::scenarios {
namespace {

using namespace std::chrono_literals;
using data::Cause;
using data::Lease;
using data::Pool;
using data::PoolOptions;
using data::PoolStats;
using data::Statement;
using testing::fake::FakeProvider;
using testing::fake::Server;

// A pool over a server that can be made to fail, and what must be true of it.
class Stage {
public:
    Stage() : pool(std::make_unique<FakeProvider>(server), options(), "sim") {}

    // One who uses it: for a while, tidily or not.
    void use() {
        std::optional<CancelScope> scope;
        if (coin())
            scope.emplace(CancelSource::with_deadline(Deadline::after(up_to_us(60))).token());
        Result<Lease> lease = pool.acquire("user");
        if (!lease) return check(lease.error());
        require(++users <= connections_max, "more users than connections");
        require((*lease)->state() == data::ConnectionState::Idle, "a dirty connection");
        constexpr const char* kManners[] = {"yield", "yield", "begin", "break", "nothing"};
        Statement statement(kManners[random_below(std::size(kManners))]);
        require((*lease)->run(statement, {}).has_value(), "the fake runs everything");
        if (random_below(4) == 0) static_cast<void>(sleep_for(up_to_us(20)));
        --users;
    }
    void change_server() {
        server->refuses.set(coin() ? 1 : 0);
        some_yields();
        server->is_lost.set(coin() ? 1 : 0);
        some_yields();
        server->refuses.set(0);
        server->is_lost.set(0);
    }
    // When nobody uses it. The pool itself may at any moment be closing a connection that has idled
    // for too long, so what is not whole yet is looked at again; what was lost never comes back.
    void require_whole() {
        PoolStats stats = pool.stats();
        int alive = server->alive.get();
        for (Nanoseconds wait = 1us; wait < 2s; wait *= 2) {
            if (stats.in_use == 0 && static_cast<int>(stats.connections) == alive) break;
            static_cast<void>(sleep_for(wait));
            stats = pool.stats();
            alive = server->alive.get();
        }
        require(stats.in_use == 0, "a slot was lost");
        require(stats.waiting == 0, "somebody waits for ever");
        require(static_cast<int>(stats.connections) == alive, "a connection was lost");
        require(server->most_alive.get() <= connections_max, "more connections than allowed");
    }
    void require_closed() {
        require(pool.close(Deadline::never()).has_value(), "it closes");
        require(server->alive.get() == 0, "a connection outlived its pool");
    }

    const int connections_max = between(1, 3);
    std::shared_ptr<Server> server = std::make_shared<Server>();
    Pool pool;
    int users = 0;  // the machine has one thread

private:
    PoolOptions options() const {
        PoolOptions chosen;
        chosen.connections_max = static_cast<std::size_t>(connections_max);
        chosen.acquire_timeout = coin() ? 20s : Nanoseconds(up_to_us(80));
        chosen.waiters_max = coin() ? 256 : 1;
        chosen.idle_timeout = coin() ? 10us : 1min;
        chosen.lifetime_max = coin() ? 50us : 30min;
        chosen.validate_after = coin() ? 1us : 30s;
        chosen.backoff_initial = 5us;
        chosen.backoff_max = 40us;
        chosen.leak_after = 0s;
        return chosen;
    }
    void check(const Error& error) const {
        Cause cause = data::cause_of(error);
        bool expected = cause == Cause::PoolExhausted || cause == Cause::Closed ||
                        cause == Cause::Cancelled || cause == Cause::TimedOut ||
                        cause == Cause::Connection;
        require(expected, "an odd error of a pool");
    }
};

}  // namespace

// Whatever its users do and whatever befalls the server, no slot is lost and nobody gets a
// connection that another has left dirty.
void data_pool_users() {
    Runtime runtime({.workers = some_workers()});
    Stage stage;
    {
        Crew crew(runtime);
        for (int n = between(2, 6); n > 0; --n) {
            crew.add([&] {
                for (int i = between(1, 3); i > 0; --i) stage.use();
            });
        }
        crew.add([&] { stage.change_server(); });
    }
    stage.require_whole();
    stage.require_closed();
}

// A waiter that is cancelled at one exact step has got nothing, and leaves nothing.
void data_pool_cancel_anywhere() {
    Runtime runtime({.workers = some_workers()});
    Stage stage;
    CancelSource source = CancelSource::detached();
    {
        Crew crew(runtime);
        for (int n = between(2, 5); n > 0; --n) {
            crew.add([&] {
                std::optional<CancelScope> scope;
                if (coin()) scope.emplace(source.token());
                for (int i = between(1, 2); i > 0; --i) stage.use();
            });
        }
        crew.add([&] {
            await_interrupt();
            source.cancel();
        });
    }
    stage.require_whole();
    stage.require_closed();
}

// Closed at one exact step: everybody comes to an end, and so does every connection.
void data_pool_close_anywhere() {
    Runtime runtime({.workers = some_workers()});
    Stage stage;
    Instant closed_at = Clock::now();
    {
        Crew crew(runtime);
        for (int n = between(2, 5); n > 0; --n) {
            crew.add([&] {
                for (int i = between(1, 2); i > 0; --i) stage.use();
            });
        }
        crew.add([&] {
            await_interrupt();
            closed_at = Clock::now();
            stage.require_closed();
        });
    }
    // Those who waited were told, and did not find out by their timeouts, one of which is 20 s.
    require(Clock::now() - closed_at < 10s, "the end of the pool did not wake everybody");
    stage.require_whole();
}

}  // namespace weft::sim::scenarios
