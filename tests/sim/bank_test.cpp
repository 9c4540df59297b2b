// A service with a mistake, as a user tests it: tests/install/project/bank_sim.cpp, built here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

namespace weft::sim {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct Outcome {
    int status = -1;
    std::string output;
};

Outcome bank_sim(const std::string& arguments) {
    Outcome outcome;
    // What a failed run leaves behind is no leak.
    std::string command = "ASAN_OPTIONS=detect_leaks=0 " WEFT_BANK_SIM_PROGRAM " " + arguments;
    std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
    if (!pipe) return outcome;
    char buffer[4096];
    while (std::size_t count = std::fread(buffer, 1, sizeof buffer, pipe))
        outcome.output.append(buffer, count);
    int status = pclose(pipe);
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return outcome;
}

std::string text_of(const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

class TemporaryFile {
public:
    TemporaryFile() { ::close(::mkstemp(path_.data())); }
    ~TemporaryFile() { ::unlink(path_.c_str()); }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    const std::string& path() const { return path_; }

private:
    std::string path_ = ::testing::TempDir() + "weft-seeds-XXXXXX";
};

TEST(SimBank, SIM_3a_a_planted_bug_is_found_over_http) {
    Outcome outcome = bank_sim("--seeds 1000");
    EXPECT_EQ(outcome.status, 1) << outcome.output;
    EXPECT_THAT(outcome.output, StartsWith("transfers FAILED: seed "));
    EXPECT_THAT(outcome.output, HasSubstr(": money was lost or made\n"));
    EXPECT_THAT(outcome.output, HasSubstr("shortened from "));
    EXPECT_THAT(outcome.output, HasSubstr("mutex 1  lock"));
#if defined(WEFT_SYMBOLS) && !defined(NDEBUG)  // that build has no lines to show
    EXPECT_THAT(outcome.output, HasSubstr("bank_sim.cpp:"));
#endif
}

#if defined(WEFT_SYMBOLS) && !defined(NDEBUG)

// The program is optimised: what locks has been inlined, and so have those who call it.
TEST(SimBank, SIM_4d_lines_are_shown_of_an_optimised_program) {
    Outcome outcome = bank_sim("--seeds 1000");
    EXPECT_THAT(outcome.output, ContainsRegex("mutex 1  lock .*bank_sim.cpp:[0-9]+\\)"));
    EXPECT_THAT(outcome.output, ContainsRegex("waits: readable .*bank_sim.cpp:[0-9]+\\)"));
    EXPECT_THAT(outcome.output, Not(ContainsRegex("\\(weft/.*\\.(h|cpp):")));
}

#endif

TEST(SimBank, SIM_4d_the_last_line_repeats_the_shortened_run) {
    Outcome outcome = bank_sim("--seeds 1000");
    std::string mark = "replay: bank_sim ";
    std::size_t at = outcome.output.find(mark);
    ASSERT_NE(at, std::string::npos) << outcome.output;
    std::string arguments = outcome.output.substr(at + mark.size());
    arguments.pop_back();
    EXPECT_THAT(arguments, HasSubstr("--schedule "));
    Outcome again = bank_sim(arguments);
    EXPECT_EQ(again.status, 1);
    EXPECT_THAT(again.output, HasSubstr("money was lost or made"));
    EXPECT_THAT(again.output, HasSubstr(mark + arguments));
}

TEST(SimBank, SIM_4k_a_seed_that_failed_is_run_first_from_then_on) {
    TemporaryFile corpus;
    Outcome first = bank_sim("--seeds 1000 --no-shorten --corpus " + corpus.path());
    EXPECT_EQ(first.status, 1) << first.output;
    std::string noted = text_of(corpus.path());
    EXPECT_THAT(noted, StartsWith("transfers "));
    EXPECT_THAT(noted, HasSubstr("  # money was lost or made\n"));
    // Seeds that would pass are not even reached.
    Outcome then = bank_sim("--seeds 0 --no-shorten --corpus " + corpus.path());
    EXPECT_EQ(then.status, 1) << then.output;
    EXPECT_THAT(then.output, HasSubstr("money was lost or made"));
    EXPECT_EQ(text_of(corpus.path()), noted);
}

}  // namespace
}  // namespace weft::sim
