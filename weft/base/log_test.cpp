#include "weft/base/log.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace weft {

struct Unformattable {};

}  // namespace weft

template <>
struct fmt::formatter<weft::Unformattable> {
    constexpr auto parse(format_parse_context& context) { return context.begin(); }
    auto format(const weft::Unformattable&, format_context& context) const
        -> decltype(context.out()) {
        if (always_) throw std::runtime_error("formatter");
        return context.out();
    }

private:
    bool always_ = true;
};

namespace weft {
namespace {

class Lines final : public LogSink {
public:
    void line(LogLevel, std::string_view line) noexcept override {
        std::lock_guard guard(mutex_);
        lines_.emplace_back(line);
    }
    std::vector<std::string> all() {
        std::lock_guard guard(mutex_);
        return lines_;
    }

private:
    std::mutex mutex_;
    std::vector<std::string> lines_;
};

class LogTest : public testing::Test {
protected:
    LogTest() {
        set_log_level(LogLevel::Warn);
        set_log_sink(&lines);
    }
    ~LogTest() override {
        set_log_sink(nullptr);
        set_log_level(LogLevel::Warn);
    }

    Lines lines;
};

using Expected = std::vector<std::string>;

TEST_F(LogTest, a_line_carries_its_level_and_its_text) {
    log(LogLevel::Warn, "worker {} is late by {} ms", 3, 12);
    log(LogLevel::Error, "plain");
    EXPECT_EQ(lines.all(),
              (Expected{"weft: warn: worker 3 is late by 12 ms", "weft: error: plain"}));
}

TEST_F(LogTest, levels_below_the_threshold_are_silent) {
    log(LogLevel::Debug, "no");
    log(LogLevel::Info, "no");
    EXPECT_TRUE(lines.all().empty());
    set_log_level(LogLevel::Debug);
    log(LogLevel::Debug, "yes");
    EXPECT_EQ(lines.all(), Expected{"weft: debug: yes"});
}

TEST_F(LogTest, off_silences_everything) {
    set_log_level(LogLevel::Off);
    log(LogLevel::Error, "no");
    log(LogLevel::Off, "no");
    EXPECT_TRUE(lines.all().empty());
    EXPECT_FALSE(log_enabled(LogLevel::Off));
}

TEST_F(LogTest, a_message_cannot_break_out_of_its_line) {
    log(LogLevel::Warn, "{}", "first\nweft: error: forged\r\x1b[31m");
    EXPECT_EQ(lines.all(), Expected{"weft: warn: first weft: error: forged  [31m"});
}

TEST_F(LogTest, a_long_line_is_cut) {
    log(LogLevel::Warn, "{}", std::string(5000, 'x'));
    ASSERT_EQ(lines.all().size(), 1u);
    EXPECT_EQ(lines.all()[0].size(), kLogLineBytesMax);
    EXPECT_TRUE(lines.all()[0].ends_with("xxx..."));
}

TEST_F(LogTest, a_line_of_exactly_the_limit_is_not_cut) {
    std::string prefix = "weft: warn: ";
    log(LogLevel::Warn, "{}", std::string(kLogLineBytesMax - prefix.size(), 'x'));
    EXPECT_EQ(lines.all()[0], prefix + std::string(kLogLineBytesMax - prefix.size(), 'x'));
}

TEST_F(LogTest, a_formatter_that_throws_is_reported_in_its_place) {
    log(LogLevel::Warn, "value {}", Unformattable{});
    EXPECT_EQ(lines.all(), Expected{"weft: warn: (format failed) value {}"});
}

TEST_F(LogTest, errno_is_kept) {
    errno = ENOENT;
    log(LogLevel::Warn, "anything");
    EXPECT_EQ(errno, ENOENT);
}

TEST_F(LogTest, once_writes_once) {
    LogOnce once;
    for (int i = 0; i < 3; ++i) log_once(once, LogLevel::Warn, "round {}", i);
    EXPECT_EQ(lines.all(), Expected{"weft: warn: round 0"});
}

TEST_F(LogTest, a_silent_level_does_not_use_up_the_once) {
    LogOnce once;
    log_once(once, LogLevel::Info, "silent");
    set_log_level(LogLevel::Info);
    log_once(once, LogLevel::Info, "heard");
    EXPECT_EQ(lines.all(), Expected{"weft: info: heard"});
}

TEST_F(LogTest, several_threads_write_whole_lines_and_once_is_claimed_by_one) {
    LogOnce once;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (int round = 0; round < 100; ++round) {
                log_once(once, LogLevel::Warn, "once");
                log(LogLevel::Error, "every");
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    int once_lines = 0;
    for (const std::string& line : lines.all()) {
        if (line == "weft: warn: once") {
            once_lines++;
        } else {
            EXPECT_EQ(line, "weft: error: every");
        }
    }
    EXPECT_EQ(once_lines, 1);
    EXPECT_EQ(lines.all().size(), 401u);
}

TEST_F(LogTest, setting_a_sink_gives_the_previous_one) {
    Lines other;
    EXPECT_EQ(set_log_sink(&other), &lines);
    EXPECT_EQ(set_log_sink(&lines), &other);
}

TEST(LogLevel, names_and_levels_are_inverse) {
    for (std::string_view name : {"debug", "info", "warn", "error", "off"}) {
        ASSERT_TRUE(log_level_from(name).has_value());
        EXPECT_EQ(to_string(*log_level_from(name)), name);
    }
    EXPECT_EQ(log_level_from("WARN"), std::nullopt);
    EXPECT_EQ(log_level_from(""), std::nullopt);
}

// The environment is read once per process, so each case runs in a process of its own.
void exit_with_level_of(const char* value) {
    value != nullptr ? ::setenv("WEFT_LOG", value, 1) : ::unsetenv("WEFT_LOG");
    log_internal::threshold.store(log_internal::kThresholdUnread, std::memory_order_relaxed);
    set_log_sink(nullptr);
    log(LogLevel::Error, "to stderr");
    std::exit(static_cast<int>(log_level()));
}

testing::ExitedWithCode exited_with(LogLevel level) {
    return testing::ExitedWithCode(static_cast<int>(level));
}

TEST(LogDeathTest, the_environment_sets_the_threshold) {
    EXPECT_EXIT(exit_with_level_of("debug"), exited_with(LogLevel::Debug),
                "weft: error: to stderr\n");
    EXPECT_EXIT(exit_with_level_of("error"), exited_with(LogLevel::Error), "to stderr");
    EXPECT_EXIT(exit_with_level_of("off"), exited_with(LogLevel::Off), "^$");
}

TEST(LogDeathTest, without_the_variable_the_threshold_is_warn) {
    EXPECT_EXIT(exit_with_level_of(nullptr), exited_with(LogLevel::Warn), "to stderr");
    EXPECT_EXIT(exit_with_level_of(""), exited_with(LogLevel::Warn), "^weft: error: to stderr\n$");
}

TEST(LogDeathTest, an_unknown_level_is_reported_and_warn_is_used) {
    EXPECT_EXIT(exit_with_level_of("loud"), exited_with(LogLevel::Warn),
                "WEFT_LOG=loud: not a log level, using warn");
}

}  // namespace
}  // namespace weft
