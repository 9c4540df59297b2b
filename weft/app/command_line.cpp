#include "weft/app/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "weft/app/config_data.h"
#include "weft/app/env_file.h"
#include "weft/app/nearest.h"
#include "weft/app/version.h"
#include "weft/base/format.h"
#include "weft/fiber/runtime.h"
#include "weft/net/egress.h"

namespace weft::app {
namespace {

constexpr std::uint16_t kDefaultPort = 8080;
constexpr unsigned kIsolatesMax = 256;
constexpr unsigned kPortMax = 65535;
constexpr std::array<std::string_view, 8> kVerbs = {"serve",   "run",  "eval", "check",
                                                    "migrate", "test", "repl", "init"};

constexpr const char* kExits =
    "Exit codes:\n"
    "  0  all went well\n"
    "  1  the script threw, was rejected, or cannot be loaded; a test failed\n"
    "  2  the command line or the configuration is wrong\n"
    "  3  the machine refuses: an address is taken, a file cannot be read\n"
    "  4  the JavaScript engine is not installed\n";
constexpr const char* kServeExamples =
    "Examples:\n"
    "  weft serve app.js                          on http://127.0.0.1:8080/\n"
    "  weft serve . --port 3000 --watch           the folder's app, anew after every change\n"
    "  weft serve app.js --host 0.0.0.0 --isolates 4\n"
    "  weft serve app.js --allow-fetch 10.0.0.0/8:5432\n"
    "  weft serve app.js --inspect                a debugger may come, by chrome://inspect\n"
    "  weft serve --config weft.json              listeners, TLS, many apps, limits\n\n"
    "SIGTERM and Ctrl-C let requests end; a second one ends the program at once.\n\n";
constexpr const char* kRunExamples =
    "Examples:\n"
    "  weft run tool.js\n"
    "  weft run --env-file .env tool.js one --two   what follows the file is the script's\n\n"
    "Ends when nothing is pending any more.\n\n";
constexpr const char* kEvalExamples =
    "Examples:\n"
    "  weft eval '1 + 1'\n"
    "  weft eval 'await fetch(\"https://example.com/\").then((response) => response.status)'\n\n";
constexpr const char* kCheckExamples =
    "Examples:\n"
    "  weft check app.js\n\n"
    "Reads the file and everything that it imports, compiles it, and runs none of it.\n\n";

constexpr const char* kReplExamples =
    "Examples:\n"
    "  weft repl\n"
    "  > const response = await fetch(\"https://example.com/\")\n"
    "  > import { Time } from \"weft:time\"\n"
    "  echo '6 * 7' | weft repl                   writes 42\n\n"
    "The history is kept in the file WEFT_REPL_HISTORY, else in ~/.local/state/weft.\n\n";
constexpr const char* kMigrateExamples =
    "Examples:\n"
    "  weft migrate new add_users                 makes migrations/<time>_add_users.sql\n"
    "  weft migrate status --database shop.db     which of the files were applied\n"
    "  weft migrate up                            the database of weft.json\n\n"
    "Each file is applied once, in the order of their names and in a transaction of its own.\n\n";

constexpr const char* kTestExamples =
    "Examples:\n"
    "  weft test                                  every *.test.js below the present folder\n"
    "  weft test src/login.test.ts --filter 'wrong password'\n"
    "  weft test --update                         writes the snapshots anew\n"
    "  weft test --jobs 4 --junit report.xml      for a build server\n\n"
    "Files are named *.test.* or *_test.*, with js, mjs, cjs, jsx, ts, mts, cts or tsx. Each runs\n"
    "in an isolate of its own; the module weft:test has test, describe and expect.\n\n";

constexpr const char* kInitExamples =
    "Examples:\n"
    "  weft init shop                             an application in the folder shop\n"
    "  weft init --ts --name shop                 in the present folder, in TypeScript\n\n"
    "Writes the application, a test, weft.json, package.json, README.md and .gitignore.\n"
    "A README.md or .gitignore that is there already is kept; where one of the others is,\n"
    "nothing is written.\n\n";

std::string footer(const char* examples) { return std::string(examples) + kExits; }

template <class AnyCommand>
void add_common(CLI::App& verb, AnyCommand& command) {
    verb.add_option("--allow-fetch", command.allow_fetch,
                    "an address besides public ones that fetch() may connect to; may be repeated")
        ->type_name("HOST|CIDR[:PORT]")
        ->allow_extra_args(false);
    verb.add_option("--allow-read", command.allow_read,
                    "a file or folder that node:fs may read; may be repeated")
        ->type_name("PATH")
        ->allow_extra_args(false);
    verb.add_option("--env-file", command.env_file, "lines of NAME=value for `env`")
        ->type_name("FILE");
    verb.add_option("--import-map", command.import_map, "names for modules")->type_name("FILE");
}

// Flags, whose values are given only with "=": the next word is the file.
template <class AnyCommand>
void add_inspect(CLI::App& verb, AnyCommand& command) {
    verb.add_flag(
        "--inspect", command.inspect,
        "serve debuggers, =[HOST:]PORT [127.0.0.1:9229]: Chrome's developer tools, editors");
    verb.add_flag("--inspect-brk", command.inspect_brk,
                  "the same; wait for one, and stop before the first statement");
}

void add_serve(CLI::App& app, ServeCommand& serve) {
    CLI::App& verb = *app.add_subcommand("serve", "serve an application over HTTP");
    verb.add_option("app", serve.path, "a file, or a folder with one")->type_name("FILE|FOLDER");
    verb.add_option("--config", serve.config, "weft.json instead of a file")->type_name("FILE");
    verb.add_option("-p,--port", serve.port, "0 lets the system choose [8080]")
        ->type_name("PORT")
        ->check(CLI::Range(0U, kPortMax).description(""));
    verb.add_option("--host", serve.host, "the address to listen on [127.0.0.1]")
        ->type_name("ADDRESS");
    verb.add_option("--isolates", serve.isolates, "JavaScript worlds, each on a core of its own")
        ->type_name("N|auto")
        ->transform([](std::string text) {
            return text == "auto" ? std::to_string(RuntimeOptions::default_workers()) : text;
        })
        ->check(CLI::Range(1U, kIsolatesMax).description(""));
    verb.add_flag("--watch", serve.watch, "load the application anew when a file changes");
    verb.add_flag("--supervised", serve.supervised,
                  "in a process of its own, which is started anew when it dies");
    add_inspect(verb, serve);
    add_common(verb, serve);
    verb.footer(footer(kServeExamples));
}

void add_migrate(CLI::App& app, MigrateCommand& migrate) {
    CLI::App& verb = *app.add_subcommand("migrate", "bring the schema of a database up to date");
    verb.add_option_function<std::string>(
            "action",
            [&migrate](const std::string& word) {
                using Action = MigrateCommand::Action;
                migrate.action = word == "up"    ? Action::Up
                                 : word == "new" ? Action::New
                                                 : Action::Status;
            },
            "status, up or new")
        ->required()
        ->check(CLI::IsMember({"status", "up", "new"}).description(""))
        ->type_name("ACTION");
    verb.add_option("name", migrate.name, "of the new one")->type_name("NAME");
    verb.add_option("--database", migrate.database, "a file of SQLite, or postgres://...")
        ->type_name("PLACE");
    verb.add_option("--config", migrate.config, "whose database it is [weft.json]")
        ->type_name("FILE");
    verb.add_option("--provider", migrate.provider, "which of its databases")->type_name("NAME");
    verb.add_option("--folder", migrate.folder, "with the files [migrations]")->type_name("FOLDER");
    verb.footer(footer(kMigrateExamples));
}

void add_test(CLI::App& app, TestCommand& test) {
    constexpr unsigned kTimeoutMsMax = 3'600'000;
    CLI::App& verb = *app.add_subcommand("test", "run files of tests");
    verb.add_option("paths", test.paths, "files, and folders with files of tests [.]")
        ->type_name("FILE|FOLDER");
    verb.add_option("--filter", test.filter, "only tests with this in their name")
        ->type_name("TEXT");
    verb.add_option("--jobs", test.jobs, "so many files at once [as many as processors]")
        ->type_name("N")
        ->check(CLI::Range(1U, kIsolatesMax).description(""));
    verb.add_option("--junit", test.junit, "write a report in JUnit's form")->type_name("FILE");
    verb.add_option_function<unsigned>(
            "--timeout", [&test](unsigned ms) { test.timeout = std::chrono::milliseconds(ms); },
            "milliseconds that a test may take [5000]")
        ->type_name("MS")
        ->check(CLI::Range(1U, kTimeoutMsMax).description(""));
    verb.add_flag("--bail", test.bail, "stop after the first failure");
    verb.add_flag("--update", test.update, "write snapshots anew");
    add_common(verb, test);
    verb.footer(footer(kTestExamples));
}

// Everything after the first word belongs to the script, also options.
CLI::App& add_script(CLI::App& app, const char* name, const char* what, const char* examples,
                     ScriptCommand& script) {
    CLI::App& verb = *app.add_subcommand(name, what);
    verb.prefix_command();
    add_common(verb, script);
    // For test suites that were written for web pages; not shown by --help.
    verb.add_option("--location", script.location, "`location` of the script")
        ->type_name("URL")
        ->group("");
    verb.footer(footer(examples));
    return verb;
}

Answer usage(std::string text) {
    return {Exit::Usage, std::move(text) + "\n'weft --help' tells more."};
}

Command script_of(const CLI::App& verb, ScriptCommand script, const char* what) {
    std::vector<std::string> words = verb.remaining();
    if (!words.empty() && words.front() == "--") words.erase(words.begin());
    if (words.empty()) return usage(format("weft {} needs {}", verb.get_name(), what));
    if (script.verb != ScriptCommand::Verb::Eval && words.front().starts_with('-')) {
        return usage(format("weft {}: there is no option {}", verb.get_name(), words.front()));
    }
    script.source = words.front();
    script.arguments.assign(words.begin() + 1, words.end());
    if (script.verb == ScriptCommand::Verb::Check && !script.arguments.empty()) {
        return usage(format("weft check takes one file, not also {}", script.arguments.front()));
    }
    return script;
}

// CLI11 expects the arguments in reverse order.
std::vector<std::string> reversed(std::span<const std::string> arguments) {
    return {arguments.rbegin(), arguments.rend()};
}

Command parsed(std::span<const std::string> arguments) {
    CLI::App app("Weft serves and runs JavaScript.", "weft");
    app.footer(std::string("'weft serve --help' and the like tell more, with examples.\n\n") +
               kExits);
    app.set_version_flag("-v,--version", std::string("weft ") + kVersion);
    app.require_subcommand(0, 1);
    ServeCommand serve;
    ScriptCommand run;
    ScriptCommand eval = run;
    eval.verb = ScriptCommand::Verb::Eval;
    ScriptCommand repl = run;
    repl.verb = ScriptCommand::Verb::Repl;
    ScriptCommand check = run;
    check.verb = ScriptCommand::Verb::Check;
    add_serve(app, serve);
    MigrateCommand migrate;
    add_migrate(app, migrate);
    TestCommand test;
    add_test(app, test);
    InitCommand init;
    CLI::App& init_verb = *app.add_subcommand("init", "write an application that runs at once");
    init_verb.add_option("folder", init.folder, "made where there is none [.]")
        ->type_name("FOLDER");
    init_verb.add_option("--name", init.name, "of the application [the folder's]")
        ->type_name("NAME");
    init_verb.add_flag("--ts", init.typescript, "in TypeScript");
    init_verb.footer(footer(kInitExamples));
    CLI::App& repl_verb = *app.add_subcommand("repl", "evaluate what is typed, line by line");
    add_common(repl_verb, repl);
    repl_verb.footer(footer(kReplExamples));
    CLI::App& run_verb =
        add_script(app, "run", "run a file until nothing is pending", kRunExamples, run);
    add_inspect(run_verb, run);
    CLI::App& eval_verb =
        add_script(app, "eval", "run a text and write what it comes to", kEvalExamples, eval);
    CLI::App& check_verb =
        add_script(app, "check", "compile a file and what it imports", kCheckExamples, check);
    try {
        app.parse(reversed(arguments));
    } catch (const CLI::CallForHelp&) {
        for (const CLI::App* verb : app.get_subcommands())
            return Answer{Exit::Ok, verb->help("weft")};
        return Answer{Exit::Ok, app.help()};
    } catch (const CLI::CallForVersion&) {
        return Answer{Exit::Ok, app.version()};
    } catch (const CLI::ParseError& error) {
        return usage(error.what());
    }
    if (run_verb.parsed()) return script_of(run_verb, run, "a file");
    if (eval_verb.parsed()) return script_of(eval_verb, eval, "a text, such as '1 + 1'");
    if (check_verb.parsed()) return script_of(check_verb, check, "a file");
    if (app.got_subcommand("migrate")) return migrate;
    if (app.got_subcommand("test")) return test;
    if (repl_verb.parsed()) return repl;
    if (init_verb.parsed()) return init;
    if (app.get_subcommands().empty()) return Answer{Exit::Usage, app.help()};
    if (serve.path.empty() && serve.config.empty()) {
        return usage("weft serve needs a file, a folder or --config");
    }
    if (!serve.path.empty() && !serve.config.empty()) {
        return usage("weft serve takes a file or --config, not both");
    }
    serve.arguments.assign(arguments.begin(), arguments.end());
    return serve;
}

std::expected<net::Address, std::string> address_of(const ServeCommand& command) {
    std::string host = command.host.empty() ? "127.0.0.1" : command.host;
    std::uint16_t port = command.port.value_or(kDefaultPort);
    if (host.starts_with("unix:")) {
        Result<net::Address> address = net::Address::parse(host);
        if (address) return *address;
    }
    bool is_bare_v6 = std::ranges::count(host, ':') > 1 && !host.starts_with('[');
    Result<net::Address> address = net::Address::parse(is_bare_v6 ? format("[{}]:{}", host, port)
                                                                  : format("{}:{}", host, port));
    if (address) return *address;
    return std::unexpected(
        format("--host {}: not an address such as 127.0.0.1, 0.0.0.0, [::] or localhost", host));
}

std::expected<std::string, std::string> existing(const char* option, const std::string& path) {
    std::error_code error;
    std::filesystem::path absolute = std::filesystem::absolute(path, error).lexically_normal();
    if (!error && std::filesystem::exists(absolute, error)) return absolute.string();
    return std::unexpected(format("{}there is no {}", option, path));
}

std::expected<AppConfig, std::string> app_of(const ServeCommand& command) {
    AppConfig app;
    auto entry = existing("", command.path);
    if (!entry) return std::unexpected(entry.error());
    app.entry = *entry;
    app.name = std::filesystem::path(app.entry).stem().string();
    auto map = import_map_of(command.import_map);
    if (!map) return std::unexpected(map.error());
    app.import_map = std::move(*map);
    return app;
}

// Applies the options of the command line to every application.
std::expected<void, std::string> apply(const ServeCommand& command, ServeConfig& config) {
    Environment env;
    if (!command.env_file.empty()) {
        Result<Environment> read = load_env_file(command.env_file);
        if (!read) return std::unexpected(format("--env-file: {}", read.error().message()));
        env = std::move(*read);
    }
    net::EgressPolicy policy;
    for (const std::string& rule : command.allow_fetch) {
        Result<void> allowed = policy.allow(rule);
        if (!allowed) {
            return std::unexpected(format("--allow-fetch {}: {}", rule, allowed.error().message()));
        }
    }
    for (AppConfig& app : config.apps) {
        if (command.isolates != 0) app.isolates = command.isolates;
        app.allow_fetch.insert(app.allow_fetch.end(), command.allow_fetch.begin(),
                               command.allow_fetch.end());
        for (std::string& path : absolute_paths(command.allow_read))
            app.allow_read.push_back(std::move(path));
        add_missing(app.env, env);
    }
    auto debugging = Debugging::parse(command.inspect, command.inspect_brk);
    if (!debugging) return std::unexpected(debugging.error());
    config.debugging = *debugging;
    config.watch = command.watch;
    config.supervised = config.supervised || command.supervised;
    return {};
}

}  // namespace

std::vector<std::string> absolute_paths(const std::vector<std::string>& paths) {
    std::vector<std::string> all;
    for (const std::string& path : paths)
        all.push_back(std::filesystem::absolute(path).lexically_normal().string());
    return all;
}

std::expected<std::optional<Debugging>, std::string> Debugging::parse(
    const std::string& inspect, const std::string& inspect_brk) {
    std::string place = inspect_brk.empty() ? inspect : inspect_brk;
    if (place.empty()) return std::nullopt;
    // CLI11 gives a flag without a value the text "true".
    if (place == "true") place = kDefaultPlace;
    bool is_port = place.find_first_not_of("0123456789") == std::string::npos;
    Result<net::Address> address = net::Address::parse(is_port ? "127.0.0.1:" + place : place);
    if (!address || place.starts_with(':') || address->kind() != net::Address::Kind::Ip) {
        return std::unexpected(
            format("--inspect={}: not [HOST:]PORT, such as 9229 or "
                   "127.0.0.1:9229",
                   place));
    }
    return Debugging{*address, !inspect_brk.empty()};
}

std::expected<std::string, std::string> import_map_of(const std::string& path) {
    if (path.empty()) return path;
    return existing("--import-map: ", path);
}

Command parse_command_line(std::span<const std::string> arguments) {
    if (!arguments.empty() && !arguments[0].starts_with('-') &&
        std::ranges::find(kVerbs, arguments[0]) == kVerbs.end()) {
        std::string_view meant = nearest(arguments[0], kVerbs);
        std::error_code error;
        std::string hint;
        if (std::filesystem::exists(arguments[0], error)) {
            hint = format("; did you mean 'weft run {0}' or 'weft serve {0}'?", arguments[0]);
        } else if (!meant.empty()) {
            hint = format("; did you mean '{}'?", meant);
        }
        return usage(format("there is no command '{}'{}", arguments[0], hint));
    }
    return parsed(arguments);
}

std::expected<ServeConfig, std::string> config_of(const ServeCommand& command) {
    ServeConfig config;
    if (!command.config.empty()) {
        auto loaded = load_config(command.config);
        if (!loaded) return std::unexpected(loaded.error().text());
        config = std::move(*loaded);
    } else {
        auto app = app_of(command);
        if (!app) return std::unexpected(app.error());
        config.apps.push_back(std::move(*app));
    }
    if (command.config.empty() || command.port || !command.host.empty()) {
        auto address = address_of(command);
        if (!address) return std::unexpected(address.error());
        config.listeners.assign(1, ListenerConfig{*address, {}});
    }
    auto applied = apply(command, config);
    if (!applied) return std::unexpected(applied.error());
    auto shared = share_connections(config);
    if (!shared) return std::unexpected(shared.error());
    return config;
}

}  // namespace weft::app
