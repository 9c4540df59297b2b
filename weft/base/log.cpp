#include "weft/base/log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include "weft/base/env.h"

namespace weft {
namespace {

struct LevelName {
    LogLevel level;
    std::string_view name;
};

constexpr std::array kLevelNames{
    LevelName{LogLevel::Debug, "debug"}, LevelName{LogLevel::Info, "info"},
    LevelName{LogLevel::Warn, "warn"},   LevelName{LogLevel::Error, "error"},
    LevelName{LogLevel::Off, "off"},
};

constexpr LogLevel kDefaultLevel = LogLevel::Warn;

// The logger is global on purpose: it must work where no object could be passed.
// tidy: allow global: set once by the program, or by a test
constinit Atomic<LogSink*> current_sink{nullptr};

void write_to_stderr(char* line, std::size_t bytes) noexcept {
    line[bytes++] = '\n';
    // A full pipe or a closed stderr loses the line; logging must not stop the program.
    while (::write(STDERR_FILENO, line, bytes) < 0 && errno == EINTR) {}
}

// Replaces control characters, so that no argument can break the line in two.
void flatten(char* text, std::size_t bytes) noexcept {
    std::replace_if(
        text, text + bytes, [](char c) { return static_cast<unsigned char>(c) < ' ' && c != '\t'; },
        ' ');
}

}  // namespace

namespace log_internal {

// tidy: allow global: as current_sink
constinit Atomic<std::uint8_t> threshold{kThresholdUnread};

std::uint8_t read_threshold() noexcept {
    env::Unseen unseen;  // read once in the process, so it must not show in a simulated run
    const char* wanted = std::getenv("WEFT_LOG");
    std::optional<LogLevel> level = wanted != nullptr ? log_level_from(wanted) : std::nullopt;
    std::uint8_t unread = kThresholdUnread;
    auto found = static_cast<std::uint8_t>(level.value_or(kDefaultLevel));
    // Relaxed: as in log_enabled(). A threshold that set_log_level() stored meanwhile is kept.
    bool first = threshold.compare_exchange_strong(unread, found, std::memory_order_relaxed,
                                                   std::memory_order_relaxed);
    if (!first) return unread;
    if (wanted != nullptr && *wanted != '\0' && !level) {
        log(LogLevel::Warn, "WEFT_LOG={}: not a log level, using {}", wanted,
            to_string(kDefaultLevel));
    }
    return found;
}

void write_line(LogLevel level, fmt::string_view format, fmt::format_args arguments) noexcept {
    constexpr std::string_view cut_mark = "...";
    char line[kLogLineBytesMax + 1];  // one more for the newline
    int saved_errno = errno;          // callers log between a system call and its report

    std::size_t prefix_bytes =
        fmt::format_to_n(line, kLogLineBytesMax, "weft: {}: ", to_string(level)).size;
    char* text = line + prefix_bytes;
    std::size_t text_bytes_max = kLogLineBytesMax - prefix_bytes;
    std::size_t bytes = 0;
    try {
        bytes = fmt::vformat_to_n(text, text_bytes_max, format, arguments).size;
    } catch (...) {
        // A user's formatter threw. Log the format string, which identifies the message.
        bytes = fmt::format_to_n(text, text_bytes_max, "(format failed) {}", format).size;
    }
    if (bytes > text_bytes_max) {
        bytes = text_bytes_max;
        std::copy(cut_mark.begin(), cut_mark.end(), text + bytes - cut_mark.size());
    }
    flatten(text, bytes);

    if (Env* simulated = env::current()) {
        simulated->log(std::string_view(line, prefix_bytes + bytes));
        // Acquire: sees the sink's construction, published by set_log_sink().
    } else if (LogSink* sink = current_sink.load(std::memory_order_acquire)) {
        sink->line(level, std::string_view(line, prefix_bytes + bytes));
    } else {
        write_to_stderr(line, prefix_bytes + bytes);
    }
    errno = saved_errno;
}

}  // namespace log_internal

std::string_view to_string(LogLevel level) noexcept {
    for (const LevelName& entry : kLevelNames) {
        if (entry.level == level) return entry.name;
    }
    return "unknown";
}

std::optional<LogLevel> log_level_from(std::string_view name) noexcept {
    for (const LevelName& entry : kLevelNames) {
        if (entry.name == name) return entry.level;
    }
    return std::nullopt;
}

LogLevel log_level() noexcept {
    // Relaxed: as in log_enabled().
    std::uint8_t threshold = log_internal::threshold.load(std::memory_order_relaxed);
    if (threshold == log_internal::kThresholdUnread) threshold = log_internal::read_threshold();
    return static_cast<LogLevel>(threshold);
}

void set_log_level(LogLevel level) noexcept {
    log_internal::threshold.store(static_cast<std::uint8_t>(level), std::memory_order_relaxed);
}

LogSink* set_log_sink(LogSink* sink) noexcept {
    // Release publishes the new sink to write_line(). Acquire: the caller may destroy the old one.
    return current_sink.exchange(sink, std::memory_order_acq_rel);
}

}  // namespace weft
