// Every operation of a primitive is a step: what goes wrong only when another fiber runs between
// two of them is found in every build.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <shared_mutex>

#include "weft/async/group.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/sim/sim.h"
#include "weft/sync/channel.h"
#include "weft/sync/event.h"
#include "weft/sync/gate.h"
#include "weft/sync/mutex.h"
#include "weft/sync/once.h"
#include "weft/sync/select.h"
#include "weft/sync/semaphore.h"
#include "weft/sync/shared_mutex.h"
#include "weft/sync/wait_group.h"

#ifdef WEFT_ASAN
#include <sanitizer/lsan_interface.h>
#endif

namespace weft::sim {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kSeeds = 1000;
constexpr const char* kLost = "an update was lost";

// The first seed that fails; kSeeds + 1 if none does.
std::uint64_t first_to_fail(const std::function<void()>& scenario) {
#ifdef WEFT_ASAN
    __lsan::ScopedDisabler abandoned;  // by a failed run
#endif
    Options options;
    for (options.seed = 1; options.seed <= kSeeds; ++options.seed) {
        Report report = run(options, scenario);
        if (report.ok()) continue;
        EXPECT_EQ(report.failure, kLost);
        break;
    }
    return options.seed;
}

// A balance is read under one lock and changed under another: an update can be lost in between.
struct Bank {
    Mutex mutex;
    std::array<int, 4> balance{100, 100, 100, 100};

    Result<void> transfer(std::size_t from, std::size_t to, int amount) {
        int have = 0;
        {
            std::lock_guard guard(mutex);
            have = balance[from];
        }
        if (have < amount) return Error(ErrorKind::Other, "funds");
        std::lock_guard guard(mutex);
        balance[from] = have - amount;
        balance[to] += amount;
        return {};
    }
    int total() {
        std::lock_guard guard(mutex);
        return balance[0] + balance[1] + balance[2] + balance[3];
    }
};

void transfers(unsigned workers) {
    Bank bank;
    Result<void> outcome = weft::run(
        [&]() -> Result<void> {
            async::Group group;
            for (std::size_t i = 0; i < 4; ++i) {
                WEFT_TRY(group.go([&, i] { return bank.transfer(0, 1 + i % 3, 10); }));
            }
            return group.wait();
        },
        {.workers = workers});
    require(outcome.has_value(), "the run failed");
    require(bank.total() == 400, kLost);
}

TEST(Operation, SIM_4a_a_lost_update_across_two_locks_is_found_within_a_thousand_seeds) {
    EXPECT_LE(first_to_fail([] { transfers(2); }), kSeeds);
}

TEST(Operation, SIM_4a_also_on_one_worker) {
    EXPECT_LE(first_to_fail([] { transfers(1); }), kSeeds);
}

// The objects on which an operation does not have to wait; each run has its own.
struct Things {
    Channel<int> channel{8};
    Channel<int> empty{8};
    Mutex mutex;
    SharedMutex shared;
    Semaphore semaphore{8};
    Event event{Event::State::Set};
    WaitGroup group;
    Once once;
    Gate gate;

    Things() {
        for (int i = 0; i < 4; ++i) static_cast<void>(channel.send(i));
        static_cast<void>(once.call([] {}));
    }
};

struct Named {
    const char* name;
    void (*call)(Things& things);
};

// Two fibers read a value, call the operation, and write: is the update of one lost?
std::uint64_t first_to_lose(const Named& operation, unsigned workers) {
    return first_to_fail([&] {
        Things things;
        int value = 0;
        auto update = [&] {
            int before = value;
            operation.call(things);
            value = before + 1;
        };
        Result<void> outcome = weft::run(
            [&]() -> Result<void> {
                auto first = spawn(update);
                auto second = spawn(update);
                WEFT_TRY(first.join());
                return second.join();
            },
            {.workers = workers});
        require(outcome.has_value(), "the run failed");
        require(value == 2, kLost);
    });
}

TEST(Operation, SIM_4b_at_each_operation_that_may_wait_another_fiber_may_go_on) {
    const Named operations[] = {
        {"send", [](Things& things) { static_cast<void>(things.channel.send(1)); }},
        {"receive", [](Things& things) { static_cast<void>(things.channel.receive()); }},
        {"send_for", [](Things& things) { static_cast<void>(things.channel.send_for(1, 1h)); }},
        {"receive_for", [](Things& things) { static_cast<void>(things.channel.receive_for(1h)); }},
        {"select",
         [](Things& things) {
             static_cast<void>(select(on_receive(things.channel, [](const Result<int>&) {})));
         }},
        {"lock", [](Things& things) { std::lock_guard guard(things.mutex); }},
        {"try_lock_for", [](Things& things) { std::unique_lock<Mutex> guard(things.mutex, 1h); }},
        {"lock_cancellable",
         [](Things& things) {
             if (things.mutex.lock_cancellable()) things.mutex.unlock();
         }},
        {"lock_shared", [](Things& things) { std::shared_lock guard(things.shared); }},
        {"acquire", [](Things& things) { static_cast<void>(things.semaphore.acquire()); }},
        {"acquire_for",
         [](Things& things) { static_cast<void>(things.semaphore.acquire_for(1h)); }},
        {"event", [](Things& things) { static_cast<void>(things.event.wait()); }},
        {"wait group", [](Things& things) { static_cast<void>(things.group.wait()); }},
        {"once", [](Things& things) { static_cast<void>(things.once.call([] {})); }},
        {"gate", [](Things& things) { static_cast<void>(things.gate.close()); }},
    };
    for (const Named& operation : operations)
        EXPECT_LE(first_to_lose(operation, 1), kSeeds) << operation.name;
}

TEST(Operation, SIM_4c_at_each_operation_that_never_waits_another_worker_may_go_on) {
    const Named operations[] = {
        {"try_send", [](Things& things) { static_cast<void>(things.channel.try_send(1)); }},
        {"try_receive", [](Things& things) { static_cast<void>(things.channel.try_receive()); }},
        {"size", [](Things& things) { static_cast<void>(things.channel.size()); }},
        {"select with otherwise",
         [](Things& things) {
             static_cast<void>(
                 select(on_receive(things.empty, [](const Result<int>&) {}), otherwise([] {})));
         }},
        {"close", [](Things& things) { things.channel.close(); }},
        {"try_lock",
         [](Things& things) {
             if (things.mutex.try_lock()) things.mutex.unlock();
         }},
        {"release", [](Things& things) { things.semaphore.release(); }},
        {"set", [](Things& things) { things.event.set(); }},
        {"add", [](Things& things) { things.group.add(); }},
        {"enter", [](Things& things) { static_cast<void>(things.gate.hold()); }},
        {"spawn", [](Things&) { static_cast<void>(spawn([] {}).join()); }},
    };
    for (const Named& operation : operations)
        EXPECT_LE(first_to_lose(operation, 2), kSeeds) << operation.name;
}

}  // namespace
}  // namespace weft::sim
