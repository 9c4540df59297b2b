#include "weft/app/migrate.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>
#include <utility>

#include "weft/app/config.h"
#include "weft/app/terminal.h"
#include "weft/base/env.h"
#include "weft/base/format.h"
#include "weft/fiber/runtime.h"

namespace weft::app {
namespace {

int exit_of(Exit exit) { return static_cast<int>(exit); }

// The time as 20261118092500, so that the files are sorted by the time when they were made.
std::string now_as_name() {
    auto since = std::chrono::nanoseconds(env::wall_ns());
    auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::sys_time<Nanoseconds>(since));
    auto day = std::chrono::floor<std::chrono::days>(now);
    std::chrono::year_month_day date(day);
    std::chrono::hh_mm_ss time(now - day);
    return format("{:04}{:02}{:02}{:02}{:02}{:02}", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                  time.hours().count(), time.minutes().count(), time.seconds().count());
}

bool is_name(const std::string& name) {
    return !name.empty() && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '-';
    });
}

int make_new(const MigrateCommand& command) {
    if (!is_name(command.name)) {
        complain("weft migrate new needs a name of letters, digits, _ and -");
        return exit_of(Exit::Usage);
    }
    std::error_code error;
    std::filesystem::create_directories(command.folder, error);
    std::filesystem::path path =
        std::filesystem::path(command.folder) / format("{}_{}.sql", now_as_name(), command.name);
    std::ofstream file(path, std::ios::app);
    file << "-- " << command.name << ": statements, without begin and commit.\n";
    if (!file) {
        complain(format("{} cannot be written", path.string()));
        return exit_of(Exit::Machine);
    }
    write_line(Stream::Out, path.string());
    return exit_of(Exit::Ok);
}

// Opening the database would create its file, and asking for the status changes nothing.
bool is_missing_file(const data::DatabasePlace& place) {
    std::error_code error;
    return place.provider == "sqlite" && place.place != ":memory:" &&
           !std::filesystem::exists(place.place, error) && !error;
}

Result<Exit> run_action(const MigrateCommand& command, data::DatabasePlace place) {
    std::vector<data::Migration> migrations = WEFT_TRY(read_migrations(command.folder));
    if (command.action == MigrateCommand::Action::Status && is_missing_file(place)) {
        complain(format("there is no database {} yet: every migration is pending", place.place));
        place.place = ":memory:";
    }
    data::Database database = WEFT_TRY(data::open_database(place));
    if (command.action == MigrateCommand::Action::Up) {
        std::vector<std::string> done = WEFT_TRY(data::migrate_up(database, migrations));
        for (const std::string& name : done) write_line(Stream::Out, format("applied {}", name));
        if (done.empty()) write_line(Stream::Out, "nothing was pending");
        return Exit::Ok;
    }
    bool is_in_order = true;
    std::vector<data::MigrationStatus> all = WEFT_TRY(data::migration_status(database, migrations));
    for (const data::MigrationStatus& one : all) {
        write_line(Stream::Out, format("{:8} {}", data::to_string(one.state), one.name));
        is_in_order = is_in_order && (one.state == data::MigrationState::Applied ||
                                      one.state == data::MigrationState::Pending);
    }
    return is_in_order ? Exit::Ok : Exit::Script;
}

}  // namespace

Result<std::vector<data::Migration>> read_migrations(const std::string& folder) {
    std::vector<data::Migration> migrations;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
        // Editors keep temporary files beside the file, with names that begin with a dot.
        bool is_hidden = entry.path().filename().string().starts_with('.');
        if (is_hidden || entry.path().extension() != ".sql") continue;
        std::string text = WEFT_TRY(read_text(entry.path().string()));
        migrations.push_back({entry.path().stem().string(), std::move(text)});
    }
    if (error) return Error::from_errno(error.value()).with_context("read", folder);
    return migrations;
}

std::expected<data::DatabasePlace, std::string> database_of(const MigrateCommand& command) {
    if (!command.database.empty()) return data::place_of(command.database);
    std::string file = command.config.empty() ? "weft.json" : command.config;
    auto config = load_config(file);
    if (!config) return std::unexpected(config.error().text());
    std::set<std::pair<std::string, std::string>> places;
    for (const AppConfig& app : config->apps) {
        for (const DataConfig& data : app.data) {
            if (command.provider.empty() || data.name == command.provider)
                places.emplace(data.provider, data.place);
        }
    }
    if (places.size() == 1)
        return data::DatabasePlace{places.begin()->first, places.begin()->second};
    return std::unexpected(places.empty()
                               ? format("{} has no such database", file)
                               : format("{} has several databases: say which by --provider", file));
}

int migrate(const MigrateCommand& command) {
    if (command.action == MigrateCommand::Action::New) return make_new(command);
    Runtime runtime({.workers = 1});
    Exit exit = Exit::Usage;
    Result<void> ended = runtime
                             .spawn([&]() -> Result<void> {
                                 auto place = database_of(command);
                                 if (!place) {
                                     complain(place.error());
                                     return {};
                                 }
                                 exit = WEFT_TRY(run_action(command, *place));
                                 return {};
                             })
                             .join();
    if (ended) return exit_of(exit);
    complain(ended.error().message());
    return exit_of(Exit::Machine);
}

}  // namespace weft::app
