// What the kernel leaves for HTTP: one thread, level-triggered epoll, answers made beforehand; no
// parser, no runtime, no error handling. `http_epoll`, by the environment:
//   PORT, WWW (the folder of 10k.bin and 1m.bin), UPSTREAM_PORT (then /1k is relayed).
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "bench/common/listen.h"

namespace {

constexpr int kEventsMax = 512;
constexpr std::size_t kPipelinedMax = 64;
constexpr std::size_t kUpstreamBytes = 1024;
constexpr long kEventNanoseconds = 100'000'000;
constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr std::string_view kUpstreamRequest = "GET /1k HTTP/1.1\r\nHost: upstream\r\n\r\n";

std::string make_head(std::size_t body_bytes) {
    return "HTTP/1.1 200 OK\r\nDate: Sun, 15 Nov 2026 08:00:00 GMT\r\nContent-Type: text/plain"
           "\r\nContent-Length: " +
           std::to_string(body_bytes) + "\r\n\r\n";
}

std::string make_answer(const std::string& body) { return make_head(body.size()) + body; }

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

struct Connection {
    int partner = -1;  // of a relay: the other side
    bool is_upstream = false;
    std::size_t left = 0;  // of the large file
    bool awaits_room = false;
};

class Server {
public:
    Server()
        : listener_(bench::listen_on(std::strtoul(environment("PORT").c_str(), nullptr, 10),
                                     SOCK_NONBLOCK)),
          upstream_port_(environment("UPSTREAM_PORT")),
          large_(open((environment("WWW") + "/1m.bin").c_str(), O_RDONLY)) {
        std::ifstream file(environment("WWW") + "/10k.bin", std::ios::binary);
        file_answer_ = make_answer({std::istreambuf_iterator<char>(file), {}});
        struct stat status{};
        if (fstat(large_, &status) == 0) large_bytes_ = static_cast<std::size_t>(status.st_size);
        large_head_ = make_head(large_bytes_);
        for (std::size_t i = 0; i < kPipelinedMax; ++i) plain_answers_ += plain_answer_;
        watch(listener_, EPOLL_CTL_ADD, EPOLLIN);
        watch(ticker_, EPOLL_CTL_ADD, EPOLLIN);
    }

    void serve() {
        std::array<epoll_event, kEventsMax> events;
        for (;;) {
            const int ready = epoll_wait(epoll_, events.data(), kEventsMax, -1);
            for (int i = 0; i < ready; ++i) handle(events[i].data.fd, events[i].events);
        }
    }

private:
    void watch(int fd, int operation, std::uint32_t wanted) {
        epoll_event event{};
        event.events = wanted;
        event.data.fd = fd;
        epoll_ctl(epoll_, operation, fd, &event);
    }

    Connection& connection(int fd) {
        const auto index = static_cast<std::size_t>(fd);
        if (index >= connections_.size()) connections_.resize(index + 1);
        return connections_[index];
    }

    void handle(int fd, std::uint32_t events) {
        if (fd == listener_) return accept_all();
        if (fd == ticker_) return tick();
        if ((events & EPOLLOUT) != 0) return send_large(fd);
        const ssize_t received = recv(fd, buffer_.data(), buffer_.size(), 0);
        if (received < 0 && errno == EAGAIN) return;
        if (received <= 0) return end(fd);
        const std::string_view text(buffer_.data(), static_cast<std::size_t>(received));
        if (connection(fd).is_upstream) return send_text(connection(fd).partner, text);
        answer(fd, text);
    }

    void accept_all() {
        for (;;) {
            const int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK);
            if (fd < 0) return;
            bench::disable_nagle(fd);
            connection(fd) = {};
            watch(fd, EPOLL_CTL_ADD, EPOLLIN);
        }
    }

    void end(int fd) {
        const int partner = connection(fd).partner;
        if (partner >= 0) close(partner);
        std::erase(listeners_of_events_, fd);
        close(fd);
    }

    // The paths differ in their second character.
    void answer(int fd, std::string_view request) {
        switch (request[5]) {
        case 'p': return answer_plain(fd, request);
        case '1': return answer_file(fd, request[6]);
        case 'e': return begin_events(fd);
        default: return send_text(fd, plain_answer_);
        }
    }

    // A request in two pieces does not occur: the load sends whole ones.
    void answer_plain(int fd, std::string_view requests) {
        std::size_t count = 0;
        for (std::size_t at = requests.find(kHeadEnd); at != std::string_view::npos;
             at = requests.find(kHeadEnd, at + kHeadEnd.size())) {
            ++count;
        }
        send_text(fd, std::string_view(plain_answers_).substr(0, count * plain_answer_.size()));
    }

    void answer_file(int fd, char size) {
        if (size == '0') return send_text(fd, file_answer_);
        if (size == 'k' && !upstream_port_.empty()) return relay(fd);
        if (size == 'k') return send_text(fd, upstream_answer_);
        send(fd, large_head_.data(), large_head_.size(), MSG_NOSIGNAL | MSG_MORE);
        connection(fd).left = large_bytes_;
        send_large(fd);
    }

    void send_large(int fd) {
        Connection& state = connection(fd);
        while (state.left > 0) {
            auto offset = static_cast<off_t>(large_bytes_ - state.left);
            const ssize_t sent = sendfile(fd, large_, &offset, state.left);
            if (sent <= 0) break;
            state.left -= static_cast<std::size_t>(sent);
        }
        const bool awaits_room = state.left > 0;
        if (awaits_room != state.awaits_room) {
            watch(fd, EPOLL_CTL_MOD, awaits_room ? EPOLLOUT : EPOLLIN);
        }
        state.awaits_room = awaits_room;
    }

    // Each client has an upstream connection of its own: the least a relay can do.
    void relay(int fd) {
        if (connection(fd).partner < 0) connect_upstream(fd);
        send_text(connection(fd).partner, kUpstreamRequest);
    }

    void connect_upstream(int client) {
        const int fd = bench::connect_to(std::strtoul(upstream_port_.c_str(), nullptr, 10));
        connection(fd) = {.partner = client, .is_upstream = true};
        connection(client).partner = fd;
        watch(fd, EPOLL_CTL_ADD, EPOLLIN);
    }

    void begin_events(int fd) {
        send_text(fd,
                  "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                  "Transfer-Encoding: chunked\r\n\r\n");
        if (listeners_of_events_.empty()) {
            const timespec period{.tv_sec = 0, .tv_nsec = kEventNanoseconds};
            const itimerspec times{.it_interval = period, .it_value = period};
            timerfd_settime(ticker_, 0, &times, nullptr);
        }
        listeners_of_events_.push_back(fd);
    }

    void tick() {
        std::uint64_t expirations = 0;
        if (read(ticker_, &expirations, sizeof expirations) < 0) return;
        for (const int fd : listeners_of_events_) send_text(fd, event_);
    }

    static void send_text(int fd, std::string_view text) {
        static_cast<void>(send(fd, text.data(), text.size(), MSG_NOSIGNAL));
    }

    int listener_;
    std::string upstream_port_;
    int large_;
    std::size_t large_bytes_ = 0;
    int epoll_ = epoll_create1(0);
    int ticker_ = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    std::string plain_answer_ = make_answer("Hello, World!");
    std::string plain_answers_;
    std::string upstream_answer_ = make_answer(std::string(kUpstreamBytes, 'x'));
    std::string file_answer_;
    std::string large_head_;
    std::string event_ = "32\r\ndata: 12345 " + std::string(36, 'x') + "\n\n\r\n";
    std::vector<Connection> connections_;
    std::vector<int> listeners_of_events_;
    std::array<char, 64 * 1024> buffer_;
};

}  // namespace

int main() { Server().serve(); }
