#include <gtest/gtest.h>

#include <mutex>

#include "weft/base/spin_lock.h"
#include "weft/testing/model.h"

namespace weft {
namespace {

TEST(SpinLockModel, holders_exclude_each_other_and_see_what_the_last_one_did) {
    model::Result result = model::check([] {
        SpinLock lock;
        model::Plain<int> guarded;
        for (int i = 0; i < 3; ++i) {
            model::thread([&] {
                std::lock_guard guard(lock);
                guarded.set(guarded.get() + 1);
            });
        }
        model::join_all();
        model::require(guarded.get() == 3, "every holder has counted");
    });
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(SpinLockModel, try_lock_either_fails_or_holds_the_lock) {
    model::Result result = model::check([] {
        SpinLock lock;
        model::Plain<int> guarded;
        Atomic<int> successes{0};
        for (int i = 0; i < 2; ++i) {
            model::thread([&] {
                if (!lock.try_lock()) return;
                guarded.set(guarded.get() + 1);
                lock.unlock();
                successes.fetch_add(1, std::memory_order_relaxed);
            });
        }
        model::thread([&] {
            std::lock_guard guard(lock);
            guarded.set(guarded.get() + 1);
        });
        model::join_all();
        int counted = successes.load(std::memory_order_relaxed) + 1;
        model::require(guarded.get() == counted, "only holders have counted");
    });
    EXPECT_TRUE(result.ok()) << result.trace();
}

}  // namespace
}  // namespace weft
