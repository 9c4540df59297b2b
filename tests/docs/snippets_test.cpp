// Runs every snippet of the documentation, each in a process of its own.
// tidy: allow-file sleep: another process is waited for, which tells by nothing but its answers
#include "tests/docs/snippets.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>

namespace weft_docs {

int port() {
    const char* chosen = std::getenv("WEFT_SNIPPET_PORT");
    return chosen ? std::atoi(chosen) : 8080;
}

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kPatience{60};

sockaddr_in loopback(int number) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(number));
    return address;
}

// Below those that the kernel gives away, or somebody else has it before the snippet listens. Tests
// that run at the same time begin at different ones.
int free_port() {
    constexpr int kFirst = 15'000;
    constexpr int kPorts = 15'000;
    for (int offset = 0; offset < kPorts; ++offset) {
        int number = kFirst + (::getpid() + offset) % kPorts;
        int probe = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address = loopback(number);
        bool is_free = ::bind(probe, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
        ::close(probe);
        if (is_free) return number;
    }
    ADD_FAILURE() << "no port is free";
    return 0;
}

// The status line of the answer; empty while nobody answers.
std::string ask(int number, const std::string& path) {
    int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = loopback(number);
    timeval patience{5, 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    std::string answer;
    if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
        std::string request =
            "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        char bytes[256];
        if (::write(fd, request.data(), request.size()) == static_cast<long>(request.size())) {
            long count = ::read(fd, bytes, sizeof bytes);
            if (count > 0) answer.assign(bytes, static_cast<std::size_t>(count));
        }
    }
    ::close(fd);
    return answer.substr(0, answer.find('\r'));
}

// The status of the process, or -1 when it has not ended in time and was killed.
int await_end(pid_t child) {
    for (auto until = Clock::now() + kPatience; Clock::now() < until;) {
        int status = 0;
        if (::waitpid(child, &status, WNOHANG) == child)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    return -1;
}

[[noreturn]] void run_here(const Snippet& snippet) {
    int status = snippet.run();
    std::fflush(nullptr);
    std::_Exit(status);
}

constexpr const char* kRunHere = "WEFT_SNIPPET_RUN_HERE";

// This program anew, for this test alone: a fork that goes on in C++ is not for every sanitizer.
[[noreturn]] void start_anew(const std::string& folder) {
    // What a page writes to a file goes to a folder that is removed.
    if (::chdir(folder.c_str()) != 0) std::_Exit(3);
    const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
    std::string filter =
        std::string("--gtest_filter=") + test.test_suite_name() + "." + test.name();
    ::setenv(kRunHere, "1", 1);
    ::execl("/proc/self/exe", "snippet", filter.c_str(), nullptr);
    std::_Exit(3);
}

class Docs : public testing::TestWithParam<Snippet> {};

TEST_P(Docs, TST_5e_a_snippet_compiles_and_runs) {
    const Snippet& snippet = GetParam();
    if (std::getenv(kRunHere)) run_here(snippet);
    std::string folder = testing::TempDir() + "weft-docs-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    bool serves = *snippet.serves != '\0';
    if (serves) ::setenv("WEFT_SNIPPET_PORT", std::to_string(free_port()).c_str(), 1);
    std::fflush(nullptr);
    pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) start_anew(folder);
    if (serves) {
        std::string answer;
        for (auto until = Clock::now() + kPatience; answer.empty() && Clock::now() < until;) {
            answer = ask(port(), snippet.serves);
            if (answer.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        EXPECT_EQ(answer, "HTTP/1.1 200 OK") << snippet.place;
        ::kill(child, SIGTERM);
    }
    int status = await_end(child);
    EXPECT_EQ(status == 0, !snippet.fails) << snippet.place << " ended with " << status;
    std::filesystem::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(, Docs, testing::ValuesIn(snippets()),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace weft_docs
