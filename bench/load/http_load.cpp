// The load of the HTTP servers: `http_load name=value...`, one thread, epoll. Names:
//
//   mode=closed      every connection sends `depth` requests, waits for all answers, sends again
//   mode=rate        requests at fixed moments, `share` of what the server did in the warm-up;
//                    latency counts from the moment, so that a slow answer delays no measurement
//   mode=handshakes  closed, with a new TLS connection for each request
//   mode=stream      one request for each connection, then events that end in an empty line
//   mode=idle        one request and its answer for each connection, then silence
//   port= path= connections= depth= share= seconds= warm= (seconds) tls= (0 or 1)
//   request=FILE     what is sent, instead of a GET of the path
//   least=           bytes that a chunked answer has at least
//
// It talks with the driver so that only the requests are measured, not the connecting:
//   connects, warms up, prints `ready`, waits for a line;
//   works, prints `done <requests> <seconds> <p50 us> <p99 us> <steady>`, waits for a line (or the
//   end); steady: p99 over p50 in the median of the 20 ms that the run consists of, as a virtual
//   machine may stand still for milliseconds, several times a second.
// Every answer must be 200 and as long as the first one; that holds for all servers here. Chunked
// ones may differ, and end with the last chunk; so what they carry must not look like one.
#include <openssl/ssl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/common/listen.h"

namespace {

using Clock = std::chrono::steady_clock;
using Moment = Clock::time_point;
using Seconds = std::chrono::duration<double>;

constexpr int kEventsMax = 256;
constexpr int kStallMilliseconds = 10'000;
constexpr int kConnectTries = 400;
constexpr auto kConnectPause = std::chrono::milliseconds(10);
constexpr std::size_t kPumpEvery = 64;  // connections; so that no backlog is ever full
constexpr std::string_view kGoodStart = "HTTP/1.1 200";
constexpr std::string_view kLastChunk = "\r\n0\r\n\r\n";

struct Load {
    std::string mode = "closed";
    std::uint16_t port = 0;
    std::string path = "/";
    std::string request;
    std::size_t least = 0;
    std::size_t connections = 64;
    std::size_t depth = 1;
    double share = 0.8;
    double seconds = 2;
    double warm = 0.5;
    bool tls = false;
};

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "%s: %s\n", what.c_str(), std::strerror(errno));
    std::exit(1);
}

[[noreturn]] void fail_with_answer(std::string_view answer) {
    const std::string line(answer.substr(0, answer.find('\r')));
    std::fprintf(stderr, "not the expected answer: %s\n", line.substr(0, 100).c_str());
    std::exit(1);
}

struct FreeTls {
    void operator()(SSL* tls) const { SSL_free(tls); }
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using Tls = std::unique_ptr<SSL, FreeTls>;
using TlsContext = std::unique_ptr<SSL_CTX, FreeTls>;

struct Connection {
    int fd = -1;
    Tls tls;
    bool shaking = false;      // the handshake is under way
    std::size_t received = 0;  // of the answers that are awaited
    Moment since;              // when they were asked for, or should have been
    std::string tail;          // the last bytes of a chunked answer
};

double percentile(std::vector<double>& values, double part) {
    if (values.empty()) return 0;
    const auto rank = static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1));
    std::nth_element(values.begin(), values.begin() + rank, values.end());
    return values[static_cast<std::size_t>(rank)];
}

// Everything that was measured, in microseconds; exact, as a run is short.
class Latencies {
public:
    Latencies() { all_.reserve(1 << 20); }

    void begin() {
        all_.clear();
        window_.clear();
        steadiness_.clear();
        window_end_ = Clock::now() + kWindow;
    }
    void add(Moment now, Moment since) {
        if (now >= window_end_) end_window(now);
        const double microseconds = Seconds(now - since).count() * 1e6;
        all_.push_back(microseconds);
        window_.push_back(microseconds);
    }
    double at(double part) { return percentile(all_, part); }
    double steadiness() { return percentile(steadiness_, 0.5); }

private:
    static constexpr auto kWindow = std::chrono::milliseconds(20);

    void end_window(Moment now) {
        const double middle = percentile(window_, 0.5);
        if (middle > 0) steadiness_.push_back(percentile(window_, 0.99) / middle);
        window_.clear();
        window_end_ = now + kWindow;
    }

    std::vector<double> all_;
    std::vector<double> window_;
    std::vector<double> steadiness_;
    Moment window_end_;
};

// A server may need a moment to start, and its backlog may be full for a moment.
int connect_patiently(std::uint16_t port) {
    for (int tries = 0; tries < kConnectTries; ++tries) {
        const int fd = bench::connect_to(port);
        if (fd >= 0) return fd;
        std::this_thread::sleep_for(kConnectPause);
    }
    fail("connect");
}

// Closing with linger 0 resets the connection: no TIME_WAIT is left behind for the next run.
void reset_on_close(int fd) {
    const linger reset{.l_onoff = 1, .l_linger = 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
}

TlsContext make_tls_context() {
    TlsContext context(SSL_CTX_new(TLS_client_method()));
    SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
    // Sessions are not kept, so every handshake is a full one.
    SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
    return context;
}

std::string contents_of(const std::string& file) {
    std::ifstream input(file, std::ios::binary);
    if (!input) fail(file);
    return {std::istreambuf_iterator<char>(input), {}};
}

// How the answers end, as the first one says.
struct Framing {
    std::size_t bytes = 0;  // of a whole answer
    bool is_chunked = false;
};

Framing framing_of(std::string_view text) {
    const std::size_t end = text.find("\r\n\r\n");
    if (end == std::string_view::npos) fail("a head in pieces");
    std::string head(text.substr(0, end));
    std::transform(head.begin(), head.end(), head.begin(), [](unsigned char character) {
        return static_cast<char>(std::tolower(character));
    });
    constexpr std::string_view kField = "\r\ncontent-length:";
    const std::size_t field = head.find(kField);
    const bool is_chunked = head.find("\r\ntransfer-encoding: chunked") != std::string::npos;
    if (!text.starts_with(kGoodStart) || is_chunked == (field != std::string::npos)) {
        fail_with_answer(text);
    }
    if (is_chunked) return {.is_chunked = true};
    return {.bytes = end + 4 + std::strtoul(head.c_str() + field + kField.size(), nullptr, 10)};
}

class Client {
public:
    explicit Client(Load load) : load_(std::move(load)) {
        const std::string request = load_.request.empty()
                                        ? "GET " + load_.path + " HTTP/1.1\r\nHost: 127.0.0.1:" +
                                              std::to_string(load_.port) + "\r\n\r\n"
                                        : contents_of(load_.request);
        for (std::size_t i = 0; i < load_.depth; ++i) requests_ += request;
        connections_.resize(load_.connections);
    }

    void prepare() {
        for (std::size_t i = 0; i < connections_.size(); ++i) {
            open_connection(i);
            if (i % kPumpEvery == kPumpEvery - 1) settle(i + 1);
        }
        settle(connections_.size());
        if (load_.mode == "idle" || load_.mode == "stream") return;
        const double answered = run_closed(load_.warm);
        rate_ = load_.share * answered / load_.warm;
    }

    void work() {
        latencies_.begin();
        const Moment begin = Clock::now();
        double requests = 0;
        if (load_.mode == "rate") {
            requests = run_at_rate();
        } else if (load_.mode == "stream") {
            requests = count_events();
        } else if (load_.mode != "idle") {
            requests = run_closed(load_.seconds);
        }
        const double seconds = Seconds(Clock::now() - begin).count();
        std::printf("done %.0f %.6f %.1f %.1f %.2f\n", requests, seconds, latencies_.at(0.5),
                    latencies_.at(0.99), latencies_.steadiness());
        std::fflush(stdout);
    }

private:
    void open_connection(std::size_t index) {
        Connection& connection = connections_[index];
        connection.fd = connect_patiently(load_.port);
        reset_on_close(connection.fd);
        if (load_.tls) {
            connection.tls.reset(SSL_new(tls_context_.get()));
            SSL_set_fd(connection.tls.get(), connection.fd);
            SSL_set_connect_state(connection.tls.get());
            connection.shaking = true;
        }
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u32 = static_cast<std::uint32_t>(index);
        epoll_ctl(epoll_, EPOLL_CTL_ADD, connection.fd, &event);
        connection.since = Clock::now();
        begin_requests(connection);
    }

    void close_connection(Connection& connection) {
        connection.tls.reset();
        close(connection.fd);
    }

    // A handshake comes first where there is one; the requests leave when it is done.
    void begin_requests(Connection& connection) {
        connection.received = 0;
        if (connection.shaking && !finish_handshake(connection)) return;
        write_requests(connection);
    }

    bool finish_handshake(Connection& connection) {
        const int result = SSL_connect(connection.tls.get());
        if (result == 1) {
            connection.shaking = false;
            return true;
        }
        if (SSL_get_error(connection.tls.get(), result) != SSL_ERROR_WANT_READ) fail("handshake");
        return false;
    }

    void write_requests(Connection& connection) {
        const auto size = static_cast<ssize_t>(requests_.size());
        const ssize_t sent =
            connection.tls == nullptr
                ? send(connection.fd, requests_.data(), requests_.size(), MSG_NOSIGNAL)
                : SSL_write(connection.tls.get(), requests_.data(), static_cast<int>(size));
        if (sent != size) fail("send");
    }

    // 0: nothing is there now. Of an answer whose start was seen, the rest is not copied.
    std::size_t receive(Connection& connection) {
        if (connection.tls != nullptr) return receive_tls(connection);
        const bool discard = connection.received >= kGoodStart.size() && expected_ > buffer_.size();
        const ssize_t received = recv(connection.fd, buffer_.data(),
                                      discard ? expected_ - connection.received : buffer_.size(),
                                      discard ? MSG_TRUNC : 0);
        if (received < 0 && errno == EAGAIN) return 0;
        if (received <= 0) fail("the server closed a connection");
        if (!discard) check_start(connection, {buffer_.data(), static_cast<std::size_t>(received)});
        return static_cast<std::size_t>(received);
    }

    std::size_t receive_tls(Connection& connection) {
        const int received =
            SSL_read(connection.tls.get(), buffer_.data(), static_cast<int>(buffer_.size()));
        if (received <= 0) {
            const int error = SSL_get_error(connection.tls.get(), received);
            if (error != SSL_ERROR_WANT_READ) fail("the server closed a connection");
            return 0;
        }
        check_start(connection, {buffer_.data(), static_cast<std::size_t>(received)});
        return static_cast<std::size_t>(received);
    }

    void check_start(const Connection& connection, std::string_view text) const {
        if (connection.received > 0) return;
        const std::size_t count = std::min(text.size(), kGoodStart.size());
        if (text.substr(0, count) != kGoodStart.substr(0, count)) fail_with_answer(text);
    }

    // True when all answers that the connection waits for are there.
    bool on_readable(Connection& connection) {
        if (connection.shaking) {
            if (!finish_handshake(connection)) return false;
            write_requests(connection);
        }
        for (;;) {
            const std::size_t received = receive(connection);
            if (received == 0) return false;
            if (expected_ == 0 && !is_chunked_) learn_framing(received);
            connection.received += received;
            if (is_chunked_ && has_last_chunk(connection, received)) return true;
            if (is_chunked_ && connection.tls == nullptr) return false;
            if (connection.received == expected_ * load_.depth) return true;
            if (connection.received > expected_ * load_.depth) fail("answers of several lengths");
            if (connection.tls == nullptr) return false;  // epoll says when there is more
        }
    }

    // The first answer of all tells how they end.
    void learn_framing(std::size_t received) {
        const Framing framing = framing_of({buffer_.data(), received});
        expected_ = framing.bytes;
        is_chunked_ = framing.is_chunked;
        if (is_chunked_ && load_.depth > 1) fail("chunked answers, pipelined");
    }

    bool has_last_chunk(Connection& connection, std::size_t received) {
        const std::size_t count = std::min(received, kLastChunk.size());
        connection.tail.append(buffer_.data() + received - count, count);
        if (connection.tail.size() > kLastChunk.size()) {
            connection.tail.erase(0, connection.tail.size() - kLastChunk.size());
        }
        if (connection.tail != kLastChunk) return false;
        connection.tail.clear();
        if (connection.received < load_.least) fail("a chunked answer is too short");
        return true;
    }

    template <class Handle>
    void wait_for_answers(int timeout_milliseconds, Handle handle) {
        std::array<epoll_event, kEventsMax> events;
        const int ready = epoll_wait(epoll_, events.data(), kEventsMax, timeout_milliseconds);
        if (ready < 0 && errno != EINTR) fail("epoll_wait");
        if (ready == 0 && timeout_milliseconds == kStallMilliseconds) {
            errno = ETIMEDOUT;
            fail("no answer");
        }
        for (int i = 0; i < ready; ++i) handle(events[i].data.u32);
    }

    // Until the first `opened` connections have had their first answer; a stream has no end, so its
    // head is enough.
    void settle(std::size_t opened) {
        while (settled_ < opened) {
            wait_for_answers(kStallMilliseconds, [this](std::size_t index) {
                if (load_.mode == "stream" ? begin_stream(index)
                                           : on_readable(connections_[index])) {
                    ++settled_;
                    free_.push_back(index);
                }
            });
        }
    }

    // Gives the answers of so many seconds. Connections are all free before and after.
    double run_closed(double seconds) {
        const Moment end =
            Clock::now() + std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
        std::size_t rounds = 0;
        std::size_t busy = free_.size();
        for (const std::size_t index : free_) ask_again(index, Clock::now());
        while (busy > 0) {
            wait_for_answers(kStallMilliseconds, [&](std::size_t index) {
                if (!on_readable(connections_[index])) return;
                const Moment now = Clock::now();
                latencies_.add(now, connections_[index].since);
                ++rounds;
                if (now < end) {
                    ask_again(index, now);
                } else {
                    --busy;
                }
            });
        }
        return static_cast<double>(rounds * load_.depth);
    }

    void ask_again(std::size_t index, Moment since) {
        if (load_.mode == "handshakes") {
            close_connection(connections_[index]);
            open_connection(index);
            return;
        }
        connections_[index].since = since;
        begin_requests(connections_[index]);
    }

    // Request i is due at begin + i / rate; it waits for a free connection if there is none.
    double run_at_rate() {
        const auto total = static_cast<std::size_t>(rate_ * load_.seconds);
        const Moment begin = Clock::now();
        const auto due = [&](std::size_t i) {
            return begin + std::chrono::duration_cast<Clock::duration>(
                               Seconds(static_cast<double>(i) / rate_));
        };
        std::size_t asked = 0;
        std::size_t answered = 0;
        while (answered < total) {
            while (asked < total && !free_.empty() && due(asked) <= Clock::now()) {
                ask_again(free_.front(), due(asked));
                free_.pop_front();
                ++asked;
            }
            // It has a core of its own: asking again and again is the finest clock there is.
            wait_for_answers(0, [&](std::size_t index) {
                if (!on_readable(connections_[index])) return;
                latencies_.add(Clock::now(), connections_[index].since);
                free_.push_back(index);
                ++answered;
            });
            if (Seconds(Clock::now() - begin).count() > load_.seconds * 4) fail("too slow");
        }
        return static_cast<double>(total);
    }

    // True at the first bytes: the head.
    bool begin_stream(std::size_t index) {
        Connection& connection = connections_[index];
        const std::size_t received = receive(connection);
        const bool first = connection.received == 0 && received > 0;
        connection.received += received;
        return first;
    }

    double count_events() {
        const Moment end =
            Clock::now() + std::chrono::duration_cast<Clock::duration>(Seconds(load_.seconds));
        std::size_t events = 0;
        while (Clock::now() < end) {
            wait_for_answers(kStallMilliseconds, [&](std::size_t index) {
                const std::string_view text(buffer_.data(), receive(connections_[index]));
                for (std::size_t at = text.find("\n\n"); at != std::string_view::npos;
                     at = text.find("\n\n", at + 2)) {
                    ++events;
                }
            });
        }
        return static_cast<double>(events);
    }

    Load load_;
    std::string requests_;
    TlsContext tls_context_ = make_tls_context();
    int epoll_ = epoll_create1(0);
    std::vector<Connection> connections_;
    std::deque<std::size_t> free_;
    std::size_t settled_ = 0;
    std::size_t expected_ = 0;  // bytes of one answer, 0 while unknown or chunked
    bool is_chunked_ = false;
    double rate_ = 0;
    Latencies latencies_;
    std::array<char, 64 * 1024> buffer_;
};

void wait_for_driver() {
    int character = std::getchar();
    while (character != '\n' && character != EOF) character = std::getchar();
}

// False when there is no such name.
bool set_option(Load& load, std::string_view name, const char* value) {
    const auto number = [value] { return std::strtod(value, nullptr); };
    const auto count = [value] { return std::strtoul(value, nullptr, 10); };
    if (name == "mode") return load.mode = value, true;
    if (name == "path") return load.path = value, true;
    if (name == "request") return load.request = value, true;
    if (name == "least") return load.least = count(), true;
    if (name == "port") return load.port = static_cast<std::uint16_t>(count()), true;
    if (name == "connections") return load.connections = count(), true;
    if (name == "depth") return load.depth = count(), true;
    if (name == "share") return load.share = number(), true;
    if (name == "seconds") return load.seconds = number(), true;
    if (name == "warm") return load.warm = number(), true;
    if (name == "tls") return load.tls = count() != 0, true;
    return false;
}

Load parse_load(int argc, char** argv) {
    Load load;
    for (int i = 1; i < argc; ++i) {
        const std::string_view argument = argv[i];
        const std::size_t equals = argument.find('=');
        const bool known = equals != std::string_view::npos &&
                           set_option(load, argument.substr(0, equals), argv[i] + equals + 1);
        if (!known) {
            std::fprintf(stderr, "%s: no option '%s'\n", argv[0], argv[i]);
            std::exit(2);
        }
    }
    return load;
}

}  // namespace

int main(int argc, char** argv) {
    Client client(parse_load(argc, argv));
    client.prepare();
    std::puts("ready");
    std::fflush(stdout);
    wait_for_driver();
    client.work();
    wait_for_driver();
}
