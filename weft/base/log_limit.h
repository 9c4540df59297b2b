// LogLimit: limits the log lines that a peer can cause at will, so that they cannot fill the disk:
// at most kLines for each cause within kWindow. The next line says how many were left out.
//
//     LogLimit limit;                                   // a member of the object that logs
//     log_limited(limit, LogLevel::Error, why, "{} failed: {}", name, why);
//
// Causes are told apart by a hash with kCauses values: two causes may share their limit, and the
// number of lines is bounded however many causes there are. Any thread or fiber.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "weft/base/log.h"
#include "weft/base/spin_lock.h"
#include "weft/base/time.h"

namespace weft {

class LogLimit {
public:
    static constexpr unsigned kLines = 10;
    static constexpr Nanoseconds kWindow = std::chrono::seconds(10);

    // Empty if this line is to be left out; else how many were left out since the last one.
    std::optional<std::uint64_t> admit(std::string_view cause, Instant now = Clock::now());

private:
    static constexpr std::size_t kCauses = 16;
    struct Cause {
        Instant window_begun = Instant::min();
        unsigned lines = 0;
        std::uint64_t left_out = 0;
    };

    SpinLock lock_;
    std::array<Cause, kCauses> causes_;
};

template <class... Arguments>
void log_limited(LogLimit& limit, LogLevel level, std::string_view cause,
                 fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    if (!log_enabled(level)) return;
    std::optional<std::uint64_t> left_out = limit.admit(cause);
    if (!left_out) return;
    if (*left_out > 0) log(level, "{} lines like the next one were left out", *left_out);
    log_internal::write_line(level, text, fmt::make_format_args(arguments...));
}

}  // namespace weft
