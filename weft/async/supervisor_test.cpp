#include "weft/async/supervisor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "weft/async/internal/async_test.h"
#include "weft/base/spin_lock.h"
#include "weft/testing/captured_log.h"
#include "weft/testing/eventually.h"

namespace weft::async {
namespace {

using namespace std::chrono_literals;
using async_test::everywhere;
using async_test::failure;
using async_test::text_of;
using async_test::wait_for_end;

// What happened, in order: "+a" when job a begins, "-a" when it was told to end.
class History {
public:
    void add(std::string event) {
        SpinGuard guard(lock_);
        events_.push_back(std::move(event));
    }
    std::ptrdiff_t count(std::string_view event) const {
        SpinGuard guard(lock_);
        return std::ranges::count(events_, event);
    }
    // The events from the first stop on.
    std::vector<std::string> from_first_end() const {
        SpinGuard guard(lock_);
        auto first = std::ranges::find_if(events_, [](auto& event) { return event[0] == '-'; });
        return {first, events_.end()};
    }

private:
    mutable SpinLock lock_;
    std::vector<std::string> events_;
};

// Three jobs, of which the middle one fails once, when all run. Then waits until the expected jobs
// have been restarted, and lets all of them end.
void restart_middle(RestartStrategy strategy, int runs_of_a, int runs_of_c, History& history) {
    Event over;
    Supervisor supervisor({.strategy = strategy});
    auto wait_as = [&](std::string name) {
        return [&history, &over, name](Context& context) -> Result<void> {
            history.add("+" + name);
            Result<void> waited = over.wait_until(Deadline::after(async_test::kTooLong));
            if (!waited) history.add("-" + name);
            EXPECT_EQ(waited.has_value(), context.check().has_value());
            return waited;
        };
    };
    EXPECT_TRUE(supervisor.add("a", wait_as("a")));
    EXPECT_TRUE(supervisor.add("b", [&]() -> Result<void> {
        history.add("+b");
        bool again = history.count("+b") == 2;
        int a = again ? runs_of_a : 1;
        int c = again ? runs_of_c : 1;
        EXPECT_TRUE(testing::eventually(
            [&] { return history.count("+a") == a && history.count("+c") == c; }));
        if (!again) return failure("once");
        over.set();
        return {};
    }));
    EXPECT_TRUE(supervisor.add("c", wait_as("c")));
    EXPECT_TRUE(supervisor.run());
    EXPECT_EQ(history.count("+a"), runs_of_a);
    EXPECT_EQ(history.count("+b"), 2);
    EXPECT_EQ(history.count("+c"), runs_of_c);
}

TEST(Supervisor, SC_8i_one_for_one_starts_only_the_failed_one_again) {
    testing::CapturedLog log;
    everywhere([] {
        History history;
        restart_middle(RestartStrategy::OneForOne, 1, 1, history);
        EXPECT_EQ(history.count("-a") + history.count("-c"), 0);
    });
    EXPECT_TRUE(log.contains("supervisor: 'b' is started again: once"));
}

TEST(Supervisor, SC_8i_all_stops_and_starts_everybody) {
    testing::CapturedLog log;
    everywhere([] {
        History history;
        restart_middle(RestartStrategy::All, 2, 2, history);
        std::vector<std::string> events = history.from_first_end();
        ASSERT_GE(events.size(), 2u);
        EXPECT_EQ(events[0], "-c");  // newest first, and before anything starts again
        EXPECT_EQ(events[1], "-a");
    });
}

TEST(Supervisor, SC_8i_rest_for_one_leaves_those_before_alone) {
    testing::CapturedLog log;
    everywhere([] {
        History history;
        restart_middle(RestartStrategy::RestForOne, 1, 2, history);
        EXPECT_EQ(history.count("-a"), 0);
        EXPECT_EQ(history.from_first_end().front(), "-c");
    });
}

TEST(Supervisor, SC_8i_NET_3b_too_many_restarts_within_the_window_and_it_gives_up) {
    testing::CapturedLog log;
    everywhere([] {
        int runs = 0;
        bool other_ended = false;
        Supervisor supervisor({.restarts_max = 2, .window = 1h});
        EXPECT_TRUE(supervisor.add("other", [&](Context& context) {
            Result<void> ended = wait_for_end(context);
            other_ended = true;
            return ended;
        }));
        EXPECT_TRUE(supervisor.add("hopeless", [&] {
            ++runs;
            throw std::runtime_error("again");
        }));
        Result<void> outcome = supervisor.run();
        EXPECT_EQ(outcome.error().kind(), ErrorKind::Limit);
        EXPECT_EQ(text_of(outcome),
                  "async: supervisor gave up on 'hopeless': again; there were more restarts than 2 "
                  "(SupervisorOptions::restarts_max)");
        EXPECT_EQ(runs, 3);
        EXPECT_TRUE(other_ended);  // nothing is alive after it
    });
}

TEST(Supervisor, SC_8i_restarts_outside_of_the_window_do_not_count) {
    testing::CapturedLog log;
    everywhere([] {
        int runs = 0;
        Supervisor supervisor({.restarts_max = 1, .window = 0ns});
        EXPECT_TRUE(supervisor.add("unlucky", [&]() -> Result<void> {
            Instant begun = Clock::now();
            while (Clock::now() == begun) weft::yield();  // time goes on
            if (++runs < 5) return failure("unlucky");
            return {};
        }));
        EXPECT_TRUE(supervisor.run());
        EXPECT_EQ(runs, 5);
    });
}

TEST(Supervisor, SC_8i_a_job_says_when_it_is_to_be_started_again) {
    testing::CapturedLog log;
    everywhere([] {
        int always = 0;
        int never = 0;
        Supervisor supervisor({.restarts_max = 2});
        EXPECT_TRUE(supervisor.add("always", [&] { ++always; }, Restart::Always));
        EXPECT_TRUE(supervisor.add(
            "never",
            [&]() -> Result<void> {
                ++never;
                return failure("no second chance");
            },
            Restart::Never));
        EXPECT_TRUE(text_of(supervisor.run())
                        .starts_with("async: supervisor gave up on 'always': it ended;"));
        EXPECT_EQ(always, 3);
        EXPECT_EQ(never, 1);
    });
    EXPECT_TRUE(log.contains("no second chance"));  // SC-6
}

TEST(Supervisor, SC_8i_the_end_of_the_context_ends_it) {
    everywhere([] {
        auto [context, source] = Context::current().with_cancel();
        CancelScope scope(context.token());
        Supervisor supervisor;
        EXPECT_TRUE(supervisor.add("waiting", wait_for_end));
        EXPECT_TRUE(supervisor.add("cancelling", [&] { source.cancel(); }));
        EXPECT_EQ(text_of(supervisor.run()), "context canceled");
        EXPECT_EQ(text_of(supervisor.run()), "context canceled");  // nothing is started
    });
}

TEST(Supervisor, SC_8i_it_may_be_empty_nested_and_run_again_but_not_at_once) {
    testing::CapturedLog log;
    everywhere([] {
        EXPECT_TRUE(Supervisor().run());
        int runs = 0;
        Supervisor outer;
        EXPECT_TRUE(outer.add("inner", [&]() -> Result<void> {
            EXPECT_EQ(text_of(outer.run()), kSupervisorRuns.text);
            EXPECT_EQ(text_of(outer.add("late", [] {})), kSupervisorRuns.text);
            Supervisor inner({.restarts_max = 0});
            WEFT_TRY(inner.add("job", [&]() -> Result<void> {
                if (++runs % 2 == 1) return failure("first");
                return {};
            }));
            return inner.run();  // gives up, and is itself restarted
        }));
        EXPECT_TRUE(outer.run());
        EXPECT_TRUE(outer.run());
        EXPECT_EQ(runs, 4);
        EXPECT_EQ(text_of(outer.add("nil", std::function<void()>())), kNilJob.text);
    });
}

}  // namespace
}  // namespace weft::async
