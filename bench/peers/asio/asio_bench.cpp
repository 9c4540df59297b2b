// The Boost.Asio peer, C++20 coroutines: `asio_bench <metric> [count]`, or `asio_bench echo
// <port>`. WORKERS is the number of threads that run the io_context. Coroutines are stackless, so
// memory is a different class. Boost 1.74 has no channel, no asynchronous mutex and no join of
// many.
// clang-format off: Boost 1.74's awaitable.hpp uses std::exchange without including <utility>
#include <utility>
// clang-format on

#include <unistd.h>

#include <array>
#include <boost/asio.hpp>
#include <chrono>
#include <thread>
#include <vector>

#include "bench/common/measure.h"
#include "bench/common/workload.h"

namespace {

namespace asio = boost::asio;
using asio::awaitable;
using asio::detached;
using asio::use_awaitable;
using asio::ip::tcp;
using bench::Stopwatch;

constexpr int kListenBacklog = 4096;
constexpr std::size_t kBufferBytes = 4096;
constexpr std::size_t kTimerBatch = 1024;

const unsigned workers = bench::workers_from("WORKERS");
const bench::Reporter reporter("asio", workers);

// The hint of 1 lets Asio leave out its locks for a single thread.
asio::io_context& context() {
    static asio::io_context io(static_cast<int>(workers));
    return io;
}

void run_until_done() {
    std::vector<std::thread> others;
    for (unsigned i = 1; i < workers; ++i) others.emplace_back([] { context().run(); });
    context().run();
    for (auto& thread : others) thread.join();
}

awaitable<void> yield_times(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) co_await asio::post(context(), use_awaitable);
}

void yield(std::size_t count) {
    const std::size_t total = 2 * workers;
    const Stopwatch watch;
    for (std::size_t f = 0; f < total; ++f) {
        asio::co_spawn(context(), yield_times(count / total), detached);
    }
    run_until_done();
    reporter.report("yield", watch.nanoseconds_each(count), "ns/switch");
}

awaitable<void> nothing() { co_return; }

void spawn(std::size_t count) {
    const Stopwatch watch;
    for (std::size_t i = 0; i < count; ++i) asio::co_spawn(context(), nothing(), detached);
    run_until_done();
    reporter.report("spawn", watch.nanoseconds_each(count), "ns/fiber");
}

awaitable<void> spawn_and_join(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        co_await asio::co_spawn(context(), nothing(), use_awaitable);
    }
}

void spawn_join(std::size_t count) {
    const Stopwatch watch;
    asio::co_spawn(context(), spawn_and_join(count), detached);
    run_until_done();
    reporter.report("spawnjoin", watch.nanoseconds_each(count), "ns/fiber");
}

awaitable<void> fib_and_yields() {
    bench::fib(20);
    co_await yield_times(bench::kFibYields);
}

void fibonacci(std::size_t count) {
    const Stopwatch watch;
    for (std::size_t i = 0; i < count; ++i) asio::co_spawn(context(), fib_and_yields(), detached);
    run_until_done();
    reporter.report("fib", watch.nanoseconds_each(count), "ns/fiber");
}

awaitable<void> sleep_once(std::chrono::milliseconds duration) {
    asio::steady_timer timer(context(), duration);
    co_await timer.async_wait(use_awaitable);
}

void sleep(std::size_t count) {
    bench::SleepTimes times;
    const Stopwatch watch;
    for (std::size_t i = 0; i < count; ++i) {
        asio::co_spawn(context(), sleep_once(times.next()), detached);
    }
    run_until_done();
    reporter.report("sleep", watch.milliseconds(), "ms");
    reporter.report("sleep_cpu", bench::cpu_nanoseconds() / 1e6, "ms");
    reporter.report("sleep_rss", bench::peak_resident_megabytes(), "MB");
}

void timer(std::size_t count) {
    asio::steady_timer timer(context());
    const Stopwatch watch;
    for (std::size_t i = 0; i < count; ++i) {
        timer.expires_after(std::chrono::hours(1));
        timer.async_wait([](boost::system::error_code) {});
        timer.cancel();
        // A cancelled wait still completes, with an error: run those before they pile up.
        if (i % kTimerBatch == 0) {
            context().poll();
            context().restart();
        }
    }
    reporter.report("timer", watch.nanoseconds_each(count), "ns/timer");
}

awaitable<void> park_on(asio::steady_timer& never, std::size_t& arrived) {
    ++arrived;
    co_await never.async_wait(use_awaitable);
}

void park(std::size_t count) {
    asio::steady_timer never(context(), std::chrono::hours(1));
    std::size_t arrived = 0;
    const double before = bench::resident_bytes();
    for (std::size_t i = 0; i < count; ++i) {
        asio::co_spawn(context(), park_on(never, arrived), detached);
    }
    while (arrived < count) context().run_one();
    context().run_for(std::chrono::milliseconds(200));
    const double grown = bench::resident_bytes() - before;
    reporter.report("park", grown / static_cast<double>(count), "B/fiber");
    _exit(0);  // the parked coroutines are never woken
}

awaitable<void> echo_connection(tcp::socket connection) {
    std::array<char, kBufferBytes> buffer;
    connection.set_option(tcp::no_delay(true));
    try {
        for (;;) {
            const std::size_t received =
                co_await connection.async_read_some(asio::buffer(buffer), use_awaitable);
            co_await asio::async_write(connection, asio::buffer(buffer, received), use_awaitable);
        }
    } catch (const boost::system::system_error&) {
        // The client is gone; the socket closes as it leaves the scope.
    }
}

awaitable<void> accept_all(tcp::acceptor acceptor) {
    for (;;) {
        tcp::socket connection = co_await acceptor.async_accept(use_awaitable);
        asio::co_spawn(context(), echo_connection(std::move(connection)), detached);
    }
}

void echo(std::size_t port) {
    const auto address = asio::ip::address_v4::loopback();
    tcp::acceptor acceptor(context(), {address, static_cast<unsigned short>(port)});
    acceptor.listen(kListenBacklog);
    asio::co_spawn(context(), accept_all(std::move(acceptor)), detached);
    run_until_done();
}

constexpr auto kWorkloads = std::to_array<bench::Workload>({
    {"yield", yield},
    {"spawn", spawn},
    {"spawnjoin", spawn_join},
    {"fib", fibonacci},
    {"sleep", sleep},
    {"timer", timer},
    {"park", park},
    {"echo", echo},
});

}  // namespace

int main(int argc, char** argv) {
    const bench::Request request = bench::parse_request(kWorkloads, argc, argv);
    request.workload->run(request.count);
}
