#include "weft/app/commands.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "weft/app/env_file.h"
#include "weft/app/init.h"
#include "weft/app/memory_share.h"
#include "weft/app/migrate.h"
#include "weft/app/repl.h"
#include "weft/app/supervisor.h"
#include "weft/app/terminal.h"
#include "weft/app/test_files.h"
#include "weft/app/test_report.h"
#include "weft/app/watch.h"
#include "weft/async/group.h"
#include "weft/base/format.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/graceful_stop.h"
#include "weft/fiber/runtime.h"

namespace weft::app {

void write_places(const ServeConfig& config, const std::vector<net::Address>& addresses) {
    for (std::size_t at = 0; at < addresses.size(); ++at) {
        const char* scheme = config.listeners[at].tls ? "https" : "http";
        std::string where = addresses[at].kind() == net::Address::Kind::Unix
                                ? addresses[at].to_string()
                                : format("{}://{}/", scheme, addresses[at].to_string());
        std::string names;
        for (const AppConfig& app : config.apps) names += (names.empty() ? "" : ", ") + app.name;
        write_line(Stream::Out, format("weft serves {} on {}", names,
                                       coloured(Stream::Out, Colour::Blue, where)));
    }
}

namespace {

Exit exit_of(const Error& error) {
    switch (error.kind()) {
    case ErrorKind::Exception: return Exit::Script;
    case ErrorKind::Unavailable: return Exit::Engine;
    case ErrorKind::Misuse: return Exit::Usage;
    default: return Exit::Machine;
    }
}

int ended(const Result<int>& outcome) {
    if (outcome) return *outcome;
    // A script's error has a code frame, and is written without the prefix "weft: ".
    if (outcome.error().kind() == ErrorKind::Exception) {
        write_line(Stream::Error, outcome.error().message());
    } else {
        complain(outcome.error().message());
    }
    return static_cast<int>(exit_of(outcome.error()));
}

// Runs the function on a fiber of a runtime with one pinned worker for each isolate, and one more
// worker for name lookups, files and the program itself.
template <class Function>
Result<int> on_runtime(unsigned isolates, Function function) {
    Runtime runtime({.workers = 1, .pinned_workers = isolates});
    Result<int> outcome = runtime.spawn([&] { return function(runtime); }, {.name = "main"}).join();
    runtime.run();
    WEFT_TRY(runtime.shutdown());
    return outcome;
}

Result<int> serve_all(Runtime& runtime, const ServeConfig& config, const OpenHost& open_host,
                      const std::optional<Supervised>& supervised) {
    std::unique_ptr<AppHost> host = WEFT_TRY(open_host(runtime));
    GracefulStop stop = WEFT_TRY(GracefulStop::on_signals({.drain = config.drain}));
    // Before start(), which waits for a client of the debugger with --inspect-brk.
    DrainHook debugger = stop.on_drain([&] { host->close_debugger(); });
    std::optional<Watch> watch;
    if (config.watch) watch.emplace(*host);
    std::vector<net::Address> addresses = WEFT_TRY(host->start(config));
    DrainHook drain = stop.on_drain([&] { host->drain(); });
    async::Group watcher;  // ends with this block
    if (watch) WEFT_TRY(watcher.go([&] { return watch->run(); }));
    if (supervised) {
        WEFT_TRY(watcher.go([] { return listen_to_supervisor(); }));
        WEFT_TRY(tell_supervisor(*supervised));
    } else {
        write_places(config, addresses);
    }
    Result<void> served = host->serve();
    // serve() is cancelled only when the drain limit has passed.
    if (!served && served.error().kind() == ErrorKind::Cancelled) {
        complain(
            format("what had not ended after {} ms (drainMs) was cut off", config.drain.count()));
        return static_cast<int>(Exit::Machine);
    }
    WEFT_TRY(std::move(served));
    return static_cast<int>(Exit::Ok);
}

Result<std::string> checked_import_map(const std::string& path) {
    auto found = import_map_of(path);
    if (!found) return Error(ErrorKind::Misuse, found.error());
    return std::move(*found);
}

Result<ScriptConfig> script_of(const ScriptCommand& command) {
    std::string import_map = WEFT_TRY(checked_import_map(command.import_map));
    ScriptConfig script{
        .kind = command.verb == ScriptCommand::Verb::Eval ? ScriptConfig::Kind::Text
                                                          : ScriptConfig::Kind::File,
        .source = command.source,
        .folder = std::filesystem::current_path().string(),
        .arguments = command.arguments,
        .env = {},
        .allow_fetch = command.allow_fetch,
        .allow_read = absolute_paths(command.allow_read),
        .import_map = std::move(import_map),
        .location = command.location,
        .prints_value = command.verb == ScriptCommand::Verb::Eval,
    };
    if (!command.source.empty() && script.kind == ScriptConfig::Kind::File) {
        script.source = std::filesystem::absolute(command.source).lexically_normal().string();
    }
    if (!command.env_file.empty()) script.env = WEFT_TRY(load_env_file(command.env_file));
    auto debugging = Debugging::parse(command.inspect, command.inspect_brk);
    if (!debugging) return Error(ErrorKind::Misuse, debugging.error());
    script.debugging = *debugging;
    return script;
}

Result<int> run_one(Runtime& runtime, const ScriptCommand& command, const OpenHost& open_host) {
    ScriptConfig script = WEFT_TRY(script_of(command));
    std::unique_ptr<AppHost> host = WEFT_TRY(open_host(runtime));
    if (command.verb == ScriptCommand::Verb::Check) {
        WEFT_TRY(host->check(script));
        write_line(Stream::Out, format("{} is in order", command.source));
        return static_cast<int>(Exit::Ok);
    }
    if (command.verb == ScriptCommand::Verb::Repl) {
        DebugClient client;
        return host->debug(
            script, [&](std::string_view json) { client.take(json); },
            [&](DebugTarget& target) { return Repl(client).run(target); });
    }
    return host->run(script);
}

// One fiber for each place. They run on one worker, so they share the list of files without a lock.
Result<void> run_tests(AppHost& host, const TestCommand& command,
                       const std::vector<std::string>& files, unsigned places, TestReport& report) {
    Environment env;
    if (!command.env_file.empty()) env = WEFT_TRY(load_env_file(command.env_file));
    std::string import_map = WEFT_TRY(checked_import_map(command.import_map));
    std::size_t next = 0;
    auto run_place = [&](unsigned place) {
        while (next < files.size() && !(command.bail && report.has_failed())) {
            const std::string& path = files[next++];
            TestOutcome outcome(path);
            Result<void> ran = host.test({
                .path = path,
                .settings = test_settings(command, path),
                .timeout = command.timeout,
                .env = env,
                .allow_fetch = command.allow_fetch,
                .allow_read = absolute_paths(command.allow_read),
                .import_map = import_map,
                .place = place,
                .places = places,
                .on_event = [&](std::string_view json) { outcome.add(json); },
            });
            if (!ran) outcome.fail(ran.error().message());
            write_snapshots(outcome);
            report.add(std::move(outcome));
        }
    };
    async::Group group;
    for (unsigned place = 0; place < places; ++place)
        WEFT_TRY(group.go([&, place] { run_place(place); }));
    return group.wait();
}

}  // namespace

int test(const TestCommand& command, const OpenHost& open_host) {
    auto files = find_tests(command.paths);
    if (!files) {
        complain(files.error());
        return static_cast<int>(Exit::Usage);
    }
    unsigned places = command.jobs != 0 ? command.jobs : RuntimeOptions::default_workers();
    places = std::min(places, static_cast<unsigned>(files->size()));
    TestReport report;
    return ended(on_runtime(places, [&](Runtime& runtime) -> Result<int> {
        std::unique_ptr<AppHost> host = WEFT_TRY(open_host(runtime));
        WEFT_TRY(run_tests(*host, command, *files, places, report));
        report.finish();
        if (!command.junit.empty()) WEFT_TRY(report.write_junit(command.junit));
        return static_cast<int>(report.has_failed() ? Exit::Script : Exit::Ok);
    }));
}

int serve(const ServeCommand& command, const OpenHost& open_host) {
    auto config = config_of(command);
    if (!config) {
        complain(config.error());
        return static_cast<int>(Exit::Usage);
    }
    std::optional<Supervised> supervised = Supervised::take();
    if (config->supervised && !supervised) {
        return ended(
            on_runtime(0, [&](Runtime&) { return supervise(*config, command.arguments); }));
    }
    if (supervised) config->inherited = supervised->listeners;
    set_heap_limits(*config);
    unsigned isolates = 0;
    for (const AppConfig& app : config->apps) isolates = std::max(isolates, app.isolates);
    return ended(on_runtime(isolates, [&](Runtime& runtime) {
        return serve_all(runtime, *config, open_host, supervised);
    }));
}

int run_script(const ScriptCommand& command, const OpenHost& open_host) {
    return ended(
        on_runtime(1, [&](Runtime& runtime) { return run_one(runtime, command, open_host); }));
}

int execute(const Command& command, const OpenHost& open_host) {
    if (const auto* answer = std::get_if<Answer>(&command)) {
        if (answer->exit == Exit::Ok) {
            write_line(Stream::Out, answer->text);
        } else {
            complain(answer->text);
        }
        return static_cast<int>(answer->exit);
    }
    if (const auto* served = std::get_if<ServeCommand>(&command)) return serve(*served, open_host);
    if (const auto* migration = std::get_if<MigrateCommand>(&command)) return migrate(*migration);
    if (const auto* fresh = std::get_if<InitCommand>(&command)) return init(*fresh);
    if (const auto* tests = std::get_if<TestCommand>(&command)) return test(*tests, open_host);
    return run_script(std::get<ScriptCommand>(command), open_host);
}

}  // namespace weft::app
