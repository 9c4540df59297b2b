// How a runtime with scopes shuts down: in order, in time, and with a report.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "weft/async/internal/async_test.h"
#include "weft/async/scope.h"
#include "weft/base/atomic.h"
#include "weft/base/spin_lock.h"
#include "weft/fiber/runtime.h"
#include "weft/testing/captured_log.h"
#include "weft/testing/eventually.h"

namespace weft::async {
namespace {

using namespace std::chrono_literals;
using async_test::workers;

constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kRelease = std::memory_order_release;

// The names of the scopes that have ended, in order.
class Order {
public:
    void add(std::string name) {
        SpinGuard guard(lock_);
        names_.push_back(std::move(name));
    }
    std::vector<std::string> names() const {
        SpinGuard guard(lock_);
        return names_;
    }

private:
    mutable SpinLock lock_;
    std::vector<std::string> names_;
};

// A fiber with a scope that ends when it is told to, and not before `slowly`.
Future<void> scope_until_end(Runtime& runtime, ScopeKind kind, Order& order, std::string name,
                             Atomic<int>& open, Nanoseconds slowly = 0ns) {
    return runtime.spawn([&order, &open, kind, name, slowly] {
        EXPECT_TRUE(run_scope(kind, [&](Scope& scope) {
            scope.defer([&] { order.add(name); });
            open.fetch_add(1, std::memory_order_acq_rel);
            EXPECT_FALSE(park());
            if (slowly > 0ns) {
                EXPECT_TRUE(shield(Deadline::after(10s), [&] { return weft::sleep_for(slowly); }));
            }
        }));
    });
}

TEST(ScopeShutdown, FIB_12c_request_scopes_end_before_worker_and_app_scopes) {
    Order order;
    Atomic<int> open{0};
    Runtime runtime(workers(2));
    auto app = scope_until_end(runtime, ScopeKind::App, order, "app", open);
    auto worker = scope_until_end(runtime, ScopeKind::Worker, order, "worker", open, 1ms);
    auto request = scope_until_end(runtime, ScopeKind::Request, order, "request", open, 3ms);
    ASSERT_TRUE(testing::eventually([&] { return open.load(kAcquire) == 3; }));
    EXPECT_TRUE(runtime.shutdown());
    EXPECT_EQ(order.names(), (std::vector<std::string>{"request", "worker", "app"}));
}

TEST(ScopeShutdown, FIB_12c_children_end_before_their_parents) {
    Order order;
    Atomic<bool> parked{false};
    Runtime runtime(workers(2));
    auto outer = runtime.spawn([&] {
        EXPECT_TRUE(run_scope(ScopeKind::Request, [&](Scope& scope) {
            scope.defer([&] { order.add("parent"); });
            EXPECT_TRUE(scope.spawn("inner", [&] {
                // Even if by its kind alone it would end last.
                return run_scope(ScopeKind::App, [&](Scope& inner) {
                    inner.defer([&] { order.add("child"); });
                    parked.store(true, kRelease);
                    EXPECT_FALSE(park());
                    EXPECT_FALSE(scope.context().is_done());  // its turn has not come
                });
            }));
            EXPECT_FALSE(park());
        }));
    });
    ASSERT_TRUE(testing::eventually([&] { return parked.load(kAcquire); }));
    EXPECT_TRUE(runtime.shutdown());
    EXPECT_EQ(order.names(), (std::vector<std::string>{"child", "parent"}));
}

TEST(ScopeShutdown, FIB_12c_what_serves_requests_goes_on_until_they_have_ended) {
    Runtime runtime(workers(2));
    Atomic<int> open{0};
    Atomic<bool> request_ended{false};
    auto app = runtime.spawn([&] {
        EXPECT_TRUE(run_scope(ScopeKind::App, [&](Scope& scope) {
            EXPECT_TRUE(scope.spawn("service", [&] {
                open.fetch_add(1, std::memory_order_acq_rel);
                Result<void> ended = park();
                EXPECT_TRUE(request_ended.load(kAcquire));
                return ended;
            }));
            scope.join();
        }));
    });
    auto request = runtime.spawn([&] {
        EXPECT_TRUE(run_scope(ScopeKind::Request, [&](Scope& scope) {
            scope.defer([&] { request_ended.store(true, kRelease); });
            open.fetch_add(1, std::memory_order_acq_rel);
            EXPECT_FALSE(park());
            EXPECT_TRUE(shield(Deadline::after(10s), [] { return weft::sleep_for(2ms); }));
        }));
    });
    ASSERT_TRUE(testing::eventually([&] { return open.load(kAcquire) == 2; }));
    EXPECT_TRUE(runtime.shutdown());
}

TEST(ScopeShutdown, FIB_12c_a_thread_may_shut_down_in_a_scope_of_its_own) {
    Runtime runtime(workers(1));
    bool cleaned = false;
    EXPECT_TRUE(run_scope(ScopeKind::App, Context::background(runtime), [&](Scope& scope) {
        scope.defer([&] { cleaned = true; });
        EXPECT_TRUE(scope.spawn("service", [] { return park(); }));
        EXPECT_TRUE(runtime.shutdown());
        EXPECT_EQ(scope.context().reason(), CancelReason::Shutdown);
        EXPECT_FALSE(cleaned);
    }));
    EXPECT_TRUE(cleaned);
}

TEST(ScopeShutdown, FIB_12d_a_shutdown_that_times_out_says_who_waits_where) {
    testing::CapturedLog log;
    Runtime runtime(workers(1));
    Event release;
    Atomic<int> open{0};
    Order order;
    auto deaf = runtime.spawn(
        [&] {
            EXPECT_TRUE(run_scope(ScopeKind::Request, [&](Scope&) {
                open.fetch_add(1, std::memory_order_acq_rel);
                async_test::ignore_context_until(release);
            }));
        },
        {.name = "deaf request"});
    auto app = scope_until_end(runtime, ScopeKind::App, order, "app", open);
    ASSERT_TRUE(testing::eventually([&] { return open.load(kAcquire) == 2; }));
    EXPECT_EQ(runtime.shutdown(Deadline::after(20ms)).error().kind(), ErrorKind::TimedOut);
    EXPECT_TRUE(log.contains("1 scopes did not end in their turn"));
    EXPECT_TRUE(log.contains("fiber 'deaf request' did not end; it waits on event"));
#if defined(__x86_64__)
    EXPECT_TRUE(log.contains("ignore_context_until"));
#endif
    // The one that hangs does not prevent the others from ending.
    EXPECT_TRUE(testing::eventually([&] { return !order.names().empty(); }));
    EXPECT_EQ(order.names(), std::vector<std::string>{"app"});
    release.set();
    EXPECT_TRUE(runtime.shutdown());
    EXPECT_TRUE(deaf.join());
}

}  // namespace
}  // namespace weft::async
