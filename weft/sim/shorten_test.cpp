#include "weft/sim/shorten.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "weft/async/group.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/io.h"
#include "weft/fiber/runtime.h"
#include "weft/sim/campaign.h"
#include "weft/sim/internal/schedule.h"
#include "weft/sim/sim.h"
#include "weft/sync/channel.h"
#include "weft/sync/mutex.h"
#include "weft/testing/scale.h"

#ifdef WEFT_ASAN
#include <sanitizer/lsan_interface.h>
#endif

namespace weft::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kLockLine = __LINE__ + 12;
struct Account {
    Mutex mutex;
    int balance = 100;

    // Reads under one lock and writes under another: an update can be lost in between.
    void withdraw(int amount) {
        int have = 0;
        {
            std::lock_guard guard(mutex);
            have = balance;
        }
        std::lock_guard guard(mutex);
        balance = have - amount;
    }
};

void withdrawals() {
    Account account;
    Runtime runtime({.workers = 2});
    Channel<int> done(4);
    std::vector<Future<void>> clerks;
    for (const char* name : {"anna", "bert", "carl"}) {
        auto work = [&] {
            account.withdraw(10);
            static_cast<void>(done.send(7));
        };
        clerks.push_back(runtime.spawn(work, {.name = name}));
    }
    for (Future<void>& clerk : clerks) static_cast<void>(clerk.join());
    require(account.balance == 70, "an update was lost");
}

// The first seed that fails.
Options first_failure(const std::function<void()>& scenario, const Faults& faults = {}) {
#ifdef WEFT_ASAN
    __lsan::ScopedDisabler abandoned;
#endif
    Options options;
    options.faults = faults;
    for (options.seed = 1; options.seed <= 1000; ++options.seed) {
        if (!run(options, scenario).ok()) return options;
    }
    ADD_FAILURE() << "nothing found";
    return options;
}

TEST(SimSchedule, SIM_4d_a_recorded_run_is_repeated_by_its_choices) {
    auto traffic = [] {
        Runtime runtime({.workers = 3});
        auto pipe = make_pipe();
        require(pipe.has_value(), "no pipe");
        Future<void> writer = runtime.spawn([&] {
            std::byte bytes[64]{};
            for (int i = 0; i < 4; ++i) static_cast<void>(pipe->writer.write_all(bytes));
            static_cast<void>(pipe->writer.close());
        });
        Future<void> reader = runtime.spawn([&] {
            std::byte bytes[32];
            for (Result<std::size_t> got = 1; got && *got != 0;) got = pipe->reader.read(bytes);
        });
        require(writer.join().has_value() && reader.join().has_value(), "a fiber failed");
    };
    std::size_t faults = 0;
    for (std::uint64_t seed = 1; seed <= testing::repeats(200); ++seed) {
        Options options{.seed = seed, .record = true};
        Report first = run(options, traffic);
        ASSERT_TRUE(first.ok()) << first.text();
        options.record = false;
        options.schedule = first.schedule;
        Report again = run(options, traffic);
        ASSERT_EQ(again.trace_hash, first.trace_hash) << "seed " << seed << ' ' << first.schedule;
        ASSERT_EQ(again.steps, first.steps);
        ASSERT_EQ(again.virtual_ns, first.virtual_ns);
        faults += first.injected.short_transfers + first.injected.delays;
    }
    EXPECT_GT(faults, 0U);
}

TEST(SimSchedule, SIM_4d_a_schedule_is_a_word) {
    std::string text = "1.17-2,y1.20,i3.4,s1.2,d2.3,b10.40";
    EXPECT_EQ(Schedule::parse(text).value().text(), text);
    EXPECT_EQ(Schedule::parse("none").value().choices.size(), 0U);
    EXPECT_EQ(Schedule().text(), "none");
    for (const char* wrong : {"", "1", "1.2", "1.2-", "q1.2", "1.2-3,", "y1.2-3", "1.2-3 "}) {
        Result<Schedule> parsed = Schedule::parse(wrong);
        ASSERT_FALSE(parsed) << wrong;
        EXPECT_EQ(parsed.error().kind(), ErrorKind::Misuse);
    }
}

TEST(SimShorten, SIM_4d_a_failure_shows_names_operations_values_and_lines) {
    Options options = first_failure(withdrawals);
    Shortened shortened = shorten(options, "an update was lost", withdrawals);
    ASSERT_TRUE(shortened.repeatable);
    EXPECT_EQ(shortened.report.failure, "an update was lost");
    EXPECT_LT(shortened.choices, shortened.choices_before);
    // For two fibers at once a single choice is enough: one that starts the second worker, or one
    // that gives up the turn. The limit leaves room for choices that the search cannot remove.
    EXPECT_LE(shortened.choices, 6U) << shortened.report.schedule;
    EXPECT_EQ(shortened.report.injected.delays + shortened.report.injected.pauses, 0U);
    std::string text = describe_failure(shortened);
    EXPECT_THAT(text, HasSubstr("'anna'"));
    EXPECT_THAT(text, HasSubstr("mutex 1  lock"));
    EXPECT_THAT(text, HasSubstr("mutex 1  unlock"));
    EXPECT_THAT(text, HasSubstr("channel 1  send 7"));
#if defined(WEFT_SYMBOLS) && !defined(NDEBUG)  // that build has no lines to show
    EXPECT_THAT(text, HasSubstr("shorten_test.cpp:" + std::to_string(kLockLine)));
    EXPECT_THAT(shortened.report.where, HasSubstr("withdrawals"));
#endif
}

TEST(SimShorten, SIM_4d_what_is_shown_can_be_repeated) {
    Options options = first_failure(withdrawals);
    Shortened shortened = shorten(options, "an update was lost", withdrawals);
    options.schedule = shortened.report.schedule;
#ifdef WEFT_ASAN
    __lsan::ScopedDisabler abandoned;
#endif
    Report again = run(options, withdrawals);
    EXPECT_EQ(again.failure, "an update was lost");
    EXPECT_EQ(again.trace_hash, shortened.report.trace_hash);
    EXPECT_EQ(again.steps, shortened.report.steps);
}

// A fault that matters is kept, those that do not are dropped.
TEST(SimShorten, SIM_4d_only_the_faults_that_matter_are_left) {
    auto needs_luck = [] {
        Runtime runtime({.workers = 2});
        auto pipe = make_pipe();
        require(pipe.has_value(), "no pipe");
        std::array<std::byte, 12> bytes{};
        Future<void> writer = runtime.spawn([&] {
            static_cast<void>(pipe->writer.write_all(bytes));
            static_cast<void>(pipe->writer.close());
        });
        bool is_odd = buggify();
        std::array<std::byte, 12> got{};
        while (pipe->reader.read(got).value_or(0) != 0) {}
        require(writer.join().has_value(), "the writer failed");
        require(!is_odd, "odd");
    };
    Options options = first_failure(needs_luck);
    Shortened shortened = shorten(options, "odd", needs_luck);
    ASSERT_TRUE(shortened.repeatable);
    EXPECT_EQ(shortened.report.schedule, "b0.1");
    EXPECT_EQ(shortened.report.injected.buggify, 1U);
    EXPECT_THAT(describe_failure(shortened), HasSubstr("-- buggify --"));
}

TEST(SimShorten, SIM_4d_a_run_that_fails_only_once_is_called_so) {
    int runs = 0;
    auto fickle = [&runs] { require(++runs != 1, "only once"); };
    Report report = run({.seed = 1}, fickle);
    EXPECT_EQ(report.failure, "only once");
    Shortened shortened = shorten({.seed = 1}, report.failure, fickle);
    EXPECT_FALSE(shortened.repeatable);
    EXPECT_THAT(describe_failure(shortened), HasSubstr("not deterministic"));
}

TEST(SimShorten, SIM_4d_failures_are_the_same_but_for_numbers) {
    EXPECT_TRUE(is_same_failure("lost 12 of 40", "lost 3 of 40"));
    EXPECT_TRUE(is_same_failure("deadlock\nthis", "deadlock\nthat"));
    EXPECT_FALSE(is_same_failure("lost", "found"));
    EXPECT_FALSE(is_same_failure("", "7"));
}

}  // namespace
}  // namespace weft::sim
