// The Boost.Fiber peer: `boost_bench <metric> [count]`. WORKERS = 1 uses the round-robin scheduler,
// more use work stealing. Stacks are malloc'd, 16 KiB, without guard (fixedsize_stack): the fastest
// that the library offers. It has no I/O and no timer object, so there is no echo and no timer.
#include <unistd.h>

#include <array>
#include <atomic>
#include <boost/fiber/all.hpp>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "bench/common/measure.h"
#include "bench/common/workload.h"

namespace {

namespace fibers = boost::fibers;
using bench::Stopwatch;

constexpr std::size_t kStackBytes = 16 * 1024;
// A stack is taken at spawn and 1 M of them would need 9 GB: at most this many are alive at once.
constexpr std::size_t kSpawnBatch = 10'000;

const unsigned workers = bench::workers_from("WORKERS");
const bench::Reporter reporter("boost", workers);

template <class Body>
fibers::fiber spawn_fiber(Body&& body) {
    boost::context::fixedsize_stack stacks(kStackBytes);
    return fibers::fiber(fibers::launch::post, std::allocator_arg, stacks,
                         std::forward<Body>(body));
}

// The library has no wait group. The last one to finish takes the lock; the others only count down.
class WaitGroup {
public:
    explicit WaitGroup(std::size_t count) : left_(count) {}

    void done() {
        // acq_rel: the waiter must see what every fiber did before its done().
        if (left_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
        std::unique_lock lock(mutex_);
        finished_ = true;
        changed_.notify_all();
    }

    void wait() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return finished_; });
    }

private:
    std::atomic<std::size_t> left_;
    fibers::mutex mutex_;
    fibers::condition_variable changed_;
    bool finished_ = false;
};

void yield(std::size_t count) {
    const std::size_t total = 2 * workers;
    std::vector<fibers::fiber> running;
    const Stopwatch watch;
    for (std::size_t f = 0; f < total; ++f) {
        running.push_back(spawn_fiber([each = count / total] {
            for (std::size_t i = 0; i < each; ++i) boost::this_fiber::yield();
        }));
    }
    for (auto& fiber : running) fiber.join();
    reporter.report("yield", watch.nanoseconds_each(count), "ns/switch");
}

void spawn(std::size_t count) {
    WaitGroup group(count);
    const Stopwatch watch;
    for (std::size_t i = 1; i <= count; ++i) {
        spawn_fiber([&group] { group.done(); }).detach();
        if (i % kSpawnBatch == 0) boost::this_fiber::yield();
    }
    group.wait();
    reporter.report("spawn", watch.nanoseconds_each(count), "ns/fiber");
}

void spawn_join(std::size_t count) {
    const Stopwatch watch;
    for (std::size_t i = 0; i < count; ++i) spawn_fiber([] {}).join();
    reporter.report("spawnjoin", watch.nanoseconds_each(count), "ns/fiber");
}

void fibonacci(std::size_t count) {
    WaitGroup group(count);
    const Stopwatch watch;
    for (std::size_t i = 0; i < count; ++i) {
        spawn_fiber([&group] {
            bench::fib(20);
            for (std::size_t k = 0; k < bench::kFibYields; ++k) boost::this_fiber::yield();
            group.done();
        }).detach();
    }
    group.wait();
    reporter.report("fib", watch.nanoseconds_each(count), "ns/fiber");
}

template <class Channel>
void stream(std::string_view metric, Channel& items, std::size_t count) {
    std::size_t sum = 0;
    const Stopwatch watch;
    auto receiver = spawn_fiber([&] {
        for (std::size_t i = 0; i < count; ++i) sum += items.value_pop();
    });
    auto sender = spawn_fiber([&] {
        for (std::size_t i = 0; i < count; ++i) items.push(i);
    });
    sender.join();
    receiver.join();
    bench::expect_equal(metric, sum, bench::sum_below(count));
    reporter.report(metric, watch.nanoseconds_each(count), "ns/item");
}

template <class Channel>
void ping_pong(std::string_view metric, Channel& ping, Channel& pong, std::size_t count) {
    const Stopwatch watch;
    auto echoing = spawn_fiber([&] {
        for (std::size_t i = 0; i < count; ++i) pong.push(ping.value_pop());
    });
    auto asking = spawn_fiber([&] {
        for (std::size_t i = 0; i < count; ++i) {
            ping.push(i);
            pong.value_pop();
        }
    });
    asking.join();
    echoing.join();
    reporter.report(metric, watch.nanoseconds_each(count), "ns/rtt");
}

using Unbuffered = fibers::unbuffered_channel<std::size_t>;
using Buffered = fibers::buffered_channel<std::size_t>;

void stream_unbuffered(std::size_t count) {
    Unbuffered items;
    stream("chan0", items, count);
}

void stream_buffered(std::size_t count) {
    Buffered items(bench::kBuffered);
    stream("chan128", items, count);
}

void ping_unbuffered(std::size_t count) {
    Unbuffered ping, pong;
    ping_pong("ping0", ping, pong, count);
}

void ping_buffered(std::size_t count) {
    Buffered ping(bench::kBuffered), pong(bench::kBuffered);
    ping_pong("ping128", ping, pong, count);
}

void many_to_many(std::size_t count) {
    Buffered items(bench::kBuffered);
    WaitGroup producers(bench::kPairs), consumers(bench::kPairs);
    std::atomic<std::size_t> received = 0;
    const Stopwatch watch;
    for (std::size_t p = 0; p < bench::kPairs; ++p) {
        spawn_fiber([&] {
            for (std::size_t i = 0; i < count / bench::kPairs; ++i) items.push(i);
            producers.done();
        }).detach();
        spawn_fiber([&] {
            std::size_t item = 0;
            std::size_t mine = 0;
            while (items.pop(item) == fibers::channel_op_status::success) ++mine;
            // Relaxed: done() publishes it.
            received.fetch_add(mine, std::memory_order_relaxed);
            consumers.done();
        }).detach();
    }
    producers.wait();
    items.close();
    consumers.wait();
    bench::expect_equal("mpmc", received.load(std::memory_order_relaxed), count);
    reporter.report("mpmc", watch.nanoseconds_each(count), "ns/item");
}

void mutex(std::size_t count) {
    fibers::mutex lock;
    std::size_t value = 0;
    const Stopwatch watch;
    for (std::size_t set = 0; set < count / (bench::kMutexFibers * bench::kLocksEach); ++set) {
        WaitGroup group(bench::kMutexFibers);
        for (std::size_t f = 0; f < bench::kMutexFibers; ++f) {
            spawn_fiber([&] {
                for (std::size_t i = 0; i < bench::kLocksEach; ++i) {
                    std::unique_lock guard(lock);
                    ++value;
                }
                group.done();
            }).detach();
        }
        group.wait();
    }
    bench::expect_equal("mutex", value, count);
    reporter.report("mutex", watch.nanoseconds_each(count), "ns/lock");
}

void park(std::size_t count) {
    WaitGroup never(1);
    std::atomic<std::size_t> arrived = 0;
    const double before = bench::resident_bytes();
    for (std::size_t i = 0; i < count; ++i) {
        spawn_fiber([&] {
            // Relaxed: only the number is read.
            arrived.fetch_add(1, std::memory_order_relaxed);
            never.wait();
        }).detach();
    }
    while (arrived.load(std::memory_order_relaxed) < count) {
        boost::this_fiber::sleep_for(std::chrono::milliseconds(10));
    }
    boost::this_fiber::sleep_for(std::chrono::milliseconds(200));
    const double grown = bench::resident_bytes() - before;
    reporter.report("park20k", grown / static_cast<double>(count), "B/fiber");
    _exit(0);  // the parked fibers are never woken
}

constexpr auto kWorkloads = std::to_array<bench::Workload>({
    {"yield", yield},
    {"spawn", spawn},
    {"spawnjoin", spawn_join},
    {"fib", fibonacci},
    {"chan0", stream_unbuffered},
    {"chan128", stream_buffered},
    {"ping0", ping_unbuffered},
    {"ping128", ping_buffered},
    {"mpmc", many_to_many},
    {"mutex", mutex},
    {"park20k", park},
});

// The scheduler of a thread must be set before its first fiber; every thread must name the same
// number of threads, and the set is complete only when all have called this.
void use_work_stealing() {
    constexpr bool kSleepWhenIdle = true;
    fibers::use_scheduling_algorithm<fibers::algo::work_stealing>(workers, kSleepWhenIdle);
}

class Workers {
public:
    Workers() {
        for (unsigned i = 1; i < workers; ++i) threads_.emplace_back([this] { serve(); });
        if (workers > 1) use_work_stealing();
    }

    ~Workers() {
        {
            std::unique_lock lock(mutex_);
            stopping_ = true;
        }
        stop_.notify_all();
        for (auto& thread : threads_) thread.join();
    }

private:
    void serve() {
        use_work_stealing();
        std::unique_lock lock(mutex_);
        stop_.wait(lock, [this] { return stopping_; });
    }

    fibers::mutex mutex_;
    fibers::condition_variable stop_;
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace

int main(int argc, char** argv) {
    const bench::Request request = bench::parse_request(kWorkloads, argc, argv);
    Workers running;
    request.workload->run(request.count);
}
