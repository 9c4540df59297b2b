#include <string_view>

#include "bench/common/workload.h"
#include "bench/weft/workloads.h"
#include "weft/base/atomic.h"
#include "weft/fiber/fiber.h"
#include "weft/sync/channel.h"
#include "weft/sync/mutex.h"
#include "weft/sync/wait_group.h"

namespace bench {
namespace {

constexpr std::size_t kUnbuffered = 0;

using Channel = weft::Channel<std::size_t>;

void stream(std::string_view metric, std::size_t capacity, std::size_t count) {
    Channel items(capacity);
    const Stopwatch watch;
    auto receiver = weft::spawn([&] {
        std::size_t sum = 0;
        for (std::size_t i = 0; i < count; ++i) sum += items.receive().value();
        return sum;
    });
    auto sender = weft::spawn([&] {
        for (std::size_t i = 0; i < count; ++i) items.send(i).value();
    });
    sender.join().value();
    expect_equal(metric, receiver.join().value(), sum_below(count));
    reporter().report(metric, watch.nanoseconds_each(count), "ns/item");
}

void ping_pong(std::string_view metric, std::size_t capacity, std::size_t count) {
    Channel ping(capacity);
    Channel pong(capacity);
    const Stopwatch watch;
    auto echoing = weft::spawn([&] {
        for (std::size_t i = 0; i < count; ++i) pong.send(ping.receive().value()).value();
    });
    auto asking = weft::spawn([&] {
        for (std::size_t i = 0; i < count; ++i) {
            ping.send(i).value();
            pong.receive().value();
        }
    });
    asking.join().value();
    echoing.join().value();
    reporter().report(metric, watch.nanoseconds_each(count), "ns/rtt");
}

}  // namespace

void stream_unbuffered(std::size_t count) { stream("chan0", kUnbuffered, count); }
void stream_buffered(std::size_t count) { stream("chan128", kBuffered, count); }
void ping_unbuffered(std::size_t count) { ping_pong("ping0", kUnbuffered, count); }
void ping_buffered(std::size_t count) { ping_pong("ping128", kBuffered, count); }

void many_to_many(std::size_t count) {
    Channel items(kBuffered);
    weft::WaitGroup producers(kPairs);
    weft::WaitGroup consumers(kPairs);
    weft::Atomic<std::size_t> received{0};
    const Stopwatch watch;
    for (std::size_t p = 0; p < kPairs; ++p) {
        weft::spawn_detached([&] {
            for (std::size_t i = 0; i < count / kPairs; ++i) items.send(i).value();
            producers.done();
        }).value();
        weft::spawn_detached([&] {
            std::size_t mine = 0;
            while (items.receive()) ++mine;
            // Relaxed: done() publishes it.
            received.fetch_add(mine, std::memory_order_relaxed);
            consumers.done();
        }).value();
    }
    producers.wait().value();
    items.close();
    consumers.wait().value();
    // Relaxed: every consumer is done.
    expect_equal("mpmc", received.load(std::memory_order_relaxed), count);
    reporter().report("mpmc", watch.nanoseconds_each(count), "ns/item");
}

// Sets of 100 fibers × 10,000 locks until `count` locks are made.
void mutex(std::size_t count) {
    weft::Mutex lock;
    std::size_t value = 0;
    const Stopwatch watch;
    for (std::size_t set = 0; set < count / (kMutexFibers * kLocksEach); ++set) {
        weft::WaitGroup group(kMutexFibers);
        for (std::size_t f = 0; f < kMutexFibers; ++f) {
            weft::spawn_detached([&] {
                for (std::size_t i = 0; i < kLocksEach; ++i) {
                    lock.lock();
                    ++value;
                    lock.unlock();
                }
                group.done();
            }).value();
        }
        group.wait().value();
    }
    expect_equal("mutex", value, count);
    reporter().report("mutex", watch.nanoseconds_each(count), "ns/lock");
}

}  // namespace bench
