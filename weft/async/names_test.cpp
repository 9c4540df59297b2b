// A program may use both namespaces: no name of the one hides or clashes with one of the other.
#include <gtest/gtest.h>

#include "weft/async/combine.h"
#include "weft/async/group.h"
#include "weft/async/periodic.h"
#include "weft/async/pool.h"
#include "weft/async/retry.h"
#include "weft/async/scope.h"
#include "weft/async/shared_task.h"
#include "weft/async/supervisor.h"
#include "weft/async/task.h"
#include "weft/async/ticker.h"
#include "weft/async/timeout.h"
#include "weft/fiber/blocking.h"
#include "weft/fiber/runtime.h"
#include "weft/sync/channel.h"
#include "weft/sync/select.h"

using namespace weft;
using namespace weft::async;

namespace {

TEST(Names, SC_2a_run_means_a_runtime_and_run_task_a_task) {
    Result<int> outcome = run([]() -> Result<int> {
        Task<int> deduced = WEFT_TRY(run_task([] { return 40; }));
        Task<int> stated = WEFT_TRY(Task<int>::run([](Context&) -> Result<int> { return 2; }));
        auto below = WEFT_TRY(run_with_context(Context::current(), [] { return 0; }));
        auto same = WEFT_TRY(Task<int>::run_with_context(Context::current(), [] { return 0; }));
        int sum = WEFT_TRY(deduced.wait());
        sum += WEFT_TRY(stated.wait());
        sum += WEFT_TRY(below.wait());
        return sum + WEFT_TRY(same.wait());
    });
    EXPECT_EQ(outcome, 42);
}

}  // namespace
