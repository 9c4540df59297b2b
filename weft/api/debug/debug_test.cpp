#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "weft/api/host.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/sync/channel.h"
#include "weft/sync/event.h"

namespace weft::api {

extern "C" void weft_open_host(Runtime& runtime, std::unique_ptr<Host>& host);

namespace {

// An application on a worker of its own, and a debugger client on the test's thread.
class DebugTest : public ::testing::Test {
protected:
    DebugTest() : runtime_({.workers = 1, .pinned_workers = 1}) {
        weft_open_host(runtime_, host_);
        on_owner([&] {
            ApplicationOptions options;
            options.name = "test";
            options.entry = "/nowhere/test.js";
            // Long enough for the test's thread to answer.
            options.limits.cpu = std::chrono::minutes(1);
            options.worker = runtime_.worker_count() - 1;
            application_ = std::move(*host_->open(std::move(options)));
            session_ = application_->debug([this](std::string_view json) {
                static_cast<void>(said_.try_send(std::string(json)));
            });
        });
    }
    ~DebugTest() override {
        session_.reset();
        on_owner([&] { application_->close(); });
    }

    template <class Function>
    void on_owner(Function function) {
        static_cast<void>(runtime_.spawn_pinned(0, std::move(function)).join());
    }

    std::unique_ptr<Application> open_to_clients(
        ApplicationOptions::Debug debug = ApplicationOptions::Debug::Allowed) {
        std::unique_ptr<Application> opened;
        on_owner([&] {
            ApplicationOptions options;
            options.name = "test";
            options.entry = "/nowhere/test.js";
            options.worker = runtime_.worker_count() - 1;
            options.debug = debug;
            opened = std::move(*host_->open(std::move(options)));
        });
        return opened;
    }

    // The next message that contains this text; others are skipped.
    std::string wait_for(std::string_view part) {
        while (true) {
            Result<std::string> message = said_.receive_for(std::chrono::seconds(60));
            if (!message) return {};
            if (message->contains(part)) return *message;
        }
    }
    void evaluate_and_stop() {
        session_->send(R"({"id":1,"method":"Debugger.enable"})");
        session_->send(R"js({"id":2,"method":"Runtime.evaluate",
            "params":{"expression":"let a = 40; debugger; a += 2; a"}})js");
        EXPECT_NE(wait_for("Debugger.paused"), "");
    }

    Runtime runtime_;
    std::unique_ptr<Host> host_;
    std::unique_ptr<Application> application_;
    std::unique_ptr<DebugSession> session_;
    Channel<std::string> said_{10'000};
};

TEST_F(DebugTest, JS_13_who_stands_at_a_breakpoint_is_asked_and_goes_on) {
    evaluate_and_stop();
    session_->send(R"({"id":3,"method":"Runtime.evaluate","params":{"expression":"a + 1"}})");
    EXPECT_TRUE(wait_for(R"("id":3)").contains(R"("value":41)"));
    session_->send(R"({"id":4,"method":"Debugger.stepOver"})");
    EXPECT_TRUE(wait_for("Debugger.paused").contains(R"("reason":"other")"));
    session_->send(R"({"id":5,"method":"Debugger.resume"})");
    EXPECT_TRUE(wait_for(R"("id":2)").contains(R"("value":42)"));
}

TEST_F(DebugTest, JS_13_a_client_that_leaves_lets_go_of_what_it_has_stopped) {
    evaluate_and_stop();
    session_.reset();
    bool answers = false;
    on_owner([&] { answers = !application_->has_handler(); });
    EXPECT_TRUE(answers);
}

TEST_F(DebugTest, JS_13_who_has_left_does_not_stop_at_the_next_breakpoint) {
    session_->send(R"({"id":1,"method":"Debugger.enable"})");
    session_->send(R"js({"id":2,"method":"Runtime.evaluate",
        "params":{"expression":"for (let i = 0; i < 3; i++) debugger"}})js");
    EXPECT_NE(wait_for("Debugger.paused"), "");
    session_.reset();
    bool answers = false;
    on_owner([&] { answers = !application_->has_handler(); });
    EXPECT_TRUE(answers);
}

TEST_F(DebugTest, JS_13_a_door_outlives_its_application_and_its_sessions_learn_of_the_end) {
    std::unique_ptr<Application> allowed = open_to_clients();
    std::shared_ptr<DebugDoor> door = allowed->debug_door();
    Event ended;
    std::unique_ptr<DebugSession> session = door->connect(
        [&](std::string_view json) { static_cast<void>(said_.try_send(std::string(json))); },
        [&] { ended.set(); });
    ASSERT_TRUE(session);
    session->send(R"({"id":1,"method":"Runtime.evaluate","params":{"expression":"6 * 7"}})");
    EXPECT_TRUE(wait_for(R"("id":1)").contains(R"("value":42)"));
    on_owner([&] { allowed->close(); });
    EXPECT_TRUE(ended.wait_for(std::chrono::seconds(60)).has_value());
    session->send(R"({"id":2,"method":"Runtime.enable"})");
    session.reset();
    EXPECT_FALSE(door->connect([](std::string_view) {}, [] {}));
}

TEST_F(DebugTest, JS_13_messages_may_come_while_an_application_ends) {
    constexpr int kRounds = 20;
    constexpr int kMessages = 1000;
    for (int round = 0; round < kRounds; ++round) {
        std::unique_ptr<Application> allowed = open_to_clients();
        Event ended;
        std::unique_ptr<DebugSession> session =
            allowed->debug_door()->connect([](std::string_view) {}, [&] { ended.set(); });
        Future<void> closing = runtime_.spawn_pinned(0, [&] { allowed->close(); });
        for (int count = 0; count < kMessages && !ended.is_set(); ++count)
            session->send(R"({"id":1,"method":"Runtime.getHeapUsage"})");
        EXPECT_TRUE(closing.join().has_value());
        EXPECT_TRUE(ended.is_set());
    }
}

TEST_F(DebugTest, JS_13_nobody_waits_for_a_client_at_a_door_that_is_closed) {
    std::unique_ptr<Application> waiting =
        open_to_clients(ApplicationOptions::Debug::WaitsForClient);
    waiting->debug_door()->close();
    Result<void> loaded;
    on_owner([&] {
        loaded = waiting->load();  // tidy: allow order: of a script, not of an atomic
        waiting->close();
    });
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().kind(), ErrorKind::Cancelled);
}

TEST_F(DebugTest, JS_13_a_loop_is_stopped_while_it_runs) {
    session_->send(R"({"id":1,"method":"Debugger.enable"})");
    session_->send(R"({"id":6,"method":"Runtime.enable"})");
    session_->send(R"({"id":7,"method":"Runtime.addBinding","params":{"name":"tell"}})");
    session_->send(R"js({"id":2,"method":"Runtime.evaluate","params":
        {"expression":"var go = true; let n = 0; tell('begun'); while (go) n++; 'over'"}})js");
    EXPECT_NE(wait_for("Runtime.bindingCalled"), "");
    session_->send(R"({"id":3,"method":"Debugger.pause"})");
    EXPECT_NE(wait_for("Debugger.paused"), "");
    session_->send(R"({"id":4,"method":"Runtime.evaluate","params":{"expression":"go = false"}})");
    EXPECT_NE(wait_for(R"("id":4)"), "");
    session_->send(R"({"id":5,"method":"Debugger.resume"})");
    EXPECT_TRUE(wait_for(R"("id":2)").contains(R"("value":"over")"));
}

TEST_F(DebugTest, JS_13_a_profile_and_a_heap_snapshot_are_taken) {
    session_->send(R"({"id":1,"method":"Profiler.enable"})");
    session_->send(R"({"id":2,"method":"Profiler.start"})");
    session_->send(R"js({"id":3,"method":"Runtime.evaluate","params":{"expression":
        "function busy() { let n = 0; while (n < 1e6) n++; return n; } busy()"}})js");
    session_->send(R"({"id":4,"method":"Profiler.stop"})");
    EXPECT_TRUE(wait_for(R"("id":4)").contains(R"("nodes":[)"));
    session_->send(R"({"id":5,"method":"HeapProfiler.takeHeapSnapshot"})");
    EXPECT_NE(wait_for("HeapProfiler.addHeapSnapshotChunk"), "");
    EXPECT_TRUE(wait_for(R"("id":5)").contains(R"("result":{})"));
}

}  // namespace
}  // namespace weft::api
