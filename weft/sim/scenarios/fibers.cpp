#include "weft/sim/scenarios/fibers.h"

#include <array>
#include <vector>

#include "weft/fiber/cancel.h"
#include "weft/fiber/runtime.h"
#include "weft/sim/sim.h"

namespace weft::sim::scenarios {
namespace {

using namespace std::chrono_literals;

unsigned some_workers() { return 1 + static_cast<unsigned>(random_below(4)); }

std::uint64_t sum_of_tree(unsigned depth) {
    if (depth == 0) return 1;
    if (coin()) yield();
    std::array<Future<std::uint64_t>, 3> children;
    for (auto& child : children) child = spawn([depth] { return sum_of_tree(depth - 1); });
    std::uint64_t sum = 0;
    for (auto& child : children) {
        Result<std::uint64_t> part = child.join();
        require(part.has_value(), "a child could not be joined");
        sum += *part;
    }
    return sum;
}

}  // namespace

void spawn_tree() {
    Runtime runtime({.workers = some_workers()});
    auto depth = static_cast<unsigned>(1 + random_below(3));
    std::uint64_t expected = 1;
    for (unsigned i = 0; i < depth; ++i) expected *= 3;
    Result<std::uint64_t> sum = runtime.spawn([depth] { return sum_of_tree(depth); }).join();
    require(sum.has_value() && *sum == expected, "the tree of fibers lost a leaf");
    runtime.run();
    require(runtime.live_fibers() == 0, "run() returned while a fiber was alive");
    require(runtime.shutdown().has_value(), "shutdown failed");
}

void park_unpark() {
    Runtime runtime({.workers = some_workers()});
    auto rounds = static_cast<int>(1 + random_below(5));
    int parked = 0;
    Future<void> sleeper = runtime.spawn([&] {
        for (int i = 0; i < rounds; ++i) {
            if (coin()) yield();
            require(park().has_value(), "park() ended with an error");
            ++parked;
        }
    });
    FiberId id = sleeper.id();
    // One permit at a time: the next is given when the last was used, seen through the fiber's end.
    Future<void> waker = runtime.spawn([&] {
        for (int i = 0; i < rounds; ++i) {
            unpark(id);
            if (coin()) unpark(id);  // twice counts once, or serves a later park
            while (!sleeper.is_done() && parked <= i) yield();
        }
    });
    require(waker.join().has_value(), "the waker failed");
    require(sleeper.join().has_value(), "the sleeper failed");
    unpark(id);  // after the end: nothing happens
    require(parked == rounds, "a permit was lost");
}

void sleepers() {
    Runtime runtime({.workers = some_workers()});
    std::vector<Future<void>> all;
    for (std::uint64_t i = 0; i < 2 + random_below(6); ++i) {
        auto wanted = std::chrono::microseconds(random_below(20'000));
        all.push_back(runtime.spawn([wanted] {
            Instant begun = Clock::now();
            require(sleep_for(wanted).has_value(), "a sleep was interrupted");
            require(Clock::now() - begun >= wanted, "a sleep ended early");
        }));
    }
    for (auto& one : all) require(one.join().has_value(), "a sleeper failed");
}

void cancel_tree() {
    Runtime runtime({.workers = some_workers()});
    int ended = 0;
    Result<void> result = runtime.spawn([&]() -> Result<void> {
        CancelSource source;
        std::vector<Future<void>> children;
        auto count = static_cast<int>(1 + random_below(4));
        {
            CancelScope scope(source.token());
            for (int i = 0; i < count; ++i) {
                children.push_back(spawn([] {
                    Future<void> inner = spawn([] { return park(); });
                    if (coin()) yield();
                    Result<void> outcome = inner.join();
                    if (outcome) fail("a parked fiber woke without a reason");
                    // The join itself may be cancelled before the inner fiber has ended.
                    while (!inner.is_done() && inner) yield();
                }));
            }
        }
        for (std::uint64_t i = random_below(4); i > 0; --i) yield();
        source.cancel();
        for (auto& child : children) {
            require(child.join().has_value(), "a child failed");
            ++ended;
        }
        return {};
    }).join();
    require(result.has_value() && ended > 0, "the parent failed");
}

void shutdown_parked() {
    Runtime runtime({.workers = some_workers()});
    int cancelled = 0;
    std::vector<Future<void>> all;
    for (std::uint64_t i = 0; i < 1 + random_below(5); ++i) {
        all.push_back(runtime.spawn([] { return coin() ? park() : sleep_for(1h); }));
    }
    require(runtime.shutdown().has_value(), "shutdown did not end");
    for (auto& one : all) {
        Result<void> outcome = one.join();
        if (!outcome && outcome.error().kind() == ErrorKind::Cancelled) ++cancelled;
    }
    require(cancelled == static_cast<int>(all.size()), "a parked fiber was not cancelled");
    require(!runtime.spawn([] {}), "a runtime that has ended took a fiber");
}

void outside_threads() {
    Runtime runtime({.workers = some_workers()});
    std::array<int, 3> answers{};
    struct Job {
        Runtime* runtime;
        int* answer;
    };
    std::array<Job, 3> jobs;
    std::array<EnvThread, 3> threads;
    require(runtime.start().has_value(), "no start");
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        jobs[i] = {&runtime, &answers[i]};
        threads[i] = env::start_thread(
            [](void* argument) {
                auto* job = static_cast<Job*>(argument);
                Result<int> answer = job->runtime->spawn([] {
                    yield();
                    return 7;
                }).join();
                *job->answer = answer.value_or(0);
            },
            &jobs[i], "outside");
    }
    for (EnvThread thread : threads) env::join_thread(thread);
    for (int answer : answers) require(answer == 7, "a thread outside lost its fiber");
}

}  // namespace weft::sim::scenarios
