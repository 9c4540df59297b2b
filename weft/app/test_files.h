// The files of `weft test`, and what stands beside them: their snapshots.
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

// Absolute paths in order, each once. Folders are searched but for node_modules and those with a
// dot; a file that is named counts, whatever it is called. The error is a text for people.
std::expected<std::vector<std::string>, std::string> find_tests(
    const std::vector<std::string>& paths);

// __snapshots__/<name>.snap beside the file.
std::string snapshots_path(const std::string& file);

// What the runner of a file is told, as JSON.
std::string test_settings(const TestCommand& command, const std::string& file);

// Writes the file's snapshots, if they are others now; a failure is one of the file.
void write_snapshots(TestOutcome& outcome);

}  // namespace weft::app
