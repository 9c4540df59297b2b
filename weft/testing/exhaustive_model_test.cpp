// That the checker tries everything, and its reductions lose nothing.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/testing/model.h"

namespace weft {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

model::Options unreduced() { return model::Options{.reduction = model::Reduction::Off}; }

// Each of `threads` threads stores twice: into an atomic of its own, or all into one.
model::Result stores(const model::Options& options, std::size_t threads, bool into_one) {
    return model::check(options, [=] {
        std::array<Atomic<int>, 3> atomics;
        for (std::size_t i = 0; i < threads; ++i) {
            model::thread([&atomics, i, into_one] {
                Atomic<int>& atomic = atomics[into_one ? 0 : i];
                atomic.store(1, kRelaxed);
                atomic.store(2, kRelaxed);
            });
        }
        model::join_all();
    });
}

TEST(Exhaustive, the_number_of_orders_is_the_one_of_combinatorics) {
    EXPECT_EQ(stores(unreduced(), 2, false).executions(), 6u);   // 4! / (2! 2!)
    EXPECT_EQ(stores(unreduced(), 3, false).executions(), 90u);  // 6! / (2! 2! 2!)
    EXPECT_EQ(stores(unreduced(), 3, true).executions(), 90u);
}

TEST(Exhaustive, orders_of_independent_operations_count_once) {
    EXPECT_EQ(stores({}, 2, false).executions(), 1u);
    EXPECT_EQ(stores({}, 3, false).executions(), 1u);
    EXPECT_EQ(stores({}, 2, true).executions(), 6u);
    EXPECT_EQ(stores({}, 3, true).executions(), 90u);
}

TEST(Exhaustive, a_preemption_bound_bounds_the_orders) {
    auto bounded = [](unsigned bound) {
        return stores(model::Options{.preemption_bound = bound}, 2, true).executions();
    };
    EXPECT_EQ(bounded(0), 2u);  // 1122 and 2211
    EXPECT_EQ(bounded(1), 4u);  // and 1221, 2112
    EXPECT_EQ(bounded(2), 6u);  // and 1212, 2121
    EXPECT_EQ(bounded(3), 6u);
}

TEST(Exhaustive, each_store_that_a_load_may_read_is_one_execution) {
    model::Result result = model::check([] {
        Atomic<int> x{0};
        model::thread([&] {
            for (int i = 1; i <= 4; ++i) x.store(i, kRelaxed);
        });
        model::thread([&] { x.load(kRelaxed); });
        model::join_all();
    });
    EXPECT_EQ(result.executions(), 5u);
}

// Small programs made from a seed; the set of their outcomes must not depend on the exploration.
struct Step {
    enum Kind { Store, Load, Add, Exchange, ExchangeWeak, Await, kinds };
    Kind kind;
    std::size_t atomic;
    int value;
    int expected;
    std::memory_order order;
};

using Program = std::vector<std::vector<Step>>;

class Dice {
public:
    explicit Dice(std::uint64_t seed) : state_(seed) {}
    std::uint32_t roll(std::uint32_t sides) {
        state_ = state_ * 6364136223846793005U + 1442695040888963407U;
        return static_cast<std::uint32_t>(state_ >> 33) % sides;
    }

private:
    std::uint64_t state_;
};

std::memory_order roll_order(Dice& dice, Step::Kind kind) {
    using enum std::memory_order;
    constexpr std::array store_orders = {relaxed, release, seq_cst};
    constexpr std::array load_orders = {relaxed, acquire, seq_cst};
    constexpr std::array update_orders = {relaxed, acquire, release, acq_rel, seq_cst};
    if (kind == Step::Store) return store_orders[dice.roll(3)];
    if (kind == Step::Load || kind == Step::Await) return load_orders[dice.roll(3)];
    return update_orders[dice.roll(5)];
}

Program roll_program(std::uint64_t seed) {
    Dice dice(seed);
    Program program(2 + dice.roll(2));
    int value = 1;
    for (std::vector<Step>& steps : program) {
        std::uint32_t count = program.size() == 2 ? 2 + dice.roll(2) : 1 + dice.roll(2);
        for (std::uint32_t i = 0; i < count; ++i) {
            auto kind = static_cast<Step::Kind>(dice.roll(Step::kinds));
            std::size_t atomic = dice.roll(2);
            int expected = static_cast<int>(dice.roll(2)) * static_cast<int>(dice.roll(4));
            steps.push_back(Step{kind, atomic, value++, expected, roll_order(dice, kind)});
        }
    }
    return program;
}

std::string play(const Step& step, Atomic<int>& atomic) {
    auto failure = step.order == std::memory_order_seq_cst ? step.order : kRelaxed;
    int expected = step.expected;
    bool exchanged = false;
    switch (step.kind) {
    case Step::Store: atomic.store(step.value, step.order); return "";
    case Step::Load: return std::to_string(atomic.load(step.order)) + " ";
    case Step::Add: return std::to_string(atomic.fetch_add(step.value, step.order)) + " ";
    case Step::Await:
        while (atomic.load(step.order) == 0) model::spin_hint();
        return "";
    case Step::Exchange:
        exchanged = atomic.compare_exchange_strong(expected, step.value, step.order, failure);
        break;
    default: exchanged = atomic.compare_exchange_weak(expected, step.value, step.order, failure);
    }
    return (exchanged ? "+" : "-") + std::to_string(expected) + " ";
}

// All outcomes of the program, or one line when it can deadlock.
std::set<std::string> ends(const Program& program, const model::Options& options) {
    std::set<std::string> found;
    model::Result result = model::check(options, [&] {
        std::array<Atomic<int>, 2> atomics;
        std::vector<std::string> told(program.size());
        for (std::size_t i = 0; i < program.size(); ++i) {
            model::thread([&, i] {
                for (const Step& step : program[i]) told[i] += play(step, atomics[step.atomic]);
            });
        }
        model::join_all();
        std::string end;
        for (const std::string& one : told) end += one + "| ";
        for (Atomic<int>& atomic : atomics) end += std::to_string(atomic.load(kRelaxed)) + " ";
        found.insert(end);
    });
    if (result.failed()) return {result.failure()};
    EXPECT_TRUE(result.is_complete());
    return found;
}

TEST(Exhaustive, reductions_lose_no_outcome_of_random_programs) {
    constexpr std::uint64_t programs = 150;
    for (std::uint64_t seed = 1; seed <= programs; ++seed) {
        Program program = roll_program(seed);
        std::set<std::string> everything = ends(program, unreduced());
        EXPECT_EQ(ends(program, {}), everything) << "seed " << seed;
        EXPECT_EQ(ends(program, model::Options{.preemption_bound = 20}), everything)
            << "seed " << seed;
    }
}

}  // namespace
}  // namespace weft
