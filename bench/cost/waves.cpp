// The load of bench/cost: `cost_waves <mode> <port> <connections> <waves>...`.
//
//   http    GET /plaintext and its answer
//   echo    64 bytes and the same back
//   events  GET /events once, then so many events
//
// A wave is one message on every connection. The next one begins when all answers of the last are
// here, so that the server has the same batches in every run, however slow it is. Prints `done`
// after so many waves, and waits for a line before the next ones, or for the end of its input:
// closing is not measured.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/common/listen.h"

namespace {

constexpr int kStallMilliseconds = 30'000;
constexpr int kConnectTries = 3'000;
constexpr auto kConnectPause = std::chrono::milliseconds(10);
constexpr std::size_t kEchoBytes = 64;

[[noreturn]] void fail(const char* what) {
    std::perror(what);
    std::exit(1);
}

// A server under an emulator needs a while to start.
int connect_patiently(std::size_t port) {
    for (int tries = 0; tries < kConnectTries; ++tries) {
        const int fd = bench::connect_to(port);
        if (fd >= 0) return fd;
        std::this_thread::sleep_for(kConnectPause);
    }
    fail("connect");
}

std::string get(std::string_view path) {
    return "GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
}

class Load {
public:
    Load(std::string_view mode, std::size_t port, std::size_t connections) : mode_(mode) {
        message_ = mode == "echo" ? std::string(kEchoBytes, 'x')
                                  : get(mode == "events" ? "/events" : "/plaintext");
        for (std::size_t i = 0; i < connections; ++i) fds_.push_back(connect_patiently(port));
    }

    void run(std::size_t waves) {
        if (mode_ == "events") send_all();
        for (std::size_t wave = 0; wave < waves; ++wave) {
            if (mode_ != "events") send_all();
            for (const int fd : fds_) receive_answer(fd);
        }
    }

private:
    void send_all() {
        for (const int fd : fds_) {
            const ssize_t sent = send(fd, message_.data(), message_.size(), MSG_NOSIGNAL);
            if (sent != static_cast<ssize_t>(message_.size())) fail("send");
        }
    }

    // Events end with an empty line, as the head before them does; the others are short enough to
    // come in one piece.
    void receive_answer(int fd) {
        std::array<char, 4096> answer;
        pollfd entry{.fd = fd, .events = POLLIN, .revents = 0};
        if (poll(&entry, 1, kStallMilliseconds) != 1) fail("the server stalled");
        const ssize_t received = recv(fd, answer.data(), answer.size(), 0);
        if (received <= 0) fail("the server closed a connection");
        const std::string_view text(answer.data(), static_cast<std::size_t>(received));
        if (mode_ == "echo" ? text.size() != kEchoBytes : text.starts_with("HTTP/1.1 4")) {
            fail("not the expected answer");
        }
    }

    const std::string mode_;
    std::string message_;
    std::vector<int> fds_;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc < 5) {
        std::fprintf(stderr, "usage: %s http|echo|events port connections waves...\n", argv[0]);
        return 2;
    }
    Load load(argv[1], std::strtoul(argv[2], nullptr, 10), std::strtoul(argv[3], nullptr, 10));
    for (int part = 4; part < argc; ++part) {
        load.run(std::strtoul(argv[part], nullptr, 10));
        std::puts("done");
        std::fflush(stdout);
        char line = 0;
        while (read(STDIN_FILENO, &line, 1) > 0 && line != '\n') {}
    }
    return 0;
}
