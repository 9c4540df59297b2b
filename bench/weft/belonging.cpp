// Structured concurrency: groups, tasks, pools, timeouts, contexts.
#include <chrono>
#include <cstddef>
#include <vector>

#include "bench/common/workload.h"
#include "bench/weft/workloads.h"
#include "weft/async/context.h"
#include "weft/async/group.h"
#include "weft/async/pool.h"
#include "weft/async/task.h"
#include "weft/async/timeout.h"
#include "weft/base/atomic.h"

namespace bench {

using weft::Result;
using weft::async::Context;
using namespace std::chrono_literals;

void group(std::size_t count) {
    std::size_t sum = 0;
    const Stopwatch watch;
    for (std::size_t i = 0; i < count; ++i) {
        std::size_t results[kGroupJobs] = {};
        weft::async::Group jobs;
        for (std::size_t& result : results) {
            jobs.go([&result](Context&) -> Result<void> {
                    result = 1;
                    return {};
                })
                .value();
        }
        jobs.wait().value();
        for (std::size_t result : results) sum += result;
    }
    expect_equal("group", sum, count * kGroupJobs);
    reporter().report("group", watch.nanoseconds_each(count), "ns/group");
}

void task(std::size_t count) {
    std::size_t sum = 0;
    const Stopwatch watch;
    for (std::size_t i = 0; i < count; ++i) {
        auto number = weft::async::run_task([i](Context&) -> Result<std::size_t> { return i; });
        sum += number->wait().value();
    }
    expect_equal("task", sum, sum_below(count));
    reporter().report("task", watch.nanoseconds_each(count), "ns/task");
}

void pool(std::size_t count) {
    weft::Atomic<std::size_t> done{0};
    const Stopwatch watch;
    auto workers = weft::async::Pool::create({.workers = kPoolWorkers, .queue_size = kPoolQueue});
    for (std::size_t i = 0; i < count; ++i) {
        workers
            ->submit([&done](Context&) -> Result<void> {
                done.fetch_add(1, std::memory_order_relaxed);
                return {};
            })
            .value();
    }
    workers->close().value();
    expect_equal("pool", done.load(std::memory_order_relaxed), count);
    reporter().report("pool", watch.nanoseconds_each(count), "ns/job");
}

void timeout(std::size_t count) {
    std::size_t done = 0;
    const Stopwatch watch;
    for (std::size_t i = 0; i < count; ++i) {
        weft::async::with_timeout(1h, [&done](Context&) -> Result<void> {
            ++done;
            return {};
        }).value();
    }
    expect_equal("timeout", done, count);
    reporter().report("timeout", watch.nanoseconds_each(count), "ns/call");
}

void context(std::size_t count) {
    const auto parent = Context::current().with_cancel();
    std::size_t ended = 0;
    const Stopwatch watch;
    for (std::size_t i = 0; i < count; ++i) {
        auto child = parent.context.with_cancel();
        child.source.cancel();
        if (!child.context.check()) ++ended;
    }
    expect_equal("context", ended, count);
    reporter().report("context", watch.nanoseconds_each(count), "ns/context");
}

void contexts(std::size_t count) {
    const auto parent = Context::current().with_cancel();
    std::vector<Context> all(count);  // not measured, as it is theirs who hold them
    const double before = resident_bytes();
    for (Context& one : all) one = parent.context.with_cancel().context;
    const double bytes = resident_bytes() - before;
    reporter().report("contexts", bytes / static_cast<double>(count), "B/context");
}

}  // namespace bench
