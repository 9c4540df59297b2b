#include "weft/fiber/local.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/fiber/runtime.h"
#include "weft/testing/scale.h"

namespace weft {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

RuntimeOptions with_workers(unsigned workers) {
    RuntimeOptions options;
    options.workers = workers;
    return options;
}

TEST(Local, FIB_11a_each_fiber_has_its_own_and_keeps_it_over_switches) {
    FiberLocal<int> number;
    const int fibers = 200;
    Result<int> wrong = run(
        [&]() -> Result<int> {
            std::vector<Future<int>> futures;
            for (int i = 0; i < fibers; ++i) {
                futures.push_back(spawn([&number, i] {
                    int found_wrong = number.get() == 0 ? 0 : 1;
                    number.get() = i;
                    for (int j = 0; j < 20; ++j) {
                        yield();
                        found_wrong += number.get() == i ? 0 : 1;
                    }
                    return found_wrong;
                }));
            }
            int sum = 0;
            for (Future<int>& future : futures) sum += WEFT_TRY(future.join());
            return sum;
        },
        with_workers(2));
    EXPECT_EQ(wrong, 0);
}

TEST(Local, FIB_11a_a_plain_thread_has_its_own) {
    FiberLocal<std::string> name;
    name.get() = "main";
    std::thread([&] {
        EXPECT_EQ(name.get(), "");
        name.get() = "other";
    }).join();
    EXPECT_EQ(name.get(), "main");
    EXPECT_EQ(run([&] { return name.get(); }), "");
}

TEST(Local, FIB_11a_two_variables_are_two) {
    FiberLocal<int> a;
    FiberLocal<int> b;
    EXPECT_TRUE(run([&] {
        a.get() = 1;
        b.get() = 2;
        EXPECT_EQ(a.get(), 1);
        EXPECT_EQ(b.get(), 2);
        EXPECT_EQ(&a.get(), &a.get());
    }));
}

// Writes its name when it ends.
struct Noted {
    std::string* order = nullptr;
    char name = '?';
    ~Noted() {
        if (order) *order += name;
    }
};

TEST(Local, FIB_11a_locals_end_with_their_fiber_newest_first) {
    std::string order;
    FiberLocal<Noted> first;
    FiberLocal<Noted> second;
    Runtime runtime(with_workers(1));
    EXPECT_TRUE(runtime
                    .spawn([&] {
                        first.get().order = &order;
                        first.get().name = '1';
                        second.get().order = &order;
                        second.get().name = '2';
                        EXPECT_EQ(order, "");
                    })
                    .join());
    EXPECT_EQ(order, "21");
}

TEST(Local, FIB_11a_locals_end_also_after_an_exception_and_in_a_thread) {
    std::string order;
    FiberLocal<Noted> noted;
    Runtime runtime(with_workers(1));
    EXPECT_FALSE(runtime
                     .spawn([&] {
                         noted.get().order = &order;
                         noted.get().name = 'x';
                         throw 1;
                     })
                     .join());
    EXPECT_EQ(order, "x");
    std::thread([&] {
        noted.get().order = &order;
        noted.get().name = 'y';
    }).join();
    EXPECT_EQ(order, "xy");
}

// Its destructor waits and makes another local: both are the fiber's business still.
struct Demanding {
    FiberLocal<Noted>* other = nullptr;
    std::string* order = nullptr;
    ~Demanding() {
        if (!other) return;
        static_cast<void>(weft::sleep_for(std::chrono::milliseconds(1)));
        other->get().order = order;
        other->get().name = 'd';
    }
};

TEST(Local, FIB_11a_the_end_of_a_local_may_wait_and_make_another) {
    std::string order;
    FiberLocal<Noted> other;
    FiberLocal<Demanding> demanding;
    Runtime runtime(with_workers(2));
    EXPECT_TRUE(runtime
                    .spawn([&] {
                        demanding.get().other = &other;
                        demanding.get().order = &order;
                    })
                    .join());
    EXPECT_EQ(order, "d");
}

struct Counted {
    static inline Atomic<int> live{0};
    Counted() { live.fetch_add(1, kRelaxed); }
    ~Counted() { live.fetch_sub(1, kRelaxed); }
};

TEST(Local, FIB_11a_no_local_outlives_its_fiber) {
    FiberLocal<Counted> counted;
    {
        Runtime runtime(with_workers(2));
        for (int i = 0; i < 1'000; ++i) {
            runtime.spawn([&] {
                static_cast<void>(counted.get());
                yield();
            });
        }
    }
    EXPECT_EQ(Counted::live.load(kRelaxed), 0);
}

}  // namespace
}  // namespace weft
