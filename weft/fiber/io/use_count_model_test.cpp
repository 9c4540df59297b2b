// The use count of descriptors under every order of its home, other threads and the closer: exactly
// one thread is told to finish the close, and it does so after every use.
//
// The class is the product's own; its rules of order are left out one by one, and each omission
// must be found, or this test could not fail.
#include <gtest/gtest.h>

#include "weft/fiber/io/use_count.h"
#include "weft/testing/model.h"

namespace weft {
namespace {

struct LooksFirst : UseOrder {
    static constexpr bool kCountsFirst = false;
};
struct CountsRelaxed : UseOrder {
    static constexpr std::memory_order kCount = std::memory_order_relaxed;
};
// What the hardware does where there is no fence.
struct WithoutFence : UseOrder {
    static constexpr std::memory_order kCount = std::memory_order_release;
    static constexpr std::memory_order kLook = std::memory_order_acquire;
};

// What is used: `descriptor` is 1 until the close is finished.
template <class Order>
struct Thing {
    using Count = BasicUseCount<Order>;
    using Entry = typename Count::Entry;

    Count count = Count::make_open();
    model::Plain<int> descriptor{1};
    Atomic<int> finished{0};

    void end(const void* here) {
        if (!count.end(here)) return;
        descriptor.set(0);
        finished.fetch_add(1, std::memory_order_relaxed);
    }
    bool begin(const void* here) {
        Entry entry = count.begin(here);
        if (entry == Entry::Late) end(here);
        if (entry != Entry::Entered) return false;
        model::require(descriptor.get() == 1, "in a use the descriptor is there");
        return true;
    }
    void use(const void* here) {
        if (!begin(here)) return;
        model::require(descriptor.get() == 1, "nobody closes it under a use");
        end(here);
    }
    void close(const void* here) {
        if (count.begin(here) == Entry::Refused) return;
        static_cast<void>(count.close());
        end(here);
    }
    void settle(const void* home) {
        model::require(begin(nullptr), "it is open");
        count.settle(home);
        end(nullptr);
    }
    void expect_closed() {
        model::require(finished.load(std::memory_order_relaxed) == 1, "one finishes the close");
        model::require(descriptor.get() == 0, "and it is finished");
        model::require(count.is_idle() && count.is_closed(), "nobody is left");
    }
};

const int kHome = 0;

template <class Order>
void home_against_closer() {
    Thing<Order> thing;
    thing.settle(&kHome);
    model::thread([&] {
        thing.use(&kHome);
        thing.use(&kHome);
    });
    model::thread([&] { thing.close(nullptr); });
    model::join_all();
    thing.expect_closed();
}

template <class Order>
void home_and_others_against_closer() {
    Thing<Order> thing;
    thing.settle(&kHome);
    model::thread([&] { thing.use(&kHome); });
    model::thread([&] { thing.use(nullptr); });
    model::thread([&] { thing.close(nullptr); });
    model::join_all();
    thing.expect_closed();
}

// The fiber was moved while it waited in the call.
template <class Order>
void moved_against_closer() {
    Thing<Order> thing;
    thing.settle(&kHome);
    model::require(thing.begin(&kHome), "it is open");
    model::thread([&] { thing.end(nullptr); });
    model::thread([&] { thing.use(&kHome); });
    model::thread([&] { thing.close(nullptr); });
    model::join_all();
    thing.expect_closed();
}

// And the other way round, with a closer at home.
template <class Order>
void home_closes() {
    Thing<Order> thing;
    thing.settle(&kHome);
    model::require(thing.begin(nullptr), "it is open");
    model::thread([&] {
        thing.use(&kHome);
        thing.close(&kHome);
    });
    model::thread([&] { thing.end(nullptr); });
    model::thread([&] { thing.use(nullptr); });
    model::join_all();
    thing.expect_closed();
}

// Two close; one of them may be refused.
template <class Order>
void two_closers() {
    Thing<Order> thing;
    thing.settle(&kHome);
    model::thread([&] {
        thing.use(&kHome);
        thing.close(&kHome);
    });
    model::thread([&] { thing.close(nullptr); });
    model::join_all();
    thing.expect_closed();
}

// A use begins before there is a home, and ends there.
template <class Order>
void home_is_found_meanwhile() {
    Thing<Order> thing;
    model::thread([&] {
        if (!thing.begin(&kHome)) return;
        thing.count.settle(&kHome);
        thing.end(&kHome);
        thing.use(&kHome);
    });
    model::thread([&] { thing.close(nullptr); });
    model::join_all();
    thing.expect_closed();
}

constexpr model::Options kBounded{.preemption_bound = 3, .spurious_failures = 0};

TEST(UseCountModel, RCT_2c_a_descriptor_is_closed_once_and_after_every_use_of_its_home) {
    model::Result result = model::check(home_against_closer<UseOrder>);
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(UseCountModel, RCT_2c_a_descriptor_is_closed_after_the_uses_of_home_and_others) {
    model::Result result = model::check(kBounded, home_and_others_against_closer<UseOrder>);
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(UseCountModel, RCT_2c_a_use_may_begin_at_home_and_end_elsewhere) {
    model::Result result = model::check(kBounded, moved_against_closer<UseOrder>);
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(UseCountModel, RCT_2c_the_home_closes) {
    model::Result result = model::check(kBounded, home_closes<UseOrder>);
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(UseCountModel, RCT_2c_of_two_closers_one_finishes) {
    model::Result result = model::check(two_closers<UseOrder>);
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(UseCountModel, RCT_2c_a_home_is_found_while_another_closes) {
    model::Result result = model::check(home_is_found_meanwhile<UseOrder>);
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(UseCountModel, every_weakening_is_found) {
    EXPECT_TRUE(model::check(home_against_closer<LooksFirst>).failed());
    EXPECT_TRUE(model::check(home_against_closer<CountsRelaxed>).failed());
    EXPECT_TRUE(model::check(home_against_closer<WithoutFence>).failed());
}

}  // namespace
}  // namespace weft
