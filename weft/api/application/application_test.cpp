#include "weft/api/application/application.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <v8.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "weft/api/host.h"
#include "weft/fiber/runtime.h"
#include "weft/testing/scale.h"

namespace weft::api {

extern "C" void weft_open_host(Runtime& runtime, std::unique_ptr<Host>& host);

namespace {

using ::testing::HasSubstr;

// A runtime with one worker for isolates, and helpers to run functions on it.
class ApplicationTest : public ::testing::Test {
protected:
    ApplicationTest() : runtime_({.workers = 1, .pinned_workers = 1}) {
        weft_open_host(runtime_, host_);
    }

    template <class Function>
    auto on_owner(Function function) {
        return runtime_.spawn_pinned(0, std::move(function)).join();
    }

    ApplicationOptions options(std::string text) {
        ApplicationOptions options;
        options.name = "test";
        options.entry = "/nowhere/test.js";
        options.text = std::move(text);
        options.worker = runtime_.worker_count() - 1;
        return options;
    }

    // Loads the text and runs it to its end.
    Result<void> run(std::string text) {
        return on_owner([&]() -> Result<void> {
            auto application = WEFT_TRY(host_->open(options(std::move(text))));
            Result<void> outcome = application->load();  // tidy: allow order: of a script
            if (outcome) outcome = application->run_to_end();
            application->close();
            return outcome;
        });
    }

    Runtime runtime_;
    std::unique_ptr<Host> host_;
};

using ApplicationDeathTest = ApplicationTest;

// Processor time of this thread, so that other programs of the machine do not matter.
Nanoseconds processor_time() {
    timespec time{};
    // tidy: allow clock: the processor time of a thread, which Env does not have
    EXPECT_EQ(::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time), 0);
    return std::chrono::seconds(time.tv_sec) + Nanoseconds(time.tv_nsec);
}

TEST_F(ApplicationTest, JS_3_a_script_runs_to_its_end) {
    EXPECT_TRUE(run("await new Promise((done) => setTimeout(done, 1));"));
}

TEST_F(ApplicationTest, SC_7_what_comes_after_its_callers_wait_is_counted) {
    Result<std::uint64_t> late = on_owner([&]() -> Result<std::uint64_t> {
        auto application = WEFT_TRY(host_->open(options(R"(
            import { withTimeout } from "weft:async";
            import { Time } from "weft:time";
            const held = Promise.withResolvers();
            const all = [
                withTimeout(1, () => held.promise),
                Time.timeout(() => held.promise, { afterMs: 1 }),
                withTimeout(1, async (context) => { await held.promise; context.check(); }),
            ];
            await Promise.allSettled(all);
            held.resolve();
        )")));
        Result<void> outcome = application->load();  // tidy: allow order: of a script
        if (outcome) outcome = application->run_to_end();
        std::uint64_t counted = application->counters().late;
        application->close();
        WEFT_TRY(outcome);
        return counted;
    });
    ASSERT_TRUE(late) << late.error().message();
    EXPECT_EQ(*late, 3U);
}

TEST_F(ApplicationTest, JS_2_an_error_names_its_place_and_shows_the_line) {
    Result<void> outcome = run("const a = 1;\n  throw new TypeError('no such user');\n");
    ASSERT_FALSE(outcome);
    EXPECT_THAT(outcome.error().message(), HasSubstr("test.js:2:"));
    EXPECT_THAT(outcome.error().message(), HasSubstr("throw new TypeError"));
    EXPECT_THAT(outcome.error().message(), HasSubstr("TypeError: no such user"));
}

TEST_F(ApplicationTest, JS_2_errors_that_resist_being_printed_are_printed) {
    for (const char* thrown : {
             "throw { get stack() { throw 1; }, toString() { throw 2; } };",
             "throw new Proxy({}, { get() { throw 1; } });",
             "Error.prepareStackTrace = () => { throw 1; }; throw new Error('x');",
             "const e = new Error('x'); e.cause = e; throw e;",
             "throw Symbol('s');",
             "throw null;",
         }) {
        Result<void> outcome = run(thrown);
        ASSERT_FALSE(outcome) << thrown;
        EXPECT_FALSE(outcome.error().message().empty()) << thrown;
    }
}

TEST_F(ApplicationTest, JS_2_a_top_level_await_that_can_never_end_is_told) {
    Result<void> outcome = run("await new Promise(() => {});");
    ASSERT_FALSE(outcome);
    EXPECT_THAT(outcome.error().message(), HasSubstr("nothing is pending"));
}

// Isolates that share V8's read-only heap are made from one snapshot and end in any order.
TEST_F(ApplicationTest, JS_1_many_isolates_come_and_go_in_mixed_order) {
    const int count = static_cast<int>(weft::testing::repeats(40));
    Result<void> outcome = on_owner([&]() -> Result<void> {
        std::vector<std::unique_ptr<Application>> open;
        for (int made = 0; made < count; ++made) {
            open.push_back(WEFT_TRY(host_->open(options("globalThis.x = new URL('http://a/');"))));
            WEFT_TRY(open.back()->load());  // tidy: allow order: of a script
            if (made % 3 != 2) continue;
            std::size_t at = static_cast<std::size_t>(made) % open.size();
            open[at]->close();
            open.erase(open.begin() + static_cast<std::ptrdiff_t>(at));
        }
        std::reverse(open.begin(), open.end());
        for (auto& application : open) application->close();
        return {};
    });
    EXPECT_TRUE(outcome) << outcome.error().message();
}

TEST_F(ApplicationTest, JS_7_a_buffer_beyond_the_limit_is_a_RangeError) {
    EXPECT_TRUE(
        run("let name; try { new ArrayBuffer(2 ** 33); } catch (e) { name = e.name; }\n"
            "if (name !== 'RangeError') throw new Error('got ' + name);"));
}

TEST_F(ApplicationTest, SCP_1_closing_ends_what_is_under_way) {
    Result<void> outcome = on_owner([&]() -> Result<void> {
        auto application =
            WEFT_TRY(host_->open(options("setInterval(() => {}, 1); setTimeout(() => {}, 1e9);")));
        WEFT_TRY(application->load());  // tidy: allow order: of a script
        application->close();
        return {};
    });
    EXPECT_TRUE(outcome);
}

TEST_F(ApplicationDeathTest, JS_1_javascript_is_entered_on_its_owners_own_stack_only) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    js::Watchdog watchdog;
    EXPECT_DEATH(static_cast<void>(on_owner([&] {
                     auto application = JsApplication::create(runtime_, watchdog, options("1"));
                     // The stack of a fiber is not the stack of the thread.
                     (*application)->isolate().turn([](v8::Local<v8::Context>) {});
                 })),
                 "owner's own stack only");
}

TEST_F(ApplicationDeathTest, JS_1_javascript_is_entered_on_its_owners_thread_only) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    js::Watchdog watchdog;
    EXPECT_DEATH(static_cast<void>(on_owner([&] {
                     auto application = JsApplication::create(runtime_, watchdog, options("1"));
                     js::Isolate& isolate = (*application)->isolate();
                     std::thread([&] { isolate.turn([](v8::Local<v8::Context>) {}); }).join();
                 })),
                 "owner's own stack only");
}

// The figure in the contract holds on an idle machine; docs/design/015 has others. This bound
// distinguishes an isolate that reads the snapshot from one that runs the scripts, also while other
// programs use the caches.
TEST_F(ApplicationTest, JS_14_an_isolate_begins_from_the_snapshot) {
    constexpr int kAttemptsMax = 200;
    constexpr Nanoseconds kProcessorTimeMax =
        std::chrono::milliseconds(weft::testing::kSanitizer ? 100 : 12);
    constexpr int kAttemptsMin = 10;
    js::Watchdog watchdog;
    Result<Nanoseconds> best = on_owner([&]() -> Result<Nanoseconds> {
        Nanoseconds least = Nanoseconds::max();
        for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
            if (attempt >= kAttemptsMin && least <= kProcessorTimeMax) break;
            Nanoseconds begun = processor_time();
            auto application =
                WEFT_TRY(JsApplication::create(runtime_, watchdog, options("new URL('a:b')")));
            least = std::min(least, processor_time() - begun);
            application->close();
        }
        return least;
    });
    ASSERT_TRUE(best) << best.error().message();
    RecordProperty("isolate_us", std::to_string(best->count() / 1000));
    EXPECT_LE(*best, kProcessorTimeMax);
}

// With copies of the texts of the prelude's scripts, the heap has 2.7 MB.
TEST_F(ApplicationTest, JS_14_isolates_share_the_texts_of_the_prelude) {
    constexpr std::size_t kHeapBytesMax = 2'200'000;
    js::Watchdog watchdog;
    Result<std::size_t> used = on_owner([&]() -> Result<std::size_t> {
        auto application =
            WEFT_TRY(JsApplication::create(runtime_, watchdog, options("new URL('a:b')")));
        v8::HeapStatistics heap;
        v8::Isolate::GetCurrent()->GetHeapStatistics(&heap);
        application->close();
        return heap.used_heap_size();
    });
    ASSERT_TRUE(used) << used.error().message();
    EXPECT_LE(*used, kHeapBytesMax);
}

}  // namespace
}  // namespace weft::api
