#include "weft/app/test_report.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "weft/app/terminal.h"
#include "weft/base/env.h"
#include "weft/base/format.h"

namespace weft::app {
namespace {

using Status = TestCase::Status;

// The path relative to the current folder, if that is shorter.
std::string shown_path(const std::string& path) {
    std::error_code error;
    std::string near = std::filesystem::relative(path, error).string();
    return error || near.empty() || near.size() > path.size() ? path : near;
}

std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : " > ") + name;
    return text;
}

// The lines of a difference have the usual colours.
std::string coloured_line(std::string_view line) {
    if (line.starts_with("- ")) return coloured(Stream::Out, Colour::Green, line);
    if (line.starts_with("+ ")) return coloured(Stream::Out, Colour::Red, line);
    if (line.starts_with("    at ")) return coloured(Stream::Out, Colour::Dim, line);
    return std::string(line);
}

void write_indented(std::string_view text) {
    while (!text.empty()) {
        std::size_t end = text.find('\n');
        std::string_view line = text.substr(0, end);
        write_line(Stream::Out, line.empty() ? "" : "    " + coloured_line(line));
        text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    }
    write_line(Stream::Out, "");
}

std::string plural(std::size_t count, std::string_view what) {
    return format("{} {}{}", count, what, count == 1 ? "" : "s");
}

void write_failures(const TestOutcome& outcome) {
    write_line(Stream::Out, "");
    for (const TestCase& test : outcome.cases()) {
        if (test.status != Status::Failed) continue;
        std::string name = coloured(Stream::Out, Colour::Bold, joined(test.names));
        write_line(Stream::Out, format("  {} ({:.0f} ms)", name, test.milliseconds));
        write_indented(test.text);
    }
    for (const std::string& error : outcome.errors()) {
        write_line(Stream::Out, "  the file itself");
        write_indented(error);
    }
}

// XML 1.0 has no way to write most control characters.
std::string escaped(std::string_view text) {
    std::string result;
    for (char letter : text) {
        switch (letter) {
        case '&': result += "&amp;"; break;
        case '<': result += "&lt;"; break;
        case '>': result += "&gt;"; break;
        case '"': result += "&quot;"; break;
        case '\n': result += "&#10;"; break;
        case '\t': result += "&#9;"; break;
        default: result += static_cast<unsigned char>(letter) < ' ' ? '?' : letter;
        }
    }
    return result;
}

std::string seconds(double milliseconds) { return format("{:.3f}", milliseconds / 1000); }

std::string first_line(const std::string& text) {
    // The message follows the code frame, which ends with the line of the caret.
    std::size_t caret = text.find("^\n");
    std::size_t begin = caret == std::string::npos ? 0 : caret + 2;
    return text.substr(begin, text.find('\n', begin) - begin);
}

std::string junit_case(const TestCase& test, const std::string& file) {
    std::string head =
        format("    <testcase name=\"{}\" classname=\"{}\" time=\"{}\"",
               escaped(joined(test.names)), escaped(file), seconds(test.milliseconds));
    switch (test.status) {
    case Status::Passed: return head + "/>\n";
    case Status::Skipped: return head + "><skipped/></testcase>\n";
    case Status::Failed: break;
    }
    return format("{}>\n      <failure message=\"{}\">{}</failure>\n    </testcase>\n", head,
                  escaped(first_line(test.text)), escaped(test.text));
}

std::string junit_file(const TestOutcome& outcome) {
    std::string file = shown_path(outcome.file());
    std::string text = format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" "
        "time=\"{}\">\n",
        escaped(file), outcome.cases().size(), outcome.count(Status::Failed),
        outcome.errors().size(), outcome.count(Status::Skipped), seconds(outcome.milliseconds()));
    for (const TestCase& test : outcome.cases()) text += junit_case(test, file);
    for (const std::string& error : outcome.errors()) {
        text += format(
            "    <testcase name=\"the file itself\" classname=\"{}\">\n"
            "      <error message=\"{}\">{}</error>\n    </testcase>\n",
            escaped(file), escaped(first_line(error)), escaped(error));
    }
    return text + "  </testsuite>\n";
}

}  // namespace

// ---------------------------------------------------------------- a file

TestOutcome::TestOutcome(std::string file)
    : file_(std::move(file)), begun_ns_(env::now_ns()), ended_ns_(begun_ns_) {}

void TestOutcome::add(std::string_view event) {
    ended_ns_ = env::now_ns();
    nlohmann::json told = nlohmann::json::parse(event, nullptr, false);
    if (told.is_discarded()) return fail("the runner has told what cannot be read");
    std::string kind = told.value("kind", "");
    if (kind == "error") return fail(told.value("text", ""));
    if (kind == "snapshots") {
        snapshots_written_ = told.value("written", 0U);
        snapshots_obsolete_ = told.value("obsolete", 0U);
        if (told.contains("text")) snapshots_ = told["text"].get<std::string>();
        return;
    }
    std::string status = told.value("status", "");
    cases_.push_back({
        .names = told.value("names", std::vector<std::string>()),
        .status = status == "passed"   ? Status::Passed
                  : status == "failed" ? Status::Failed
                                       : Status::Skipped,
        .milliseconds = told.value("ms", 0.0),
        .leaked = told.value("leaked", 0),
        .text = told.value("text", ""),
    });
}

std::size_t TestOutcome::count(Status status) const {
    return static_cast<std::size_t>(std::ranges::count(cases_, status, &TestCase::status));
}

bool TestOutcome::has_failed() const { return !errors_.empty() || count(Status::Failed) > 0; }

double TestOutcome::milliseconds() const {
    return static_cast<double>(ended_ns_ - begun_ns_) / 1e6;
}

// ---------------------------------------------------------------- all of them

TestReport::TestReport() : begun_ns_(env::now_ns()) {}

void TestReport::add(TestOutcome outcome) {
    bool failed = outcome.has_failed();
    std::string word =
        coloured(Stream::Out, failed ? Colour::Red : Colour::Green, failed ? "FAILED" : "ok    ");
    write_line(Stream::Out, format("{}  {} ({}, {:.0f} ms)", word, shown_path(outcome.file()),
                                   plural(outcome.cases().size(), "test"), outcome.milliseconds()));
    for (const TestCase& test : outcome.cases()) {
        if (test.leaked == 0) continue;
        write_line(Stream::Out, format("  {}: left {}, which ended with it", joined(test.names),
                                       plural(static_cast<std::size_t>(test.leaked), "timer")));
    }
    if (outcome.snapshots_written() > 0)
        write_line(Stream::Out,
                   "  " + plural(outcome.snapshots_written(), "snapshot") + " written");
    if (outcome.snapshots_obsolete() > 0)
        write_line(Stream::Out, format("  {} that no test has asked for; --update drops them",
                                       plural(outcome.snapshots_obsolete(), "snapshot")));
    if (failed) write_failures(outcome);
    files_.push_back(std::move(outcome));
}

void TestReport::finish() const {
    std::size_t passed = 0;
    std::size_t failed = 0;
    std::size_t skipped = 0;
    std::size_t errors = 0;
    for (const TestOutcome& file : files_) {
        passed += file.count(Status::Passed);
        failed += file.count(Status::Failed);
        skipped += file.count(Status::Skipped);
        errors += file.errors().size();
    }
    std::string text = format("{} passed", passed);
    if (failed > 0) text += ", " + coloured(Stream::Out, Colour::Red, format("{} failed", failed));
    if (errors > 0) text += ", " + plural(errors, "error");
    if (skipped > 0) text += format(", {} skipped", skipped);
    write_line(Stream::Out, format("{}; {}, {:.2f} s", text, plural(files_.size(), "file"),
                                   static_cast<double>(env::now_ns() - begun_ns_) / 1e9));
}

bool TestReport::has_failed() const {
    return std::ranges::any_of(files_, [](const TestOutcome& file) { return file.has_failed(); });
}

std::string TestReport::junit() const {
    std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
    for (const TestOutcome& file : files_) text += junit_file(file);
    return text + "</testsuites>\n";
}

Result<void> TestReport::write_junit(const std::string& path) const {
    std::ofstream file(path, std::ios::trunc | std::ios::binary);
    file << junit();
    file.close();
    if (!file) return Error(ErrorKind::Other, format("{} cannot be written", path));
    return {};
}

}  // namespace weft::app
