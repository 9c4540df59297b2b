#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "weft/base/atomic.h"

namespace weft {

// The leveled logger: one line to stderr with one write(2). WEFT_LOG=debug|info|warn|error|off sets
// the threshold (warn when unset). Any thread or fiber, also inside a critical section: it takes no
// lock, never parks and never allocates. A level that is off costs one load and a branch.
//
//     log(LogLevel::Warn, "worker {} did not stop within {} ms", index, waited_ms);
enum class LogLevel : std::uint8_t { Debug, Info, Warn, Error, Off };

// A longer line is cut and ends in "...".
constexpr std::size_t kLogLineBytesMax = 1024;

std::string_view to_string(LogLevel level) noexcept;
std::optional<LogLevel> log_level_from(std::string_view name) noexcept;  // one of the names above

LogLevel log_level() noexcept;
void set_log_level(LogLevel level) noexcept;

// Receives each line, without its newline, in place of stderr. line() is called from any thread at
// any time, also on a fiber's stack; it must not log, park or throw.
class LogSink {
public:
    virtual void line(LogLevel level, std::string_view line) noexcept = 0;

protected:
    ~LogSink() = default;
};

// Null means stderr. Returns the previous sink. The caller keeps a replaced sink alive until no
// thread can still be in its line(): set_log_sink() does not wait for a line that is being written.
LogSink* set_log_sink(LogSink* sink) noexcept;

namespace log_internal {
constexpr std::uint8_t kThresholdUnread = 255;
extern Atomic<std::uint8_t> threshold;  // a LogLevel, or kThresholdUnread before the first use
std::uint8_t read_threshold() noexcept;
void write_line(LogLevel level, fmt::string_view format, fmt::format_args arguments) noexcept;
}  // namespace log_internal

inline bool log_enabled(LogLevel level) noexcept {
    // Relaxed: the threshold guards no other memory.
    std::uint8_t threshold = log_internal::threshold.load(std::memory_order_relaxed);
    if (threshold == log_internal::kThresholdUnread) [[unlikely]] {
        threshold = log_internal::read_threshold();
    }
    return static_cast<std::uint8_t>(level) >= threshold && level != LogLevel::Off;
}

template <class... Arguments>
void log(LogLevel level, fmt::format_string<Arguments...> text, Arguments&&... arguments) noexcept {
    if (!log_enabled(level)) return;
    log_internal::write_line(level, text, fmt::make_format_args(arguments...));
}

// Remembers whether a message was written: a member for once per object, a static for once per
// process. Any thread.
class LogOnce {
public:
    constexpr LogOnce() noexcept = default;

    // True for exactly one caller.
    bool claim() noexcept {
        // Relaxed: only the exchange itself must be atomic; the load saves later callers the write.
        return !claimed_.load(std::memory_order_relaxed) &&
               !claimed_.exchange(true, std::memory_order_relaxed);
    }

private:
    Atomic<bool> claimed_{false};
};

// Nothing is claimed while the level is off.
template <class... Arguments>
void log_once(LogOnce& once, LogLevel level, fmt::format_string<Arguments...> text,
              Arguments&&... arguments) noexcept {
    if (!log_enabled(level) || !once.claim()) return;
    log_internal::write_line(level, text, fmt::make_format_args(arguments...));
}

}  // namespace weft
