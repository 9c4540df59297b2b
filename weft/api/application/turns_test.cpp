// What an isolate promises about its turns and tasks, asked from C++.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "weft/api/application/application.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/js/describe.h"
#include "weft/js/task.h"
#include "weft/sync/event.h"
#include "weft/testing/scale.h"

namespace weft::api {
namespace {

using namespace std::chrono_literals;

// An isolate, and a fiber of its owner's worker that asks it.
class Turns : public ::testing::Test {
protected:
    Turns() : runtime_({.workers = 1, .pinned_workers = 1}) {}

    // Runs the function on a fiber of the owner, with an isolate whose turns have so much time.
    template <class Function>
    void with_isolate(ApplicationLimits limits, Function function) {
        Result<void> outcome =
            runtime_
                .spawn_pinned(0,
                              [&]() -> Result<void> {
                                  auto application = WEFT_TRY(
                                      JsApplication::create(runtime_, watchdog_, options(limits)));
                                  WEFT_TRY(application->load());  // tidy: allow order: of a script
                                  function(application->isolate());
                                  application->close();
                                  return {};
                              })
                .join();
        EXPECT_TRUE(outcome) << outcome.error().message();
    }

    ApplicationOptions options(ApplicationLimits limits) {
        ApplicationOptions options;
        options.name = "test";
        options.entry = "/nowhere/test.js";
        options.text = "globalThis.told = [];";
        options.limits = limits;
        options.worker = runtime_.worker_count() - 1;
        return options;
    }

    // Jobs in a row, so that a turn follows the one before at once.
    static std::vector<js::TurnEnd> run(js::Isolate& isolate,
                                        const std::vector<std::string>& scripts) {
        std::vector<js::TurnEnd> ends;
        Event done;
        for (const std::string& script : scripts) {
            isolate.post([&, script] {
                ends.push_back(isolate.turn(
                    [&](v8::Local<v8::Context> context) { evaluate(isolate, context, script); }));
                if (ends.size() == scripts.size()) done.set();
            });
        }
        EXPECT_TRUE(done.wait());
        return ends;
    }

    static v8::Local<v8::Value> evaluate(js::Isolate& isolate, v8::Local<v8::Context> context,
                                         const std::string& script) {
        v8::Local<v8::Script> compiled;
        v8::Local<v8::Value> value;
        if (!v8::Script::Compile(context, js::to_v8(isolate.v8(), script)).ToLocal(&compiled) ||
            !compiled->Run(context).ToLocal(&value))
            value = v8::Undefined(isolate.v8());
        return value;
    }

    static std::string text_of(js::Isolate& isolate, const std::string& script) {
        std::string text;
        Event done;
        isolate.post([&] {
            isolate.turn([&](v8::Local<v8::Context> context) {
                text = js::to_text(isolate.v8(), evaluate(isolate, context, script));
            });
            done.set();
        });
        EXPECT_TRUE(done.wait());
        return text;
    }

    // Lets the script start a task and tell how it ends; gives its number.
    template <class Start>
    static double start(js::Isolate& isolate, Start start_task) {
        double task = 0;
        Event done;
        isolate.post([&] {
            isolate.turn([&](v8::Local<v8::Context> context) {
                v8::Local<v8::Promise> promise = start_task();
                task = js::last_task(isolate);
                js::seen_by_turn(
                    context->Global()->Set(context, js::to_v8(isolate.v8(), "promise"), promise));
                evaluate(isolate, context,
                         "promise.then((value) => told.push(`resolved ${value}`),"
                         "             (error) => told.push(`rejected ${error.code}`))");
            });
            done.set();
        });
        EXPECT_TRUE(done.wait());
        return task;
    }

    // What was told since the last time.
    static std::string told(js::Isolate& isolate) {
        return text_of(isolate, "told.splice(0).join()");
    }

    js::Watchdog watchdog_;
    Runtime runtime_;
};

std::string busy_for(int ms) {
    return "{ const end = performance.now() + " + std::to_string(ms) +
           "; while (performance.now() < end); }";
}

TEST_F(Turns, JS_5_the_watchdog_never_ends_the_turn_after_the_guilty_one) {
    with_isolate({.cpu = 20ms}, [&](js::Isolate& isolate) {
        for (std::size_t round = 0; round < weft::testing::repeats(20); ++round) {
            // The second of each pair is innocent, and begins when the watchdog is at its busiest.
            std::vector<js::TurnEnd> ends =
                run(isolate, {"for (;;);", "1 + 1", busy_for(17 + static_cast<int>(round % 8)),
                              busy_for(2), "for (;;) try { for (;;); } catch {}", "2 + 2"});
            EXPECT_EQ(ends[0], js::TurnEnd::TooLong);
            EXPECT_EQ(ends[1], js::TurnEnd::Done);
            EXPECT_EQ(ends[3], js::TurnEnd::Done);
            EXPECT_EQ(ends[4], js::TurnEnd::TooLong);
            EXPECT_EQ(ends[5], js::TurnEnd::Done);
        }
        EXPECT_GE(isolate.counters().too_long, 2 * weft::testing::repeats(20));
    });
}

TEST_F(Turns, JS_4_a_flood_of_microtasks_ends_its_own_turn_only) {
    with_isolate({.cpu = 10s, .microtasks = 100}, [&](js::Isolate& isolate) {
        const char* flood = "(async () => { for (;;) await null; })()";
        const char* some =
            "(async () => { for (let i = 0; i < 90; i++) await null;"
            " told.push('whole'); })()";
        std::vector<js::TurnEnd> ends = run(isolate, {flood, some, flood, some});
        EXPECT_EQ(ends, (std::vector{js::TurnEnd::Flooded, js::TurnEnd::Done, js::TurnEnd::Flooded,
                                     js::TurnEnd::Done}));
        EXPECT_EQ(text_of(isolate, "told.join()"), "whole,whole");
        EXPECT_EQ(isolate.counters().flooded, 2U);
    });
}

// The work of a task that waits to be let go on.
struct Waiting {
    Event started;
    Event go;
    js::Work work() {
        return [this]() -> Result<js::Settled> {
            started.set();
            WEFT_TRY(go.wait());
            return js::settled(1.0);
        };
    }
};

TEST_F(Turns, SCP_3_a_task_that_completes_and_is_cancelled_settles_once_in_both_orders) {
    with_isolate({}, [&](js::Isolate& isolate) {
        for (bool completes_first : {true, false}) {
            Waiting waiting;
            CancelSource request;
            double task = start(isolate, [&] {
                return js::start_task(isolate, "test", waiting.work(), request.token());
            });
            ASSERT_TRUE(waiting.started.wait());
            std::uint64_t settled = isolate.counters().tasks_settled;
            // The task's fiber, of the same worker, does not run between the two.
            if (completes_first) waiting.go.set();
            js::cancel_task(isolate, task);
            waiting.go.set();
            while (isolate.counters().tasks_settled == settled) yield();
            // Too late for anything.
            js::cancel_task(isolate, task);
            request.cancel();
            EXPECT_EQ(told(isolate), completes_first ? "resolved 1" : "rejected Cancelled");
            EXPECT_EQ(told(isolate), "");
            EXPECT_EQ(isolate.tasks(), 0U);
        }
        EXPECT_EQ(isolate.counters().tasks_started, isolate.counters().tasks_settled);
        EXPECT_EQ(isolate.counters().late, 0U);
    });
}

TEST_F(Turns, SCP_3_what_completes_or_is_started_after_the_end_of_its_request_is_late) {
    with_isolate({}, [&](js::Isolate& isolate) {
        CancelSource request;
        bool is_over = false;
        auto find_token = std::exchange(isolate.find_token, [&](double) {
            return is_over ? std::nullopt : std::optional(request.token());
        });
        Waiting waiting;
        start(isolate, [&] { return js::start_task(isolate, "test", waiting.work()); });
        ASSERT_TRUE(waiting.started.wait());
        waiting.go.set();
        is_over = true;
        while (isolate.tasks() > 0) yield();
        EXPECT_EQ(told(isolate), "rejected Cancelled");
        EXPECT_EQ(isolate.counters().late, 1U);
        start(isolate, [&] { return js::start_task(isolate, "test", waiting.work()); });
        EXPECT_EQ(told(isolate), "rejected Cancelled");
        EXPECT_EQ(isolate.counters().late, 2U);
        isolate.find_token = std::move(find_token);
    });
}

TEST_F(Turns, SCP_3_a_task_that_completes_in_an_isolate_that_ends_is_late) {
    with_isolate({}, [&](js::Isolate& isolate) {
        Waiting waiting;
        CancelSource request;
        start(isolate,
              [&] { return js::start_task(isolate, "test", waiting.work(), request.token()); });
        ASSERT_TRUE(waiting.started.wait());
        isolate.condemn();
        waiting.go.set();
        isolate.wait_for_end();
        EXPECT_EQ(isolate.tasks(), 0U);
        EXPECT_EQ(isolate.counters().late, 1U);
    });
}

}  // namespace
}  // namespace weft::api
