#include "tests/sim/floor/memory.h"

#include <array>
#include <memory>
#include <vector>

#include "tests/sim/floor/crew.h"
#include "tests/sim/floor/jobs.h"
#include "tests/sim/floor/traffic.h"
#include "weft/async/combine.h"
#include "weft/async/group.h"
#include "weft/async/periodic.h"
#include "weft/async/pool.h"
#include "weft/async/retry.h"
#include "weft/async/scope.h"
#include "weft/async/shared_task.h"
#include "weft/async/supervisor.h"
#include "weft/async/task.h"
#include "weft/async/timeout.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/graceful_stop.h"
#include "weft/fiber/io.h"
#include "weft/sync/channel.h"
#include "weft/sync/wait_group.h"
#ifdef WEFT_NET
#include "weft/net/dial.h"
#include "weft/net/resolver.h"
#include "weft/net/socket.h"
#endif

namespace weft::sim::scenarios {
namespace {

// Starts a fiber that must not fail; as often as it takes.
template <class Function>
auto spawn_at_last(Runtime& runtime, Function function) {
    for (;;) {
        auto future = runtime.spawn(function);
        if (future) return future;
        require(is_error(future.join(), ErrorKind::OutOfMemory), "a spawn gave an odd error");
        env::step();
    }
}

}  // namespace

// A spawn fails at once, or its join says that there was no stack; the others are not disturbed.
void spawn_without_memory() {
    Runtime runtime({.workers = some_workers()});
    int ran = 0;
    int expected = 0;
    int closures = 0;
    struct Captured {
        int* count;
        explicit Captured(int* live) : count(live) { ++*count; }
        Captured(const Captured& other) : count(other.count) { ++*count; }
        Captured& operator=(const Captured&) = delete;
        ~Captured() { --*count; }
    };
    {
        std::vector<Future<int>> fibers;
        Captured captured(&closures);
        for (int i = between(1, 8); i > 0; --i) {
            fibers.push_back(runtime.spawn([&ran, captured]() -> int {
                some_yields();
                ++ran;
                Future<void> child = spawn([captured] { some_yields(); });
                Result<void> joined = child.join();
                require(joined || is_error(joined, ErrorKind::OutOfMemory), "an odd error");
                return 1;
            }));
        }
        for (auto& fiber : fibers) {
            Result<int> joined = fiber.join();
            require(joined || is_error(joined, ErrorKind::OutOfMemory), "an odd error");
            expected += joined.value_or(0);
        }
        require(ran == expected, "a fiber ran and failed, or the other way round");
    }
    runtime.run();
    require(closures == 0, "a closure was lost, or destroyed twice");
    require(runtime.live_fibers() == 0, "a fiber that never ran is counted as live");
}

// A send that finds no memory leaves the item with its sender.
void channel_without_memory() {
    Runtime runtime({.workers = some_workers()});
    constexpr int kItems = 20;
    Ledger ledger(1, kItems);
    std::unique_ptr<Channel<Item>> channel = some_channel();
    auto sender = spawn_at_last(runtime, [&] {
        for (int number = 0; number < kItems; ++number) {
            Item item(0, number);
            Result<void> sent = channel->send(std::move(item));
            if (sent) {
                ledger.sent(0, number, item);
                continue;
            }
            require(is_error(sent, ErrorKind::OutOfMemory), "a send gave an odd error");
            ledger.kept(0, number, item);
        }
        channel->close();
    });
    Order order(1);
    auto take = [&](const Item& item) {
        ledger.received(item);
        order.next(item);
    };
    // A fiber that got no stack never closes.
    while (!sender.is_done()) {
        Result<Item> item = channel->receive_for(up_to_us(20));
        if (item) take(*item);
        if (is_error(item, ErrorKind::Closed)) break;
    }
    Result<void> joined = sender.join();
    require(joined || is_error(joined, ErrorKind::OutOfMemory), "an odd error");
    channel->close();
    for (Result<Item> item : *channel) take(*item);
    ledger.check();
}

// A wait on a descriptor needs a registration.
void pipe_without_memory() {
    Runtime runtime({.workers = some_workers()});
    Result<Pipe> pipe = make_pipe();
    require(pipe.has_value(), "no pipe could be made");
    bool read = false;
    auto reader = runtime.spawn([&]() -> Result<void> {
        std::array<std::byte, 1> buffer;
        for (;;) {
            Result<std::size_t> count = pipe->reader.read(buffer);
            if (is_error(count, ErrorKind::OutOfMemory)) {
                yield();
                continue;
            }
            require(count.has_value() && *count == 1, "a read gave an odd error");
            read = true;
            return {};
        }
    });
    bool started = static_cast<bool>(reader);
    Result<void> written = ErrorKind::OutOfMemory;
    while (is_error(written, ErrorKind::OutOfMemory))
        written = pipe->writer.write_all(as_bytes("w"));
    require(written.has_value(), "a write gave an odd error");
    Result<void> joined = reader.join();
    require(joined || is_error(joined, ErrorKind::OutOfMemory), "an odd error");
    require(read == joined.has_value() && (started || !read), "it ran and failed, or the reverse");
}

// A stop that finds no memory for its fibers cancels at once; nobody waits for ever.
void stop_without_memory() {
    Runtime runtime({.workers = some_workers()});
    require(runtime.start().has_value(), "the runtime did not start");
    Result<GracefulStop> stop = GracefulStop::on_signals(runtime);
    require(stop.has_value(), "there is no stop");
    int called = 0;
    DrainHook hook = stop->on_drain([&] { ++called; });
    Future<void> stubborn = runtime.spawn([] { return park(); });
    if (coin()) static_cast<void>(sleep_for(up_to_us(20)));
    stop->begin();
    runtime.run();
    require(called <= 1, "a hook was called twice");
    Result<void> ended = stubborn.join();
    require(is_error(ended, ErrorKind::Cancelled) || is_error(ended, ErrorKind::OutOfMemory) ||
                is_error(ended, ErrorKind::Closed),
            "who never ends was not cancelled");
}

namespace {

using namespace std::chrono_literals;

Result<void> group_of(Jobs& jobs) {
    async::Group group;
    for (int i = between(1, 3); i > 0; --i) static_cast<void>(group.go(jobs.some_job()));
    return group.wait();
}

Result<void> pool_of(Jobs& jobs) {
    async::Pool pool = *async::Pool::create({.workers = 1, .queue_size = 1});
    for (int i = between(1, 3); i > 0; --i) static_cast<void>(pool.submit(jobs.some_job()));
    return pool.close();
}

Result<void> scope_of(Jobs& jobs) {
    return async::run_scope(async::ScopeKind::Request, [&](async::Scope& scope) {
        for (int i = between(1, 3); i > 0; --i)
            static_cast<void>(scope.spawn("job", jobs.some_job()));
    });
}

Result<void> task_of(Jobs& jobs) {
    if (coin()) return WEFT_TRY(async::run_task(jobs.some_job()))
    .wait();
    async::SharedTask<void> shared = WEFT_TRY(async::run_shared(jobs.some_job()));
    auto next = shared.then([] {});
    Result<void> followed = next ? next->wait() : next.error();
    Result<void> own = shared.wait();  // it goes on by itself when nothing can follow
    return followed ? own : followed;
}

Result<void> settled_of(Jobs& jobs) {
    auto [one, two] = async::all_settled(jobs.some_job(), jobs.some_job());
    return one ? two : one;
}

Result<void> hedge_of(Jobs& jobs) {
    // The delay is long: a rival for an attempt that never began must not wait for it.
    return async::hedge({.delay = 1h, .attempts_max = 3},
                        [&](Context& context) { return jobs.some_job()(context); });
}

Result<void> supervisor_of(Jobs& jobs) {
    async::Supervisor supervisor;
    for (int i = between(1, 2); i > 0; --i)
        WEFT_TRY(supervisor.add("job", [&](Context& context) { return jobs.some_job()(context); }));
    return supervisor.run();
}

Result<void> some_jobs(Jobs& jobs) {
    switch (between(0, 8)) {
    case 0: return group_of(jobs);
    case 1: return pool_of(jobs);
    case 2: return scope_of(jobs);
    case 3: return task_of(jobs);
    case 4: return settled_of(jobs);
    case 5: return hedge_of(jobs);
    case 6: return supervisor_of(jobs);
    case 7:
        return coin() ? async::any(jobs.some_job(), jobs.some_job())
                      : async::race(jobs.some_job(), jobs.some_job());
    default: return async::with_timeout(1h, jobs.some_job());
    }
}

}  // namespace

// A job that gets no block or no stack has ended with that error: nobody waits for it in vain.
void jobs_without_memory() {
    Runtime runtime({.workers = some_workers()});
    InRuntime here(runtime);
    Jobs jobs;
    Instant begun = Clock::now();
    for (int i = between(1, 3); i > 0; --i) {
        Result<void> outcome = some_jobs(jobs);
        jobs.require_none_alive();
        bool expected = outcome || is_error(outcome, ErrorKind::OutOfMemory) ||
                        is_error(outcome, ErrorKind::Limit);
        if (!expected) jobs.require_own(outcome.error());
    }
    require(Clock::now() - begun < 1h, "somebody waited for a job that never began");
}

#ifdef WEFT_NET

// An attempt that never begins is one that has failed: nobody waits for its end.
void dial_without_memory() {
    Runtime runtime({.workers = some_workers()});
    Result<net::Listener> listener = ErrorKind::OutOfMemory;
    while (is_error(listener, ErrorKind::OutOfMemory))
        listener = net::Listener::open(net::Address::loopback(0));
    require(listener.has_value(), "no listener could be opened");
    net::IpAddress here = net::IpAddress::loopback();
    net::IpAddress nobody = net::IpAddress::parse("127.0.0.2").value();
    std::vector<net::IpAddress> addresses = {coin() ? here : nobody, nobody, here};
    if (coin()) addresses.pop_back();
    net::Resolver resolver({.table = {{"a.test", addresses}}});
    Instant begun = Clock::now();
    Future<void> dialling = runtime.spawn([&] {
        Result<net::Socket> socket = net::dial(resolver, "a.test", listener->address().port(),
                                               Deadline::never(), {.attempt_delay = 1h});
        require(socket || is_error(socket, ErrorKind::OutOfMemory) ||
                    is_error(socket, ErrorKind::Refused),
                "a dial gave an odd error");
    });
    Result<void> ended = dialling.join();
    require(ended || is_error(ended, ErrorKind::OutOfMemory), "an odd error");
    require(Clock::now() - begun < 1h, "a dial waited for an attempt that never began");
}

#endif

}  // namespace weft::sim::scenarios
