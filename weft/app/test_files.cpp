#include "weft/app/test_files.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "weft/app/config.h"
#include "weft/app/test_report.h"
#include "weft/base/format.h"

namespace weft::app {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 8> kSuffixes = {".js", ".mjs", ".cjs", ".jsx",
                                                       ".ts", ".mts", ".cts", ".tsx"};

bool is_skipped(const std::string& folder) {
    return folder == "node_modules" || folder.starts_with('.');
}

void search(const fs::path& folder, std::set<std::string>& found) {
    std::error_code error;
    fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied,
                                        error);
    for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
        std::string name = at->path().filename().string();
        std::error_code ignored;
        if (at->is_directory(ignored)) {
            if (is_skipped(name)) at.disable_recursion_pending();
        } else if (is_test_file(name)) {
            found.insert(at->path().lexically_normal().string());
        }
    }
}

}  // namespace

bool is_test_file(std::string_view name) {
    for (std::string_view suffix : kSuffixes) {
        if (!name.ends_with(suffix)) continue;
        name.remove_suffix(suffix.size());
        return name.ends_with(".test") || name.ends_with("_test");
    }
    return false;
}

std::expected<std::vector<std::string>, std::string> find_tests(
    const std::vector<std::string>& paths) {
    std::set<std::string> found;
    std::string places;
    for (const std::string& path : paths.empty() ? std::vector<std::string>{"."} : paths) {
        std::error_code error;
        fs::path absolute = fs::absolute(path, error).lexically_normal();
        places += (places.empty() ? "" : ", ") + path;
        if (fs::is_directory(absolute, error))
            search(absolute, found);
        else if (fs::exists(absolute, error))
            found.insert(absolute.string());
        else
            return std::unexpected(format("there is no {}", path));
    }
    if (found.empty())
        return std::unexpected(format("there is no *.test.* and no *_test.* in {}", places));
    return std::vector<std::string>(found.begin(), found.end());
}

std::string snapshots_path(const std::string& file) {
    fs::path path(file);
    return (path.parent_path() / "__snapshots__" / (path.filename().string() + ".snap")).string();
}

std::string test_settings(const TestCommand& command, const std::string& file) {
    // An error means that there are no snapshots yet.
    Result<std::string> snapshots = read_text(snapshots_path(file));
    const char* ci = std::getenv("CI");
    nlohmann::json settings = {
        {"timeoutMs", command.timeout.count()},
        {"filter", command.filter},
        {"bail", command.bail},
        {"update", command.update},
        {"frozen", ci != nullptr && *ci != '\0' && std::string_view(ci) != "false"},
        {"snapshots", snapshots ? *snapshots : std::string()},
    };
    return settings.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void write_snapshots(TestOutcome& outcome) {
    if (!outcome.snapshots()) return;
    fs::path path(snapshots_path(outcome.file()));
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    std::ofstream file(path, std::ios::trunc | std::ios::binary);
    file << *outcome.snapshots();
    file.close();
    if (!file) outcome.fail(format("{} cannot be written", path.string()));
}

}  // namespace weft::app
