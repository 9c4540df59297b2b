#include <gtest/gtest.h>
#include <signal.h>

#include <memory>
#include <string>
#include <utility>

#include "tests/data/postgres_fixture.h"
#include "weft/data/failure.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/testing/eventually.h"
#include "weft/testing/scale.h"
#include "weft/testing/stall_watch.h"

namespace weft::data::testing {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using weft::testing::eventually;

class PostgresCancel : public PostgresTest {
protected:
    // How many statements with this text the server works on.
    static Result<std::int64_t> running(Connection& observer, const std::string& text) {
        Value count = WEFT_TRY(
            ask(observer, sql("select count(*) from pg_stat_activity where state = 'active' and "
                              "query = {} and pid <> pg_backend_pid()",
                              text)));
        return count.integer();
    }
    static Result<Outcome> run_within(Nanoseconds timeout, Connection& connection,
                                      const Statement& statement) {
        CancelScope scope(CancelSource::with_deadline(Deadline::after(timeout)).token());
        return connection.run(statement, kAnyRows);
    }
};

TEST_F(PostgresCancel, DAT_9_a_deadline_stops_the_statement_at_the_server) {
    auto goes_on_over = [&](const std::string& where) -> Result<bool> {
        auto connection = WEFT_TRY(connect({.connection_string = where}));
        auto observer = WEFT_TRY(connect());
        Instant begun = Clock::now();
        auto slept = run_within(milliseconds(50), *connection, "select pg_sleep(100)");
        EXPECT_EQ(slept.error().kind(), ErrorKind::TimedOut);
        EXPECT_LT(Clock::now() - begun, seconds(20));
        std::int64_t left = WEFT_TRY(running(*observer, "select pg_sleep(100)"));
        return left == 0 && connection->state() == ConnectionState::Idle &&
               ask(*connection, "select 1") == Value(1);
    };
    run([&]() -> Result<void> {
        for (const std::string& where :
             {server->local(), server->url("sslmode=require"), server->url("sslmode=disable")}) {
            // The answer to the cancel has kTidyTimeout, which a stall may use up.
            EXPECT_TRUE(weft::testing::unless_stalled(kTidyTimeout / 2, [&] {
                Result<bool> goes_on = goes_on_over(where);
                if (goes_on == true) return ::testing::AssertionSuccess();
                return ::testing::AssertionFailure()
                       << where << ": " << (goes_on ? "it stays" : goes_on.error().message());
            }));
        }
        return {};
    });
}

TEST_F(PostgresCancel, DAT_9_a_cancelled_token_stops_the_statement_at_the_server) {
    run([&]() -> Result<void> {
        auto connection = WEFT_TRY(connect());
        auto observer = WEFT_TRY(connect());
        CancelSource source;
        auto slept = spawn([&]() -> Result<Outcome> {
            CancelScope scope(source.token());
            return connection->run("select pg_sleep(101)", kAnyRows);
        });
        EXPECT_TRUE(eventually(
            [&] { return running(*observer, "select pg_sleep(101)") == std::int64_t{1}; }));
        source.cancel();
        EXPECT_EQ(slept.join().error().kind(), ErrorKind::Cancelled);
        EXPECT_EQ(running(*observer, "select pg_sleep(101)"), 0);
        EXPECT_EQ(ask(*connection, "select 1"), Value(1));
        return {};
    });
}

TEST_F(PostgresCancel, DAT_9_what_is_over_before_it_begins_is_never_sent) {
    run([&]() -> Result<void> {
        auto connection = WEFT_TRY(connect());
        CancelSource source;
        source.cancel();
        CancelScope scope(source.token());
        auto never = connection->run("create table never (a int)", kAnyRows);
        EXPECT_EQ(never.error().kind(), ErrorKind::Cancelled);
        EXPECT_EQ(connection->state(), ConnectionState::Idle);
        return {};
    });
}

TEST_F(PostgresCancel, DAT_9_a_cancel_in_a_transaction_fails_only_that) {
    run([&]() -> Result<void> {
        auto connection = WEFT_TRY(connect());
        WEFT_TRY(connection->step(TransactionStep::Begin, 0, {}));
        // Long enough for the statement to be sent.
        auto slept = run_within(milliseconds(300), *connection, "select pg_sleep(100)");
        EXPECT_EQ(slept.error().kind(), ErrorKind::TimedOut);
        EXPECT_EQ(connection->state(), ConnectionState::Failed);
        WEFT_TRY(connection->step(TransactionStep::Rollback, 0, {}));
        EXPECT_EQ(ask(*connection, "select 1"), Value(1));
        return {};
    });
}

TEST_F(PostgresCancel, DAT_9_a_cancel_in_the_middle_of_rows_leaves_none_to_others) {
    run([&]() -> Result<void> {
        auto connection = WEFT_TRY(connect());
        CancelSource source;
        {
            CancelScope scope(source.token());
            auto rows = WEFT_TRY(
                connection->open_rows("select generate_series(1, 100000000), repeat('x', 1000)"));
            EXPECT_FALSE(WEFT_TRY(rows->fetch(10)).empty());
            source.cancel();
            Result<Rows> some = rows->fetch(1'000'000);
            while (some && !some->empty()) some = rows->fetch(1'000'000);
            EXPECT_EQ(some.error().kind(), ErrorKind::Cancelled);
        }
        EXPECT_EQ(connection->state(), ConnectionState::Idle);
        EXPECT_EQ(ask(*connection, "select 'mine'"), Value("mine"));
        return {};
    });
}

// Each statement ends about when its deadline does, so that the cancel is late as often as not.
TEST_F(PostgresCancel, DAT_3_a_cancel_never_hits_another_statement) {
    const std::size_t count = weft::testing::is_long() ? 100'000 : weft::testing::repeats(400);
    run([&]() -> Result<void> {
        constexpr std::size_t kPlayers = 4;
        std::vector<Future<std::pair<std::size_t, std::size_t>>> players;
        for (std::size_t player = 0; player < kPlayers; ++player) {
            players.push_back(spawn([&, player]() -> Result<std::pair<std::size_t, std::size_t>> {
                std::size_t cancelled = 0;
                std::size_t hits = 0;
                auto provider = WEFT_TRY(postgres_provider({.connection_string = server->local()}));
                auto connection = WEFT_TRY(provider->connect());
                for (std::size_t turn = player; turn < count; turn += kPlayers) {
                    auto slept = run_within(microseconds(300 + turn * 37 % 1500), *connection,
                                            "select pg_sleep(0.001)");
                    cancelled += !slept;
                    auto number = static_cast<std::int64_t>(turn);
                    Result<Value> mine = ask(*connection, sql("select {}", number));
                    hits += !mine || *mine != Value(number);
                    if (connection->state() == ConnectionState::Broken)
                        connection = WEFT_TRY(provider->connect());
                }
                return std::pair(cancelled, hits);
            }));
        }
        std::size_t cancelled = 0;
        std::size_t hits = 0;
        for (auto& player : players) {
            auto [its_cancelled, its_hits] = WEFT_TRY(player.join());
            cancelled += its_cancelled;
            hits += its_hits;
        }
        EXPECT_EQ(hits, 0u);
        EXPECT_GT(cancelled, 0u);
        RecordProperty("cancelled", static_cast<int>(cancelled));
        return {};
    });
}

TEST_F(PostgresCancel, DAT_9_a_frozen_backend_costs_its_connection_and_not_the_caller) {
    run([&]() -> Result<void> {
        auto connection = WEFT_TRY(connect());
        auto observer = WEFT_TRY(connect());
        Value pid = WEFT_TRY(ask(*connection, "select pg_backend_pid()"));
        auto backend = static_cast<pid_t>(pid.integer());
        EXPECT_EQ(::kill(backend, SIGSTOP), 0);
        Instant begun = Clock::now();
        auto slept = run_within(milliseconds(20), *connection, "select 1");
        EXPECT_EQ(slept.error().kind(), ErrorKind::TimedOut);
        EXPECT_LT(Clock::now() - begun, seconds(20));
        EXPECT_EQ(connection->state(), ConnectionState::Broken);
        connection.reset();
        EXPECT_EQ(::kill(backend, SIGCONT), 0);
        EXPECT_EQ(ask(*observer, "select 1"), Value(1));
        return {};
    });
}

}  // namespace
}  // namespace weft::data::testing
