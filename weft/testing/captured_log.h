// Collects what is logged while it lives, in place of stderr.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/log.h"

namespace weft::testing {

// One at a time; it is created and destroyed while no other thread logs. In between any thread may
// log.
class CapturedLog final : public LogSink {
public:
    CapturedLog() : level_(log_level()), previous_(set_log_sink(this)) {
        set_log_level(LogLevel::Warn);
    }
    ~CapturedLog() {
        set_log_sink(previous_);
        set_log_level(level_);
    }
    CapturedLog(const CapturedLog&) = delete;
    CapturedLog& operator=(const CapturedLog&) = delete;

    void line(LogLevel, std::string_view line) noexcept override {
        std::lock_guard guard(mutex_);
        lines_.emplace_back(line);
    }
    std::vector<std::string> lines() const {
        std::lock_guard guard(mutex_);
        return lines_;
    }
    bool contains(std::string_view text) const {
        std::lock_guard guard(mutex_);
        for (const std::string& line : lines_) {
            if (line.find(text) != std::string::npos) return true;
        }
        return false;
    }

private:
    LogLevel level_;
    LogSink* previous_;
    mutable std::mutex mutex_;
    std::vector<std::string> lines_;
};

}  // namespace weft::testing
