// If there is no memory for the fibers of an application, it returns an error and no caller waits
// for ever.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "weft/api/application/application.h"
#include "weft/api/data/data_store.h"
#include "weft/api/host.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/runtime.h"
#include "weft/js/watchdog.h"
#include "weft/testing/scale.h"
#include "weft/testing/stack_shortage.h"

namespace weft::api {
namespace {

using weft::testing::end_with;
using weft::testing::StackShortage;

class NoMemoryDeathTest : public ::testing::Test {
protected:
    void SetUp() override {
        GTEST_FLAG_SET(death_test_style, "threadsafe");
        if (weft::testing::kSanitizer)
            GTEST_SKIP() << "the sanitizer itself needs the address space";
        weft::testing::use_one_heap();
    }
};

// Runs `ask` while no stack can be allocated, and returns its result.
template <class Function>
std::string without_stacks(Runtime& runtime, Function ask) {
    weft::testing::fill_heap(16 << 20);
    std::string verdict;
    Result<void> ran = runtime
                           .spawn_pinned(0,
                                         [&] {
                                             StackShortage shortage;
                                             auto outcome = ask();
                                             bool dry = shortage.end() > 0;
                                             verdict = outcome ? "it had memory"
                                                               : to_string(outcome.error().kind());
                                             verdict += dry ? ", no stacks" : ", stacks";
                                         })
                           .join();
    return ran ? verdict : ran.error().message();
}

TEST_F(NoMemoryDeathTest, FIB_4h_an_application_whose_fiber_gets_no_stack_does_not_open) {
    EXPECT_EXIT(
        {
            Runtime runtime({.workers = 1, .pinned_workers = 1});
            js::Watchdog watchdog;
            end_with(without_stacks(runtime, [&] {
                ApplicationOptions options;
                options.name = "test";
                options.entry = "/nowhere/test.js";
                options.worker = runtime.worker_count() - 1;
                return JsApplication::create(runtime, watchdog, std::move(options));
            }));
        },
        ::testing::ExitedWithCode(0), "out of memory, no stacks");
}

TEST_F(NoMemoryDeathTest, FIB_4h_a_handle_that_no_fiber_can_end_with_its_request_is_an_error) {
    EXPECT_EXIT(
        {
            Runtime runtime({.workers = 1, .pinned_workers = 1});
            ApplicationOptions options;
            DataStore store(options);
            CancelSource request;
            end_with(without_stacks(runtime, [&]() -> Result<void> {
                double number = WEFT_TRY(store.keep(std::make_shared<DataHandle>()));
                return store.watch(number, request.token());
            }));
        },
        ::testing::ExitedWithCode(0), "out of memory, no stacks");
}

}  // namespace
}  // namespace weft::api
