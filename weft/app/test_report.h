// The results of the tests: for people while they run, and for build servers afterwards.
//
//     ok      math.test.js (3 tests, 12 ms)
//     FAILED  user.test.js (2 tests, 40 ms)
//
//       user > has a name (3 ms)
//         /home/ann/user.test.js:4:22
//           expect(user.name).toBe("ann");
//                             ^
//         AssertionError: expect(...).toBe()
//
//     4 passed, 1 failed; 2 files, 0.08 s
//
// Values; a TestOutcome is filled by one thread and then moved to another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"

namespace weft::app {

struct TestCase {
    enum class Status : std::uint8_t { Passed, Failed, Skipped };
    std::vector<std::string> names;  // the names of its suites, then its own
    Status status = Status::Passed;
    double milliseconds = 0;
    int leaked = 0;    // timers that were still set at its end
    std::string text;  // the error of a failed test
};

// The results of one file.
class TestOutcome {
public:
    explicit TestOutcome(std::string file);

    // An event of the runner, as JSON.
    void add(std::string_view event);
    // The file failed outside of its tests.
    void fail(std::string text) { errors_.push_back(std::move(text)); }

    const std::string& file() const { return file_; }
    const std::vector<TestCase>& cases() const { return cases_; }
    const std::vector<std::string>& errors() const { return errors_; }
    // The new text of the file's snapshots, if it has changed.
    const std::optional<std::string>& snapshots() const { return snapshots_; }
    std::size_t snapshots_written() const { return snapshots_written_; }
    std::size_t snapshots_obsolete() const { return snapshots_obsolete_; }
    std::size_t count(TestCase::Status status) const;
    bool has_failed() const;
    double milliseconds() const;

private:
    std::string file_;
    std::vector<TestCase> cases_;
    std::vector<std::string> errors_;
    std::optional<std::string> snapshots_;
    std::size_t snapshots_written_ = 0;
    std::size_t snapshots_obsolete_ = 0;
    std::int64_t begun_ns_ = 0;
    std::int64_t ended_ns_ = 0;
};

class TestReport {
public:
    TestReport();

    // Also writes the results of the file.
    void add(TestOutcome outcome);
    // Writes the summary.
    void finish() const;
    bool has_failed() const;

    std::string junit() const;
    Result<void> write_junit(const std::string& path) const;

private:
    std::vector<TestOutcome> files_;
    std::int64_t begun_ns_ = 0;
};

}  // namespace weft::app
