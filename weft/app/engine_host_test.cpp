// Tests of what is served before the engine is loaded.
#include "weft/app/engine_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/net/socket.h"

namespace weft::app {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class EngineHostTest : public ::testing::Test {
protected:
    EngineHostTest()
        : folder_(std::filesystem::path(::testing::TempDir()) /
                  ("weft_engine_host." + std::to_string(::getpid()))) {
        std::filesystem::create_directories(folder_);
        std::ofstream(folder_ / "a.txt") << "0123456789";
    }
    ~EngineHostTest() override { std::filesystem::remove_all(folder_); }

    // A configuration with a folder, and a deadline for requests that wait for the engine.
    ServeConfig config(std::chrono::milliseconds deadline) const {
        ServeConfig config;
        // A Unix socket, whose address is known before start() has returned.
        config.listeners.push_back(
            {*net::Address::parse("unix:" + (folder_ / "socket").string()), {}});
        AppConfig app;
        app.entry = "/nowhere/app.js";
        app.limits.handler_deadline = deadline;
        api::StaticRoute& route = app.routes.folders.emplace_back();
        route.path = "/files";
        route.folder = folder_.string();
        config.apps.push_back(std::move(app));
        return config;
    }

    // Runs the function on a fiber while start() waits for an engine, which then fails to load.
    template <class Function>
    Result<void> while_loading(const ServeConfig& config, Function function) {
        Runtime runtime({.workers = 1, .pinned_workers = 1});
        return runtime
            .spawn([&]() -> Result<void> {
                Event is_opening;
                Event may_go_on;
                EngineHost host(runtime, [&]() -> Result<std::unique_ptr<api::Host>> {
                    is_opening.set();
                    WEFT_TRY(may_go_on.wait());
                    return Error(ErrorKind::Unavailable, "there is no engine");
                });
                Result<void> started;
                auto starting = runtime.spawn([&]() -> Result<void> {
                    WEFT_TRY(host.start(config));
                    return {};
                });
                WEFT_TRY(is_opening.wait_for(20s));
                Result<void> outcome = function();
                may_go_on.set();
                started = starting.join();
                EXPECT_FALSE(started);
                if (!started) {
                    EXPECT_EQ(started.error().kind(), ErrorKind::Unavailable);
                }
                return outcome;
            })
            .join();
    }

    Result<std::string> ask(const std::string& path) const {
        auto socket = WEFT_TRY(net::Socket::connect(
            *net::Address::parse("unix:" + (folder_ / "socket").string()), Deadline::after(20s)));
        std::string request = "GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        WEFT_TRY(socket.write_all(as_bytes(request)));
        std::string answer;
        std::array<std::byte, 4096> space;
        for (;;) {
            std::size_t count = WEFT_TRY(socket.read(space, Deadline::after(20s)));
            if (count == 0) return answer;
            answer += as_text(Bytes(space).first(count));
        }
    }

    std::filesystem::path folder_;
};

TEST_F(EngineHostTest, JS_18_native_routes_answer_before_the_engine_is_loaded) {
    Result<void> outcome = while_loading(config(10s), [&]() -> Result<void> {
        std::string answer = WEFT_TRY(ask("/files/a.txt"));
        EXPECT_THAT(answer, HasSubstr("200 OK"));
        EXPECT_THAT(answer, HasSubstr("0123456789"));
        EXPECT_THAT(WEFT_TRY(ask("/files/none")), HasSubstr("404 Not Found"));
        return {};
    });
    EXPECT_TRUE(outcome) << outcome.error().message();
}

TEST_F(EngineHostTest, JS_18_what_needs_the_engine_waits_for_it_and_not_for_ever) {
    Result<void> outcome = while_loading(config(20ms), [&]() -> Result<void> {
        std::string answer = WEFT_TRY(ask("/"));
        EXPECT_THAT(answer, HasSubstr("503 Service Unavailable"));
        EXPECT_THAT(answer, HasSubstr("Retry-After: 1"));
        return {};
    });
    EXPECT_TRUE(outcome) << outcome.error().message();
}

}  // namespace
}  // namespace weft::app
