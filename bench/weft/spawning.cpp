#include <array>
#include <vector>

#include "bench/common/workload.h"
#include "bench/weft/workloads.h"
#include "weft/fiber/fiber.h"
#include "weft/sync/wait_group.h"

namespace bench {

// Two fibers for each worker: with fewer, a worker could yield to nobody.
void yield(std::size_t count) {
    const std::size_t total = 2 * workers();
    std::vector<weft::Future<void>> fibers;
    const Stopwatch watch;
    for (std::size_t f = 0; f < total; ++f) {
        fibers.push_back(weft::spawn([each = count / total] {
            for (std::size_t i = 0; i < each; ++i) weft::yield();
        }));
    }
    for (auto& fiber : fibers) fiber.join().value();
    reporter().report("yield", watch.nanoseconds_each(count), "ns/switch");
}

void spawn(std::size_t count) {
    weft::WaitGroup group(count);
    const Stopwatch watch;
    for (std::size_t i = 0; i < count; ++i)
        weft::spawn_detached([&group] { group.done(); }).value();
    group.wait().value();
    reporter().report("spawn", watch.nanoseconds_each(count), "ns/fiber");
}

void spawn_join(std::size_t count) {
    const Stopwatch watch;
    for (std::size_t i = 0; i < count; ++i) weft::spawn([] {}).join().value();
    reporter().report("spawnjoin", watch.nanoseconds_each(count), "ns/fiber");
}

void fibonacci(std::size_t count) {
    weft::WaitGroup group(count);
    const Stopwatch watch;
    for (std::size_t i = 0; i < count; ++i) {
        weft::spawn_detached([&group] {
            fib(20);
            for (std::size_t k = 0; k < kFibYields; ++k) weft::yield();
            group.done();
        }).value();
    }
    group.wait().value();
    reporter().report("fib", watch.nanoseconds_each(count), "ns/fiber");
}

namespace {

std::size_t skynet_node(std::size_t first, std::size_t leaves) {
    if (leaves == 1) return first;
    const std::size_t share = leaves / kSkynetChildren;
    std::array<weft::Future<std::size_t>, kSkynetChildren> children;
    for (std::size_t i = 0; i < kSkynetChildren; ++i) {
        children[i] = weft::spawn([=] { return skynet_node(first + i * share, share); });
    }
    std::size_t sum = 0;
    for (auto& child : children) sum += child.join().value();
    return sum;
}

}  // namespace

void skynet(std::size_t leaves) {
    const Stopwatch watch;
    const std::size_t sum = weft::spawn([=] { return skynet_node(0, leaves); }).join().value();
    expect_equal("skynet", sum, sum_below(leaves));
    reporter().report("skynet", watch.milliseconds(), "ms");
}

}  // namespace bench
