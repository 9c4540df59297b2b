#include "weft/sim/linearizability.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/sim/sim.h"
#include "weft/sync/mutex.h"

#ifdef WEFT_ASAN
#include <sanitizer/lsan_interface.h>
#endif

namespace weft::sim {
namespace {

struct Call {
    bool is_write = false;
    int value = 0;
};
using Register = History<int, Call>;

Register make_history() {
    return Register(0, [](int& state, const Call& call) {
        if (call.is_write) state = call.value;
        return call.is_write || state == call.value;
    });
}

TEST(SimHistory, SIM_4j_calls_one_after_the_other_must_agree) {
    Register right = make_history();
    right.end(right.begin(), {true, 1});
    right.end(right.begin(), {false, 1});
    EXPECT_TRUE(right.is_linearizable());
    Register wrong = make_history();
    wrong.end(wrong.begin(), {true, 1});
    wrong.end(wrong.begin(), {false, 0});
    EXPECT_FALSE(wrong.is_linearizable());
}

TEST(SimHistory, SIM_4j_calls_at_the_same_time_may_be_in_any_order) {
    for (int seen : {0, 1}) {
        Register history = make_history();
        std::uint64_t write = history.begin();
        std::uint64_t read = history.begin();
        history.end(read, {false, seen});
        history.end(write, {true, 1});
        EXPECT_TRUE(history.is_linearizable()) << seen;
    }
    // But not in two orders at once.
    Register history = make_history();
    std::uint64_t write = history.begin();
    history.end(history.begin(), {false, 1});
    history.end(history.begin(), {false, 0});
    history.end(write, {true, 1});
    EXPECT_FALSE(history.is_linearizable());
}

TEST(SimHistory, SIM_4j_a_call_with_an_unknown_end_may_have_happened) {
    for (int seen : {0, 1, 2}) {
        Register history = make_history();
        history.end_unknown(history.begin(), {true, 1});
        history.end(history.begin(), {false, seen});
        EXPECT_EQ(history.is_linearizable(), seen != 2) << seen;
    }
}

TEST(SimHistory, SIM_4j_a_lost_update_of_a_counter_is_found) {
#ifdef WEFT_ASAN
    __lsan::ScopedDisabler abandoned;
#endif
    auto count_in = [](bool one_lock) {
        Mutex mutex;
        int counter = 0;
        // A call adds one and gives what was there before.
        History<int, int> history(0,
                                  [](int& state, const int& before) { return state++ == before; });
        Runtime runtime({.workers = 2});
        std::vector<Future<void>> fibers;
        for (int i = 0; i < 3; ++i) {
            fibers.push_back(runtime.spawn([&] {
                std::uint64_t began = history.begin();
                std::unique_lock lock(mutex);
                int before = counter;
                if (!one_lock) lock.unlock();
                if (!one_lock) lock.lock();
                counter = before + 1;
                lock.unlock();
                history.end(began, before);
            }));
        }
        for (Future<void>& fiber : fibers) static_cast<void>(fiber.join());
        if (!history.is_linearizable())
            fail("lost\n" + history.describe([](int before) { return std::to_string(before); }));
    };
    int found = 0;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        Report right = run({.seed = seed}, [&] { count_in(true); });
        ASSERT_TRUE(right.ok()) << right.text();
        Report wrong = run({.seed = seed}, [&] { count_in(false); });
        if (!wrong.ok()) {
            EXPECT_TRUE(wrong.failure.starts_with("lost\n")) << wrong.failure;
        }
        found += wrong.ok() ? 0 : 1;
    }
    EXPECT_GT(found, 0);
}

}  // namespace
}  // namespace weft::sim
