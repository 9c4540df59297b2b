#include "tests/sim/floor/fibers.h"

#include <array>
#include <vector>

#include "tests/sim/floor/crew.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/runtime.h"
#include "weft/sim/sim.h"

namespace weft::sim::scenarios {
namespace {

using namespace std::chrono_literals;

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
    auto depth = static_cast<unsigned>(between(1, 3));
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
    int rounds = between(1, 5);
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
            while (!sleeper.is_done() && parked <= i) {
                yield();
                env::spin_pause(0);  // nobody else may be ready here
            }
        }
    });
    require(waker.join().has_value(), "the waker failed");
    require(sleeper.join().has_value(), "the sleeper failed");
    unpark(id);  // after the end: nothing happens
    require(parked == rounds, "a permit was lost");
}

// Unparks from everywhere, of fibers that park with deadlines, have ended, or have not begun.
void unpark_storm() {
    Runtime runtime({.workers = some_workers()});
    std::array<Future<void>, 3> sleepers;
    std::array<FiberId, 3> ids;
    int given = 0;
    int taken = 0;
    for (std::size_t i = 0; i < sleepers.size(); ++i) {
        sleepers[i] = runtime.spawn([&] {
            for (int round = between(1, 4); round > 0; --round) {
                Result<void> parked = park(Deadline::after(up_to_us(300)));
                require(parked || is_error(parked, ErrorKind::TimedOut), "park() was cancelled");
                if (parked) ++taken;
            }
        });
        ids[i] = sleepers[i].id();
    }
    {
        Crew crew(runtime);
        for (int i = between(1, 3); i > 0; --i) {
            crew.add([&] {
                for (int round = between(1, 6); round > 0; --round) {
                    ++given;
                    unpark(ids[random_below(ids.size())]);
                    if (coin()) static_cast<void>(sleep_for(up_to_us(100)));
                }
            });
        }
    }
    for (auto& sleeper : sleepers) require(sleeper.join().has_value(), "a sleeper failed");
    require(taken <= given, "a fiber took more permits than were given");
    for (FiberId id : ids) unpark(id);
}

// Outcomes of fibers that nobody joins: discarded once, errors counted.
void join_or_drop() {
    int ended = 0;
    int live = 0;
    int errors_dropped = 0;
    struct Outcome {
        int* live;
        explicit Outcome(int* count) : live(count) { ++*live; }
        Outcome(Outcome&& other) noexcept : live(other.live) { ++*live; }
        Outcome(const Outcome&) = delete;
        ~Outcome() { --*live; }
    };
    {
        Runtime runtime({.workers = some_workers()});
        int count = between(1, 5);
        Crew crew(runtime);
        crew.add([&, count] {
            for (int i = 0; i < count; ++i) {
                bool fails = coin();
                Future<Outcome> one = runtime.spawn([&ended, &live, fails]() -> Result<Outcome> {
                    some_yields();
                    ++ended;
                    // Nobody misses a cancelled fiber, so this one is counted and not logged.
                    if (fails) return ErrorKind::Cancelled;
                    return Outcome(&live);
                });
                some_yields();
                bool joins = coin();
                if (joins) {
                    require(one.join().has_value() == !fails, "join gave another outcome");
                    require(is_error(one.join(), ErrorKind::Misuse), "a second join succeeded");
                } else if (coin()) {
                    one.detach();
                }
                if (!joins && fails) ++errors_dropped;
            }
        });
        crew.join();
        runtime.run();
        require(ended == count, "run() returned before a dropped fiber had ended");
        require(live == 0, "an outcome was lost, or destroyed twice");
        auto counted = static_cast<int>(runtime.counters().dropped_errors.value());
        require(counted == errors_dropped, "a dropped error was not counted");
    }
}

// A join that times out or is cancelled leaves the fiber joinable.
void join_with_deadlines() {
    Runtime runtime({.workers = some_workers()});
    Crew crew(runtime);
    for (int i = between(1, 3); i > 0; --i) {
        crew.add([&runtime] {
            int answer = between(1, 100);
            Future<int> one = runtime.spawn([answer] {
                if (coin()) static_cast<void>(sleep_for(up_to_us(200)));
                return answer;
            });
            for (;;) {
                CancelSource source = CancelSource::detached(Deadline::after(up_to_us(200)));
                CancelScope scope(source.token());
                Result<int> got =
                    one.join(coin() ? Deadline::after(up_to_us(100)) : Deadline::never());
                if (got) {
                    require(*got == answer, "join gave another fiber's answer");
                    return;
                }
                require(is_error(got, ErrorKind::TimedOut), "join failed for no reason");
                require(static_cast<bool>(one), "a join that timed out lost the fiber");
            }
        });
    }
}

// More than a local queue holds: some go through the global queue.
void many_fibers() {
    Runtime runtime({.workers = some_workers()});
    int count = between(250, 330);
    int ended = 0;
    Result<void> all = runtime
                           .spawn([&] {
                               std::vector<Future<void>> fibers;
                               for (int i = 0; i < count; ++i)
                                   fibers.push_back(spawn([&ended] { ++ended; }));
                               for (auto& one : fibers)
                                   require(one.join().has_value(), "a fiber could not be joined");
                           })
                           .join();
    require(all.has_value() && ended == count, "a fiber was lost in the overflow");
}

void pinned_workers() {
    Runtime runtime({.workers = some_workers(), .pinned_workers = 2});
    Crew crew(runtime);
    int ended = 0;
    for (unsigned index = 0; index < 2; ++index) {
        // A pinned worker runs one thing at a time, so this needs no lock.
        auto turns = std::make_shared<int>(0);
        Future<void> one = runtime.spawn_pinned(index, [&, turns] {
            std::vector<Future<void>> children;
            for (int i = between(1, 4); i > 0; --i) {
                children.push_back(spawn([&, turns] {
                    for (int round = 0; round < 3; ++round) {
                        require(++*turns == 1, "two fibers of a pinned worker ran at once");
                        env::step();
                        --*turns;
                        if (coin()) {
                            yield();
                        } else {
                            static_cast<void>(sleep_for(up_to_us(50)));
                        }
                    }
                    ++ended;
                }));
            }
            for (auto& child : children)
                require(child.join().has_value(), "a pinned child could not be joined");
        });
        crew.add([&ended, future = std::make_shared<Future<void>>(std::move(one))] {
            require(future->join().has_value(), "a pinned fiber could not be joined");
            require(ended > 0, "a pinned fiber ended before its children");
        });
    }
    crew.add([] { some_yields(); });
    require(!runtime.spawn_pinned(2, [] {}), "there are two pinned workers");
}

// Posted records run once each, in the order of their sender, on their worker.
void completions() {
    Runtime runtime({.workers = some_workers(), .pinned_workers = 1});
    require(runtime.start().has_value(), "the runtime did not start");
    struct Record : Completion {
        std::vector<int>* log = nullptr;
        int number = 0;
    };
    std::array<std::vector<int>, 3> logs;
    std::array<std::array<Record, 4>, 3> records;
    std::array<unsigned, 3> workers;
    {
        Crew crew(runtime);
        for (std::size_t sender = 0; sender < logs.size(); ++sender) {
            workers[sender] = static_cast<unsigned>(random_below(runtime.worker_count()));
            crew.add([&, sender] {
                int number = 0;
                for (Record& record : records[sender]) {
                    record.log = &logs[sender];
                    record.number = number++;
                    record.run = [](Completion& completion) {
                        auto& self = static_cast<Record&>(completion);
                        self.log->push_back(self.number);
                    };
                    require(runtime.post(workers[sender], record).has_value(),
                            "a running runtime took no record");
                    if (coin()) yield();
                }
                // Nobody waits for a record, so look.
                while (logs[sender].size() < records[sender].size()) {
                    static_cast<void>(sleep_for(10us));
                }
            });
        }
    }
    for (const auto& log : logs) {
        require(log == std::vector<int>({0, 1, 2, 3}), "records ran twice or out of order");
    }
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
        if (is_error(outcome, ErrorKind::Cancelled)) ++cancelled;
    }
    require(cancelled == static_cast<int>(all.size()), "a parked fiber was not cancelled");
    require(!runtime.spawn([] {}), "a runtime that has ended took a fiber");
}

// Fibers that spawn, wait and compute when the runtime is told to end.
void shutdown_at_random() {
    Runtime runtime({.workers = some_workers()});
    int begun = 0;
    int ended = 0;
    int refused = 0;
    std::vector<Future<void>> all;
    for (int i = between(1, 4); i > 0; --i) {
        all.push_back(runtime.spawn([&]() -> Result<void> {
            ++begun;
            Result<void> alive;
            while (alive) {
                Future<void> child = spawn([&] {
                    ++begun;
                    static_cast<void>(coin() ? checkpoint() : sleep_for(up_to_us(100)));
                    ++ended;
                });
                if (!child) ++refused;
                if (coin()) static_cast<void>(child.join());
                alive = coin() ? checkpoint() : park(Deadline::after(up_to_us(50)));
                if (is_error(alive, ErrorKind::TimedOut)) alive = {};
            }
            ++ended;
            return alive;
        }));
    }
    static_cast<void>(sleep_for(up_to_us(300)));
    require(runtime.shutdown().has_value(), "shutdown did not end");
    require(runtime.live_fibers() == 0, "a fiber outlived the shutdown");
    require(begun == ended, "a fiber was torn down");
    for (auto& one : all)
        require(is_error(one.join(), ErrorKind::Cancelled), "a fiber was not told of the end");
}

// The same at one exact step: every state that a runtime can be told to end in.
void shutdown_anywhere() {
    Runtime runtime({.workers = some_workers()});
    int begun = 0;
    int ended = 0;
    std::vector<Future<void>> all;
    Crew crew(runtime);
    crew.add_thread([&] {
        await_interrupt();
        runtime.cancel_all();
    });
    for (int i = 0; i < 2; ++i) {
        all.push_back(runtime.spawn([&] {
            ++begun;
            Future<void> child = spawn([&] {
                ++begun;
                static_cast<void>(park());
                ++ended;
            });
            yield();
            static_cast<void>(sleep_for(up_to_us(5)));
            static_cast<void>(child.join());
            ++ended;
        }));
    }
    crew.join();
    require(runtime.shutdown().has_value(), "shutdown did not end");
    require(begun == ended && runtime.live_fibers() == 0, "a fiber was torn down");
    for (auto& one : all) static_cast<void>(one.join());
}

void outside_threads() {
    Runtime runtime({.workers = some_workers()});
    std::array<int, 3> answers{};
    {
        Crew crew(runtime);
        for (int& answer : answers) {
            crew.add_thread([&runtime, &answer] {
                Future<int> one = runtime.spawn([] {
                    yield();
                    return 7;
                });
                answer = one.join().value_or(0);
            });
        }
    }
    for (int answer : answers) require(answer == 7, "a thread outside lost its fiber");
}

// Fibers of one runtime start, join and unpark fibers of another.
void two_runtimes() {
    Runtime first({.workers = some_workers()});
    Runtime second({.workers = some_workers()});
    int met = 0;
    {
        Crew crew(first);
        for (int i = between(1, 3); i > 0; --i) {
            crew.add([&] {
                Future<void> there = second.spawn([&met] {
                    require(park().has_value(), "a fiber was cancelled");
                    ++met;
                });
                some_yields();
                unpark(there.id());
                require(there.join().has_value(), "a fiber of the other runtime was lost");
            });
        }
        crew.join();
    }
    require(met > 0, "nobody met");
    require(second.shutdown().has_value() && first.shutdown().has_value(), "shutdown failed");
}

}  // namespace weft::sim::scenarios
