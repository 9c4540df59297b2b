#include "weft/app/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "weft/app/commands.h"
#include "weft/app/terminal.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"

namespace weft::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Command parse(std::vector<std::string> arguments) { return parse_command_line(arguments); }

Answer answer(std::vector<std::string> arguments) {
    Command command = parse(std::move(arguments));
    EXPECT_TRUE(std::holds_alternative<Answer>(command));
    return std::holds_alternative<Answer>(command) ? std::get<Answer>(command) : Answer{};
}

// A fake engine, which records the calls.
class FakeHost final : public AppHost {
public:
    struct Log {
        ServeConfig config;
        ScriptConfig script;
        std::string checked;
        int drains = 0;
        Result<int> outcome = 0;
    };
    explicit FakeHost(Log& log) : log_(log) {}

    Result<std::vector<net::Address>> start(const ServeConfig& config) override {
        log_.config = config;
        return std::vector<net::Address>{net::Address::loopback(1)};
    }
    Result<void> serve() override {
        if (!log_.outcome) return log_.outcome.error();
        return {};
    }
    void drain() override { ++log_.drains; }
    void close_debugger() override {}
    std::vector<SeenFile> files() const override { return {}; }
    void on_files(std::function<void()>) override {}
    Result<void> reload() override { return {}; }
    Result<int> run(const ScriptConfig& script) override {
        log_.script = script;
        return log_.outcome;
    }
    Result<int> debug(const ScriptConfig&, std::function<void(std::string_view)>,
                      std::function<Result<int>(DebugTarget&)>) override {
        return 0;
    }
    Result<void> check(const ScriptConfig& script) override {
        log_.checked = script.source;
        if (!log_.outcome) return log_.outcome.error();
        return {};
    }
    Result<void> test(const TestFile&) override { return {}; }

private:
    Log& log_;
};

int execute_with(FakeHost::Log& log, std::vector<std::string> arguments) {
    return execute(parse(std::move(arguments)), [&](Runtime&) -> Result<std::unique_ptr<AppHost>> {
        return std::make_unique<FakeHost>(log);
    });
}

TEST(CommandLine, HST_5_help_is_there_for_every_command_with_examples) {
    EXPECT_EQ(answer({"--help"}).exit, Exit::Ok);
    for (const char* verb : {"serve", "run", "eval", "check", "migrate", "test", "repl", "init"}) {
        Answer help = answer({verb, "--help"});
        EXPECT_EQ(help.exit, Exit::Ok) << verb;
        EXPECT_THAT(help.text, HasSubstr("Examples:\n  weft " + std::string(verb)));
        EXPECT_THAT(help.text, HasSubstr("Exit codes:"));
        EXPECT_THAT(answer({"--help"}).text, HasSubstr(verb));
    }
    EXPECT_THAT(answer({"--version"}).text, HasSubstr("weft " WEFT_VERSION));
}

TEST(CommandLine, HST_5_a_wrong_command_line_is_status_two) {
    for (const std::vector<std::string>& wrong :
         std::vector<std::vector<std::string>>{{},
                                               {"serve"},
                                               {"serve", "a.js", "--port", "x"},
                                               {"serve", "a.js", "--port", "70000"},
                                               {"serve", "a.js", "--isolates", "0"},
                                               {"serve", "a.js", "--nonsense"},
                                               {"serve", "a.js", "--config", "weft.json"},
                                               {"run"},
                                               {"run", "--nonsense", "a.js"},
                                               {"eval"},
                                               {"check"},
                                               {"check", "a.js", "b.js"},
                                               {"srve", "a.js"}}) {
        EXPECT_EQ(answer(wrong).exit, Exit::Usage) << ::testing::PrintToString(wrong);
    }
    EXPECT_THAT(answer({"srve"}).text, HasSubstr("did you mean 'serve'?"));
    EXPECT_THAT(answer({"serve", "a.js", "--port", "70000"}).text, HasSubstr("0 to 65535"));
}

TEST(CommandLine, HST_5_serve_takes_its_options) {
    Command command = parse({"serve", "--port", "0", "app.js", "--host", "::1", "--isolates", "3",
                             "--watch", "--supervised", "--allow-fetch", "10.0.0.0/8",
                             "--allow-fetch", "db.internal:1", "--env-file", ".env"});
    ASSERT_TRUE(std::holds_alternative<ServeCommand>(command)) << std::get<Answer>(command).text;
    const auto& serve = std::get<ServeCommand>(command);
    EXPECT_EQ(serve.path, "app.js");
    EXPECT_EQ(serve.port, 0);
    EXPECT_EQ(serve.host, "::1");
    EXPECT_EQ(serve.isolates, 3U);
    EXPECT_TRUE(serve.watch);
    EXPECT_TRUE(serve.supervised);
    EXPECT_EQ(serve.arguments.front(), "serve");
    EXPECT_THAT(serve.allow_fetch, ElementsAre("10.0.0.0/8", "db.internal:1"));
    EXPECT_EQ(serve.env_file, ".env");
}

TEST(CommandLine, HST_5_isolates_can_be_as_many_as_cpus) {
    Command command = parse({"serve", "app.js", "--isolates", "auto"});
    ASSERT_TRUE(std::holds_alternative<ServeCommand>(command)) << std::get<Answer>(command).text;
    EXPECT_EQ(std::get<ServeCommand>(command).isolates, RuntimeOptions::default_workers());
}

TEST(CommandLine, JS_12_what_follows_the_file_is_the_scripts) {
    Command command = parse({"run", "--location", "http://a/", "--env-file", "e", "tool.js", "one",
                             "--two", "--help", "--", "-x"});
    ASSERT_TRUE(std::holds_alternative<ScriptCommand>(command)) << std::get<Answer>(command).text;
    const auto& run = std::get<ScriptCommand>(command);
    EXPECT_EQ(run.source, "tool.js");
    EXPECT_EQ(run.env_file, "e");
    EXPECT_EQ(run.location, "http://a/");
    EXPECT_THAT(run.arguments, ElementsAre("one", "--two", "--help", "--", "-x"));
    command = parse({"eval", "-1 + 1"});
    ASSERT_TRUE(std::holds_alternative<ScriptCommand>(command)) << std::get<Answer>(command).text;
    EXPECT_EQ(std::get<ScriptCommand>(command).source, "-1 + 1");
}

TEST(CommandLine, JS_13_the_place_for_debuggers_is_behind_an_equals_sign) {
    Command command = parse({"serve", "--inspect", "app.js"});
    ASSERT_TRUE(std::holds_alternative<ServeCommand>(command)) << std::get<Answer>(command).text;
    const auto& serve = std::get<ServeCommand>(command);
    EXPECT_EQ(serve.path, "app.js");
    auto place = [](const std::string& inspect, const std::string& inspect_brk = "") {
        auto debugging = Debugging::parse(inspect, inspect_brk);
        if (!debugging) return debugging.error();
        if (!*debugging) return std::string("none");
        return (*debugging)->address.to_string() + ((*debugging)->breaks ? " breaks" : "");
    };
    EXPECT_EQ(place(serve.inspect, serve.inspect_brk), "127.0.0.1:9229");
    command = parse({"run", "--inspect-brk=[::1]:0", "tool.js", "--inspect=7"});
    ASSERT_TRUE(std::holds_alternative<ScriptCommand>(command)) << std::get<Answer>(command).text;
    const auto& run = std::get<ScriptCommand>(command);
    EXPECT_THAT(run.arguments, ElementsAre("--inspect=7"));
    EXPECT_EQ(place(run.inspect, run.inspect_brk), "[::1]:0 breaks");
    EXPECT_EQ(place(""), "none");
    EXPECT_EQ(place("0"), "127.0.0.1:0");
    EXPECT_EQ(place("9230", "0.0.0.0:1"), "0.0.0.0:1 breaks");
    for (const char* wrong : {"x", "70000", "example.com:1", ":1", "1.2.3.4", "unix:/a"})
        EXPECT_THAT(place(wrong), HasSubstr("not [HOST:]PORT")) << wrong;
}

class ServeCommandTest : public ::testing::Test {
protected:
    ServeCommandTest()
        : folder_(std::filesystem::path(::testing::TempDir()) /
                  ("weft_command." + std::to_string(::getpid()))) {
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directories(folder_);
        write("app.js", "");
        write(".env", "A=1\nB=2\n");
    }
    ~ServeCommandTest() override { std::filesystem::remove_all(folder_); }
    void write(const std::string& name, const std::string& text) const {
        std::ofstream(folder_ / name) << text;
    }
    std::string path(const std::string& name) const { return (folder_ / name).string(); }

    std::filesystem::path folder_;
};

TEST_F(ServeCommandTest, HST_5_the_command_line_is_a_configuration) {
    auto config = config_of({.path = path("app.js"),
                             .config = {},
                             .port = 0,
                             .host = "::1",
                             .isolates = 2,
                             .watch = true,
                             .allow_fetch = {"10.0.0.0/8"},
                             .env_file = path(".env"),
                             .import_map = {}});
    ASSERT_TRUE(config.has_value()) << config.error();
    ASSERT_EQ(config->apps.size(), 1U);
    EXPECT_EQ(config->apps[0].entry, path("app.js"));
    EXPECT_EQ(config->apps[0].name, "app");
    EXPECT_EQ(config->apps[0].isolates, 2U);
    EXPECT_EQ(config->apps[0].env.size(), 2U);
    EXPECT_EQ(config->listeners[0].address.to_string(), "[::1]:0");
    EXPECT_TRUE(config->watch);
    ServeCommand plain{.path = path("app.js")};
    EXPECT_EQ(config_of(plain)->listeners[0].address.to_string(), "127.0.0.1:8080");
    plain.host = "localhost";
    EXPECT_EQ(config_of(plain)->listeners[0].address.to_string(), "127.0.0.1:8080");
    plain.host = "nowhere at all";
    EXPECT_THAT(config_of(plain).error(), HasSubstr("--host nowhere at all"));
    EXPECT_THAT(config_of({.path = path("gone.js")}).error(), HasSubstr("there is no "));
    EXPECT_THAT(config_of({.path = path("app.js"), .allow_fetch = {"1.2.3.4/77"}}).error(),
                HasSubstr("--allow-fetch 1.2.3.4/77: "));
    EXPECT_THAT(config_of({.path = path("app.js"), .env_file = path("no")}).error(),
                HasSubstr("--env-file: "));
}

TEST_F(ServeCommandTest, HST_5_the_command_line_goes_before_the_file) {
    write("weft.json", R"({"listeners": [{"address": ":1"}, {"address": ":2"}],
                           "apps": [{"entry": "app.js", "env": {"A": "file"}}]})");
    auto config = config_of({.config = path("weft.json"), .port = 0, .env_file = path(".env")});
    ASSERT_TRUE(config.has_value()) << config.error();
    ASSERT_EQ(config->listeners.size(), 1U);
    EXPECT_EQ(config->listeners[0].address.to_string(), "127.0.0.1:0");
    EXPECT_EQ(config->apps[0].env[0].second, "file");
    EXPECT_EQ(config->apps[0].env[1].first, "B");
    EXPECT_EQ(config_of({.config = path("weft.json")})->listeners.size(), 2U);
}

TEST_F(ServeCommandTest, HST_1_a_wrong_configuration_exits_with_two) {
    write("weft.json", "{}");
    FakeHost::Log log;
    EXPECT_EQ(execute_with(log, {"serve", "--config", path("weft.json")}), 2);
    EXPECT_EQ(execute_with(log, {"serve", path("gone.js")}), 2);
}

TEST_F(ServeCommandTest, HST_5_the_status_tells_whose_fault_it_was) {
    FakeHost::Log log;
    EXPECT_EQ(execute_with(log, {"serve", path("app.js")}), 0);
    EXPECT_EQ(log.config.apps[0].entry, path("app.js"));
    EXPECT_EQ(execute_with(log, {"run", path("app.js"), "x"}), 0);
    EXPECT_THAT(log.script.arguments, ElementsAre("x"));
    EXPECT_EQ(execute_with(log, {"eval", "1"}), 0);
    EXPECT_EQ(log.script.kind, ScriptConfig::Kind::Text);
    EXPECT_TRUE(log.script.prints_value);
    EXPECT_EQ(execute_with(log, {"check", path("app.js")}), 0);
    EXPECT_EQ(log.checked, path("app.js"));
    log.outcome = 7;
    EXPECT_EQ(execute_with(log, {"run", path("app.js")}), 7);
    log.outcome = Error(ErrorKind::Exception, "thrown");
    EXPECT_EQ(execute_with(log, {"run", path("app.js")}), 1);
    log.outcome = Error(ErrorKind::AddressInUse);
    EXPECT_EQ(execute_with(log, {"serve", path("app.js")}), 3);
    auto no_engine = [](Runtime&) -> Result<std::unique_ptr<AppHost>> {
        return ErrorKind::Unavailable;
    };
    EXPECT_EQ(execute(parse({"eval", "1"}), no_engine), 4);
}

TEST(Terminal, HST_5_colours_are_for_people_only) {
    // The output of tests goes to a file or a pipe, or the variable says so.
    ::setenv("NO_COLOR", "1", 1);
    EXPECT_EQ(coloured(Stream::Out, Colour::Red, "x"), "x");
    ::unsetenv("NO_COLOR");
    ::setenv("FORCE_COLOR", "1", 1);
    EXPECT_EQ(coloured(Stream::Out, Colour::Red, "x"), "\033[31;1mx\033[0m");
    ::unsetenv("FORCE_COLOR");
}

}  // namespace
}  // namespace weft::app
