// The guarantees of an isolate about its turns and tasks, tested from C++.
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
#include "weft/js/modules.h"
#include "weft/js/task.h"
#include "weft/sync/event.h"
#include "weft/testing/scale.h"

namespace weft::api {
namespace {

using namespace std::chrono_literals;

// An isolate, and a fiber of its worker that uses it.
class Turns : public ::testing::Test {
protected:
    Turns() : runtime_({.workers = 1, .pinned_workers = 1}) {}

    // Runs the function on a fiber of the owning worker, with an isolate whose turns have this time
    // limit.
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

    // Posts the jobs together, so that a turn follows the previous one at once.
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

    // Lets the script start a task and report how it ends; returns the task's number.
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

    // The script's reports since the last call.
    static std::string told(js::Isolate& isolate) {
        return text_of(isolate, "told.splice(0).join()");
    }

    // Tests repeatedly, for at most a minute, whether the script's value is this text.
    static bool becomes(js::Isolate& isolate, const std::string& script, std::string_view text) {
        for (Instant end = Clock::now() + 60s; Clock::now() < end; yield())
            if (text_of(isolate, script) == text) return true;
        return false;
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
            // The second script of each pair is short, and begins when the watchdog is busiest.
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
        EXPECT_EQ(ends, (std::vector{js::TurnEnd::MicrotaskLimit, js::TurnEnd::Done,
                                     js::TurnEnd::MicrotaskLimit, js::TurnEnd::Done}));
        EXPECT_EQ(text_of(isolate, "told.join()"), "whole,whole");
        EXPECT_EQ(isolate.counters().microtask_limit, 2U);
    });
}

// The work of a task that waits for an event.
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
            // The task's fiber is on the same worker and does not run between the two.
            if (completes_first) waiting.go.set();
            js::cancel_task(isolate, task);
            waiting.go.set();
            while (isolate.counters().tasks_settled == settled) yield();
            // The task has ended, so this must have no effect.
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

// ---------------------------------------------------------------- turns that are ended by force

TEST_F(Turns, JS_5_a_script_cannot_make_its_thread_sleep) {
    with_isolate({}, [&](js::Isolate& isolate) {
        EXPECT_EQ(text_of(isolate,
                          "try { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1) }"
                          " catch (error) { error.constructor.name }"),
                  "TypeError");
    });
}

// Forty callbacks together take longer than one turn may.
TEST_F(Turns, JS_5_timers_that_are_due_together_have_a_limit_each) {
    with_isolate({.cpu = 100ms}, [&](js::Isolate& isolate) {
        run(isolate, {"globalThis.fired = 0; for (let i = 0; i < 40; i++)"
                      " setTimeout(() => { " +
                      busy_for(5) + " fired++; }, 1);" + busy_for(2)});
        EXPECT_TRUE(becomes(isolate, "fired", "40"));
        EXPECT_EQ(isolate.counters().too_long, 0U);
        // A callback that exceeds the limit is ended, and only that one.
        run(isolate, {"fired = 0; for (let i = 0; i < 10; i++)"
                      " setTimeout(() => { if (i === 3) for (;;); fired++; }, 1);"});
        EXPECT_TRUE(becomes(isolate, "fired", "9"));
        EXPECT_EQ(isolate.counters().too_long, 1U);
    });
}

TEST_F(Turns, JS_4_the_worker_looks_at_others_between_timers_that_are_due_together) {
    with_isolate({}, [&](js::Isolate& isolate) {
        run(isolate, {"globalThis.fired = 0; for (let i = 0; i < 50; i++) { setTimeout(() => { " +
                      busy_for(1) + " fired++; }, 1); setImmediate(() => { " + busy_for(1) +
                      " fired++; }); } " + busy_for(2)});
        std::size_t between = 0;
        for (std::string fired; fired != "100"; fired = text_of(isolate, "fired")) {
            if (!fired.empty() && fired != "0") ++between;
            yield();
        }
        EXPECT_GE(between, 20U);
    });
}

// A client of the debugger may import the path of a text that is about to be loaded.
TEST_F(Turns, JS_2_a_module_that_a_text_replaces_lives_on) {
    with_isolate({}, [&](js::Isolate& isolate) {
        js::Modules& modules = isolate.modules();
        EXPECT_TRUE(modules.load_text("globalThis.where = () => import.meta.url", "/nowhere/a.js"));
        EXPECT_TRUE(modules.load_text("told.push('loaded')", "/nowhere/a.js"));
        EXPECT_EQ(told(isolate), "loaded");
        EXPECT_EQ(text_of(isolate, "where()"), "file:///nowhere/a.js");
    });
}

// What V8 has settled in a turn that was ended is not pending, although nobody has learned of it.
TEST_F(Turns, JS_9_a_turn_that_was_ended_leaves_no_compilation_pending) {
    with_isolate({.cpu = 10s, .microtasks = 100}, [&](js::Isolate& isolate) {
        run(isolate, {"const module = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);"
                      "for (let i = 0; i < 500; i++)"
                      "    WebAssembly.compile(module).then(() => { told.push(i); });" +
                      busy_for(100)});
        for (Instant end = Clock::now() + 20s; !isolate.is_idle() && Clock::now() < end;) yield();
        EXPECT_TRUE(isolate.is_idle());
        EXPECT_GE(isolate.counters().microtask_limit, 1U);
    });
}

// A turn may be ended within the prelude too: here while timers are inserted into and removed from
// their table.
TEST_F(Turns, JS_5_timers_of_others_fire_whatever_was_cut_off) {
    with_isolate({.cpu = 10ms}, [&](js::Isolate& isolate) {
        run(isolate, {"globalThis.ids = []; globalThis.ticks = 0; setInterval(() => ticks++, 1);"
                      "globalThis.fired = []; globalThis.order = []; globalThis.f = () => {};"});
        for (std::size_t round = 0; round < weft::testing::repeats(15); ++round) {
            // Enough timers that the heap has many levels.
            std::vector<js::TurnEnd> begun =
                run(isolate, {"fired.length = order.length = 0;"
                              "for (let i = 0; i < 300; i++) {"
                              "  fired[i] = 0; setTimeout(() => { fired[i]++; order.push(i); },"
                              "                           30 + i * 7 % 30); }"});
            EXPECT_EQ(begun.front(), js::TurnEnd::Done);
            std::vector<js::TurnEnd> ends =
                run(isolate, {"for (;;) clearTimeout(setTimeout(f, 1))",
                              "for (let i = 0; ; i++) { clearTimeout(ids[i % 2000]);"
                              "  ids[i % 2000] = setTimeout(f, 20 - i % 20); }",
                              "for (;;) clearImmediate(setImmediate(f))"});
            EXPECT_EQ(ends, std::vector(3, js::TurnEnd::TooLong));
            ASSERT_TRUE(becomes(isolate, "order.length >= 300", "true")) << round;
            EXPECT_EQ(text_of(isolate, "fired.every((times) => times === 1)"), "true");
            text_of(isolate, "ticks = 0");
            ASSERT_TRUE(becomes(isolate, "ticks > 1", "true")) << round;
            ASSERT_EQ(isolate.counters().uncaught, 0U) << round;
        }
    });
}

// Web IDL: the functions that clear a timer take a long, so no id may exceed one.
TEST_F(Turns, JS_8_timers_can_be_cleared_when_there_have_been_more_than_ids) {
    with_isolate({}, [&](js::Isolate& isolate) {
        text_of(isolate, "globalThis.fired = []; globalThis.first = setInterval(() => {}, 60_000)");
        Event done;
        isolate.post([&] {
            isolate.turn([&](v8::Local<v8::Context> context) {
                v8::Local<v8::Value> begin;
                ASSERT_TRUE(isolate.hook_of("timers", "setLastId").ToLocal(&begin));
                v8::Local<v8::Value> id = v8::Integer::New(isolate.v8(), 0x7ffffffe);
                js::seen_by_turn(
                    begin.As<v8::Function>()->Call(context, v8::Undefined(isolate.v8()), 1, &id));
            });
            done.set();
        });
        EXPECT_TRUE(done.wait());
        EXPECT_EQ(text_of(isolate,
                          "globalThis.ids = [setTimeout(() => fired.push('timeout'), 1),"
                          "  setInterval(() => fired.push('interval'), 1),"
                          "  setImmediate(() => fired.push('immediate'))];"
                          "clearTimeout(ids[0]); clearInterval(ids[1]); clearImmediate(ids[2]);"
                          "ids.map((id) => id - first)"),
                  "2147483646,1,2");
        text_of(isolate, "setTimeout(() => fired.push('other'), 2)");
        EXPECT_TRUE(becomes(isolate, "fired.join()", "other"));
    });
}

TEST_F(Turns, JS_5_errors_are_events_again_after_a_listener_was_cut_off) {
    with_isolate({.cpu = 20ms}, [&](js::Isolate& isolate) {
        run(isolate, {"globalThis.spin = () => { for (;;); }; addEventListener('error', spin);"
                      "reportError(new Error('one'));",
                      "removeEventListener('error', spin);"
                      "addEventListener('error', (event) => {"
                      "  told.push(event.message); event.preventDefault(); });"
                      "reportError(new Error('two'));"});
        EXPECT_EQ(told(isolate), "Uncaught Error: two");
        EXPECT_EQ(isolate.counters().uncaught, 0U);
    });
}

// The description of an error is computed by code of the script.
TEST_F(Turns, JS_5_the_description_of_an_error_is_limited_too) {
    with_isolate({.cpu = 20ms}, [&](js::Isolate& isolate) {
        v8::Global<v8::Promise> promise;
        Event made;
        isolate.post([&] {
            isolate.turn([&](v8::Local<v8::Context> context) {
                v8::Local<v8::Value> value =
                    evaluate(isolate, context,
                             "Promise.reject({ get stack() { if (++told.length > 3) return 'x';"
                             " for (;;); } })");
                isolate.expect_outcome(value.As<v8::Promise>());
                promise.Reset(isolate.v8(), value.As<v8::Promise>());
            });
            made.set();
        });
        EXPECT_TRUE(made.wait());
        Result<void> outcome = isolate.await(std::move(promise));
        EXPECT_FALSE(outcome);
        EXPECT_EQ(isolate.counters().too_long, 1U);
    });
}

}  // namespace
}  // namespace weft::api
