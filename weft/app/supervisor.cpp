#include "weft/app/supervisor.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "weft/app/command_line.h"
#include "weft/app/commands.h"
#include "weft/app/terminal.h"
#include "weft/async/group.h"
#include "weft/base/format.h"
#include "weft/base/log.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/io.h"
#include "weft/fiber/os/process.h"
#include "weft/fiber/os/signal.h"
#include "weft/net/socket.h"
#include "weft/sync/channel.h"

namespace weft::app {
namespace {

// A child that has lived for this long did not die early.
constexpr Nanoseconds kEarlyDeathMax = std::chrono::seconds(2);
// This many early deaths in a row are followed by no pause: requests may kill several children.
constexpr unsigned kDeathsWithoutPause = 3;
constexpr Nanoseconds kPauseMin = std::chrono::milliseconds(50);
constexpr Nanoseconds kPauseMax = std::chrono::seconds(5);
constexpr int kFirstInherited = 3;

struct News {
    enum class Kind : std::uint8_t { Ready, Ended, Signal, HangUp } kind;
    ExitStatus status = {};
};

std::string what_ended(const ExitStatus& status) {
    if (status.signal == 0) return format("ended with status {}", status.code);
    const char* name = ::sigabbrev_np(status.signal);
    return format("was killed by SIG{}", name ? name : std::to_string(status.signal));
}

// The path of this program, so that the child has the same name; if the file was removed, the link
// /proc/self/exe, which still works.
std::string own_program() {
    const std::filesystem::path self = "/proc/self/exe";
    std::error_code error;
    std::filesystem::path program = std::filesystem::read_symlink(self, error);
    return !error && std::filesystem::exists(program, error) ? program.string() : self.string();
}

// When a job of a group fails, it cancels the group's context, and whoever waits for the job's
// messages gets `error` from that. Returns the job's own error if there is one, else `error`.
Error cause(const Error& error, async::Group& group) {
    if (group.context().check()) return error;
    Result<void> outcome = group.wait();
    return outcome ? error : outcome.error();
}

class Supervisor {
public:
    Supervisor(const ServeConfig& config, const std::vector<std::string>& arguments)
        : config_(config) {
        command_.arguments.push_back(own_program());
        command_.arguments.insert(command_.arguments.end(), arguments.begin(), arguments.end());
        command_.input = ChildStream::Pipe;
        command_.group = ProcessGroup::Own;
    }

    Result<int> run() {
        WEFT_TRY(open_listeners());
        // SIGHUP reloads certificates; without TLS it ends the program as usual.
        bool has_tls = std::ranges::any_of(config_.listeners, [](const ListenerConfig& listener) {
            return listener.tls.has_value();
        });
        SignalWatch signals = WEFT_TRY(has_tls ? SignalWatch::open({SIGTERM, SIGINT, SIGHUP})
                                               : SignalWatch::open({SIGTERM, SIGINT}));
        async::Group watcher;
        WEFT_TRY(watcher.go([&]() -> Result<void> {
            for (;;) {
                int signal = WEFT_TRY(signals.wait());
                WEFT_TRY(news_.send({signal == SIGHUP ? News::Kind::HangUp : News::Kind::Signal}));
            }
        }));
        CancelScope scope(watcher.context().token());
        Result<int> outcome = watch_children();
        return outcome ? outcome : cause(outcome.error(), watcher);
    }

private:
    Result<void> open_listeners();
    Result<int> watch_children();
    Result<ExitStatus> run_child();
    // Waits. False: a signal to end came meanwhile.
    Result<bool> pause(Nanoseconds pause);
    void stop(Process& child);
    void write_addresses();
    static int exit_of(const ExitStatus& status) {
        return status.signal == 0 ? status.code : static_cast<int>(Exit::Machine);
    }

    const ServeConfig& config_;
    ProcessOptions command_;
    std::vector<std::vector<net::Listener>> listeners_;  // by listener, then by worker
    Channel<News> news_{16};
    bool has_served_ = false;
    bool stopping_ = false;
};

Result<void> Supervisor::open_listeners() {
    unsigned workers = 0;
    for (const AppConfig& app : config_.apps) workers = std::max(workers, app.isolates);
    for (const ListenerConfig& wanted : config_.listeners) {
        net::Address address = wanted.address;
        bool is_unix = address.kind() == net::Address::Kind::Unix;
        // With SO_REUSEPORT the workers would also share the port with another process, so this
        // checks that the port is free.
        if (workers > 1 && !is_unix && address.port() != 0)
            static_cast<void>(WEFT_TRY(net::Listener::open(address)));
        net::ListenOptions options;
        options.reuse_port = workers > 1 && !is_unix ? net::ReusePort::Yes : net::ReusePort::No;
        std::vector<net::Listener>& opened = listeners_.emplace_back();
        for (unsigned worker = 0; worker < (is_unix ? 1 : workers); ++worker) {
            opened.push_back(WEFT_TRY(net::Listener::open(address, options)));
            address = opened.back().address();
        }
    }
    return {};
}

Result<int> Supervisor::watch_children() {
    for (unsigned young = 0;;) {
        Instant begun = Clock::now();
        ExitStatus status = WEFT_TRY(run_child());
        if (stopping_ || (!has_served_ && status.signal == 0)) return exit_of(status);
        young = Clock::now() - begun >= kEarlyDeathMax ? 0 : young + 1;
        log(LogLevel::Error, "the process of the applications {}: another is started",
            what_ended(status));
        if (!WEFT_TRY(pause(restart_pause(young)))) return exit_of(status);
    }
}

Result<ExitStatus> Supervisor::run_child() {
    Pipe ready = WEFT_TRY(make_pipe());
    Supervised given;
    command_.inherited.assign(1, ready.writer.fd());
    given.ready = kFirstInherited;
    for (std::vector<net::Listener>& listeners : listeners_) {
        std::vector<int>& numbers = given.listeners.emplace_back();
        for (net::Listener& listener : listeners) {
            numbers.push_back(kFirstInherited + static_cast<int>(command_.inherited.size()));
            command_.inherited.push_back(listener.descriptor().fd());
        }
    }
    // NB: this program must not name `environ` itself: the linker would give it a copy of the
    // variable, which the engine's library does not see.
    command_.added_environment = {format("{}={}", Supervised::kVariable, given.text())};
    Process child = WEFT_TRY(Process::spawn(command_));
    ready.writer.close();
    async::Group watchers;
    WEFT_TRY(watchers.go([&]() -> Result<void> {
        ExitStatus status = WEFT_TRY(child.wait());
        return news_.send({News::Kind::Ended, status});
    }));
    WEFT_TRY(watchers.go([&]() -> Result<void> {
        std::array<std::byte, 1> word;
        std::size_t count = WEFT_TRY(ready.reader.read(word));
        return count == 0 ? Result<void>() : news_.send({News::Kind::Ready});
    }));
    CancelScope scope(watchers.context().token());
    if (stopping_) stop(child);
    for (;;) {
        Result<News> received = news_.receive();
        if (!received) return cause(received.error(), watchers);
        const News& news = *received;
        if (news.kind == News::Kind::Ended) return news.status;
        if (news.kind == News::Kind::Signal) stop(child);
        // A child that does not serve yet has just read its certificates, and SIGHUP would end it.
        if (news.kind == News::Kind::HangUp && has_served_) static_cast<void>(child.kill(SIGHUP));
        if (news.kind == News::Kind::Ready && !std::exchange(has_served_, true)) write_addresses();
    }
}

void Supervisor::stop(Process& child) {
    // No connection may wait in the backlog while the child drains.
    if (!std::exchange(stopping_, true))
        for (auto& listeners : listeners_)
            for (net::Listener& listener : listeners) listener.close();
    static_cast<void>(child.input().write_all(as_bytes("\n")));
}

Result<bool> Supervisor::pause(Nanoseconds pause) {
    Result<News> news = news_.receive_until(Deadline::after(pause));
    if (!news && news.error().kind() == ErrorKind::TimedOut) return true;
    return WEFT_TRY(std::move(news))
    .kind != News::Kind::Signal;
}

void Supervisor::write_addresses() {
    std::vector<net::Address> addresses;
    for (auto& listeners : listeners_) addresses.push_back(listeners.front().address());
    write_places(config_, addresses);
}

}  // namespace

std::optional<Supervised> Supervised::parse(std::string_view text) {
    Supervised parsed;
    std::vector<std::vector<int>> groups(1);
    const char* at = text.data();
    const char* end = at + text.size();
    for (;;) {
        int number = -1;
        auto [next, error] = std::from_chars(at, end, number);
        if (error != std::errc() || number < 0) return std::nullopt;
        groups.back().push_back(number);
        if (next == end) break;
        if (*next == ';')
            groups.emplace_back();
        else if (*next != ',')
            return std::nullopt;
        at = next + 1;
    }
    if (groups.size() < 2 || groups.front().size() != 1) return std::nullopt;
    parsed.ready = groups.front().front();
    parsed.listeners.assign(std::make_move_iterator(groups.begin() + 1),
                            std::make_move_iterator(groups.end()));
    return parsed;
}

std::string Supervised::text() const {
    std::string text = std::to_string(ready);
    for (const std::vector<int>& numbers : listeners)
        for (std::size_t at = 0; at < numbers.size(); ++at)
            text += (at == 0 ? ";" : ",") + std::to_string(numbers[at]);
    return text;
}

std::optional<Supervised> Supervised::take() {
    const char* text = std::getenv(kVariable);
    if (!text) return std::nullopt;
    std::optional<Supervised> parsed = parse(text);
    ::unsetenv(kVariable);
    return parsed;
}

Nanoseconds restart_pause(unsigned deaths) {
    if (deaths <= kDeathsWithoutPause) return Nanoseconds::zero();
    unsigned doublings = std::min(deaths - kDeathsWithoutPause - 1, 20U);
    return std::min(kPauseMin * (1 << doublings), kPauseMax);
}

Result<int> supervise(const ServeConfig& config, const std::vector<std::string>& arguments) {
    return Supervisor(config, arguments).run();
}

Result<void> tell_supervisor(const Supervised& supervised) {
    Descriptor ready = WEFT_TRY(Descriptor::adopt(supervised.ready));
    return ready.write_all(as_bytes("\n"));
}

Result<void> listen_to_supervisor() {
    Descriptor words = WEFT_TRY(Descriptor::adopt(::dup(STDIN_FILENO)));
    for (;;) {
        std::array<std::byte, 1> word;
        Result<std::size_t> count = words.read(word);
        if (!count && count.error().kind() == ErrorKind::Cancelled) return count.error();
        ::kill(::getpid(), SIGTERM);
        if (!count || *count == 0) return {};
    }
}

}  // namespace weft::app
