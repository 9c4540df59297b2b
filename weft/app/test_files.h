// The files of `weft test`, and their snapshots.
//
// Any thread.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "weft/app/command_line.h"

namespace weft::app {

class TestOutcome;

// "login.test.ts", "login_test.js".
bool is_test_file(std::string_view name);

// The absolute paths of the test files, in order, each once. Folders are searched, except
// node_modules and folders whose names begin with a dot. A file that is named explicitly is a test
// file whatever its name. The error is text for people.
std::expected<std::vector<std::string>, std::string> find_tests(
    const std::vector<std::string>& paths);

// __snapshots__/<name>.snap beside the file.
std::string snapshots_path(const std::string& file);

// The settings for the runner of a file, as JSON.
std::string test_settings(const TestCommand& command, const std::string& file);

// Writes the file's snapshots if they have changed. If that fails, the file has failed.
void write_snapshots(TestOutcome& outcome);

}  // namespace weft::app
