// Statements of many callers over few connections.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/data/postgres_fixture.h"
#include "weft/data/failure.h"
#include "weft/data/postgres/notifications.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/sync/event.h"
#include "weft/testing/eventually.h"
#include "weft/testing/scale.h"

namespace weft::data::testing {
namespace {

using std::chrono::milliseconds;
using weft::testing::eventually;

class PostgresShared : public PostgresTest {
protected:
    Result<Database> open(std::size_t connections, PostgresOptions options = {}) {
        if (options.connection_string.empty()) options.connection_string = server->local();
        DatabaseOptions database;
        database.pool.connections_max = connections;
        database.pool.acquire_timeout = std::chrono::seconds(60);
        return open_postgres(std::move(options), std::move(database));
    }
    static Statement number(std::int64_t value) { return sql("select {}::bigint as n", value); }
    // Sleeps so many seconds; the same text for all, so that it is known as quick.
    static Statement nap(double seconds) { return sql("select pg_sleep({})::text", seconds); }

    static Result<Value> ask(Database& database, const Statement& statement) {
        Rows rows = WEFT_TRY(database.query(statement));
        return Value(rows[0][0]);
    }
    // Until others have to share: the connection belongs to the one who gets this.
    static Result<Lease> occupy(Database& database) { return database.reserve(); }
    // Runs what `make` gives until it is shared. A statement is known as quick when it was so once,
    // and on a busy machine that need not be the first time.
    template <std::invocable Make>
    static Result<void> make_known(Database& database, Make make) {
        const std::uint64_t before = database.stats().statements_shared;
        Result<void> done;
        bool is_known = eventually([&] {
            done = run_with_others(database, make);
            return !done || database.stats().statements_shared > before;
        });
        if (done && !is_known) return Error(ErrorKind::Other, "it was never shared");
        return done;
    }
    static Result<void> make_known(Database& database, const Statement& statement) {
        return make_known(database, [&] { return statement; });
    }

private:
    // Once with a connection, and once when all of them are taken.
    template <class Make>
    static Result<void> run_with_others(Database& database, Make& make) {
        WEFT_TRY(database.query(make()));
        std::vector<Lease> leases;
        while (leases.size() < database.stats().connections_max)
            leases.push_back(WEFT_TRY(occupy(database)));
        auto shares = spawn([&] { return database.query(make()); });
        EXPECT_TRUE(eventually([&] { return database.stats().waiting == 1; }));
        leases.clear();
        WEFT_TRY(shares.join());
        return {};
    }
};

TEST_F(PostgresShared, DAT_3_many_callers_share_few_connections) {
    run([&]() -> Result<void> {
        Database database = WEFT_TRY(open(2));
        WEFT_TRY(make_known(database, number(0)));
        const std::uint64_t before = database.stats().statements_shared;
        std::vector<Future<bool>> callers;
        for (std::int64_t caller = 0; caller < 40; ++caller) {
            callers.push_back(spawn([&database, caller]() -> Result<bool> {
                for (std::int64_t turn = 0; turn < 25; ++turn) {
                    std::int64_t mine = caller * 1000 + turn;
                    if (WEFT_TRY(ask(database, number(mine))) != Value(mine)) return false;
                }
                return true;
            }));
        }
        for (auto& caller : callers) EXPECT_TRUE(WEFT_TRY(caller.join()));
        PoolStats stats = database.stats();
        EXPECT_GT(stats.statements_shared, before);
        EXPECT_LE(stats.opened, 2u);
        EXPECT_TRUE(eventually([&] { return database.stats().in_use == 0; }));
        return {};
    });
}

TEST_F(PostgresShared, DAT_3_an_error_stays_with_its_statement) {
    run([&]() -> Result<void> {
        Database database = WEFT_TRY(open(1));
        WEFT_TRY(database.exec("drop table if exists shared_errors"));
        WEFT_TRY(database.exec("create table shared_errors (i int primary key)"));
        auto insert = [](std::int64_t i) {
            return sql("insert into shared_errors values ({})", i);
        };
        std::int64_t unused = 0;
        WEFT_TRY(make_known(database, [&] { return insert(--unused); }));
        WEFT_TRY(database.exec("delete from shared_errors"));
        WEFT_TRY(database.exec(insert(0)));
        WEFT_TRY(make_known(database, number(0)));
        const std::uint64_t before = database.stats().statements_shared;
        std::optional<Lease> lease = WEFT_TRY(occupy(database));
        constexpr std::int64_t kCallers = 60;
        std::vector<Future<bool>> callers;
        for (std::int64_t caller = 1; caller <= kCallers; ++caller) {
            callers.push_back(spawn([&, caller]() -> Result<bool> {
                if (caller % 3 == 0) {
                    auto failed = database.exec(insert(0));
                    return !failed && cause_of(failed.error()) == Cause::UniqueViolation;
                }
                if (caller % 3 == 1) return database.exec(insert(caller))->affected_rows == 1;
                return WEFT_TRY(ask(database, number(caller)))
                == Value(caller);
            }));
        }
        EXPECT_TRUE(eventually([&] { return database.stats().waiting >= 1; }));
        lease.reset();
        for (auto& caller : callers) EXPECT_TRUE(WEFT_TRY(caller.join()));
        EXPECT_GT(database.stats().statements_shared, before);
        EXPECT_EQ(WEFT_TRY(ask(database, "select count(*) from shared_errors")),
                  Value(1 + kCallers / 3));
        return {};
    });
}

// One caller in three leaves early; no other sees anything of that, and no answer goes to another.
TEST_F(PostgresShared, DAT_3_who_leaves_early_hits_no_other_statement) {
    const auto turns =
        static_cast<std::int64_t>(weft::testing::is_long() ? 2'000 : weft::testing::repeats(30));
    run([&]() -> Result<void> {
        Database database = WEFT_TRY(open(2));
        WEFT_TRY(make_known(database, number(0)));
        WEFT_TRY(make_known(database, nap(0)));
        std::size_t left = 0;
        std::vector<Future<std::pair<std::size_t, std::size_t>>> callers;
        for (std::int64_t caller = 0; caller < 24; ++caller) {
            callers.push_back(spawn([&, caller]() -> Result<std::pair<std::size_t, std::size_t>> {
                std::size_t early = 0;
                std::size_t wrong = 0;
                for (std::int64_t turn = 0; turn < turns; ++turn) {
                    std::int64_t mine = caller * 100'000 + turn;
                    if (caller % 3 == 0) {
                        QueryOptions options;
                        options.timeout = std::chrono::microseconds(100 + (turn * 137) % 2000);
                        auto rows = database.query(nap(0.001), options);
                        early += !rows && rows.error().kind() == ErrorKind::TimedOut;
                        wrong += !rows && rows.error().kind() != ErrorKind::TimedOut;
                    } else {
                        Result<Value> got = ask(database, number(mine));
                        wrong += !got || *got != Value(mine);
                    }
                }
                return std::pair(early, wrong);
            }));
        }
        std::size_t wrong = 0;
        for (auto& caller : callers) {
            auto [its_early, its_wrong] = WEFT_TRY(caller.join());
            left += its_early;
            wrong += its_wrong;
        }
        EXPECT_EQ(wrong, 0u);
        EXPECT_GT(left, 0u);
        EXPECT_TRUE(eventually([&] { return database.stats().in_use == 0; }));
        EXPECT_EQ(WEFT_TRY(ask(database, number(7))), Value(7));
        return {};
    });
}

TEST_F(PostgresShared, DAT_9_what_nobody_waits_for_is_stopped_at_the_server) {
    run([&]() -> Result<void> {
        Database database = WEFT_TRY(open(1));
        auto observer = WEFT_TRY(connect());
        WEFT_TRY(make_known(database, nap(0)));
        std::optional<Lease> lease = WEFT_TRY(occupy(database));
        CancelSource source;
        auto slow = spawn([&] {
            QueryOptions options;
            options.token = source.token();
            return database.query(nap(1000), options);
        });
        EXPECT_TRUE(eventually([&] { return database.stats().waiting == 1; }));
        lease.reset();
        auto sleeping = [&] {
            return testing::ask(*observer,
                                "select count(*) from pg_stat_activity where state = 'active' and "
                                "query like 'select pg_sleep(%' and pid <> pg_backend_pid()");
        };
        EXPECT_TRUE(eventually([&] { return sleeping() == Value(1); }));
        Instant begun = Clock::now();
        source.cancel();
        EXPECT_EQ(slow.join().error().kind(), ErrorKind::Cancelled);
        EXPECT_LT(Clock::now() - begun, std::chrono::seconds(20));
        EXPECT_TRUE(eventually([&] { return sleeping() == Value(0); }));
        EXPECT_EQ(WEFT_TRY(ask(database, number(1))), Value(1));
        EXPECT_EQ(database.stats().closed_broken, 0u);
        return {};
    });
}

// With another behind it, a cancel might hit that one: the caller leaves at once, and the server
// comes to the end.
TEST_F(PostgresShared, DAT_3_no_cancel_is_sent_while_another_waits_on_the_line) {
    run(
        [&]() -> Result<void> {
            Database database = WEFT_TRY(open(1));
            auto observer = WEFT_TRY(connect());
            WEFT_TRY(make_known(database, nap(0)));
            WEFT_TRY(make_known(database, number(0)));
            const std::uint64_t before = database.stats().statements_shared;
            std::optional<Lease> lease = WEFT_TRY(occupy(database));
            CancelSource source;
            auto slow = spawn([&] {
                QueryOptions options;
                options.token = source.token();
                // So long that the observer sees it, also on a busy machine.
                return database.query(nap(2), options);
            });
            EXPECT_TRUE(eventually([&] { return database.stats().waiting == 1; }));
            // It is on the line before the observer has its answer: there is only one worker.
            auto behind = spawn([&] { return ask(database, number(5)); });
            Instant begun = Clock::now();
            lease.reset();
            EXPECT_TRUE(eventually([&] {
                return testing::ask(*observer,
                                    "select count(*) from pg_stat_activity where state = 'active' "
                                    "and query like 'select pg_sleep(%' and "
                                    "pid <> pg_backend_pid()") == Value(1);
            }));
            source.cancel();
            EXPECT_EQ(slow.join().error().kind(), ErrorKind::Cancelled);
            EXPECT_EQ(behind.join(), Value(5));
            EXPECT_GE(Clock::now() - begun, std::chrono::seconds(2));
            EXPECT_EQ(database.stats().statements_shared, before + 1);
            return {};
        },
        {.workers = 1});
}

// Each of those on the line gets exactly one outcome, and the line goes on with another connection.
TEST_F(PostgresShared, DAT_3e_DAT_5_a_lost_connection_is_one_outcome_for_each_on_it) {
    run([&]() -> Result<void> {
        Database database = WEFT_TRY(open(2));
        auto observer = WEFT_TRY(connect());
        WEFT_TRY(make_known(database, number(0)));
        std::vector<Future<std::pair<std::size_t, std::size_t>>> callers;
        Event stop;
        for (std::int64_t caller = 0; caller < 20; ++caller) {
            callers.push_back(spawn([&, caller]() -> Result<std::pair<std::size_t, std::size_t>> {
                std::size_t lost = 0;
                std::size_t wrong = 0;
                for (std::int64_t turn = 0; !stop.is_set(); ++turn) {
                    std::int64_t mine = caller * 100'000 + turn;
                    Result<Value> got = ask(database, number(mine));
                    lost += !got && is_connection_lost(got.error());
                    wrong += got ? *got != Value(mine) : !is_connection_lost(got.error());
                }
                return std::pair(lost, wrong);
            }));
        }
        const int kills = weft::testing::is_long() ? 500 : 12;
        for (int kill = 0; kill < kills; ++kill) {
            auto before = database.stats().statements_shared;
            EXPECT_TRUE(
                eventually([&] { return database.stats().statements_shared > before + 50; }));
            WEFT_TRY(
                observer->run("select pg_terminate_backend(pid) from pg_stat_activity where "
                              "pid <> pg_backend_pid() and backend_type = 'client backend'",
                              kAnyRows));
        }
        stop.set();
        std::size_t lost = 0;
        std::size_t wrong = 0;
        for (auto& caller : callers) {
            auto [its_lost, its_wrong] = WEFT_TRY(caller.join());
            lost += its_lost;
            wrong += its_wrong;
        }
        EXPECT_EQ(wrong, 0u);
        EXPECT_GT(lost, 0u);
        EXPECT_TRUE(eventually([&] { return database.stats().in_use == 0; }));
        return {};
    });
}

TEST_F(PostgresShared, DAT_9_a_deadline_in_the_queue_and_on_a_frozen_server) {
    run([&]() -> Result<void> {
        Database database = WEFT_TRY(open(1));
        WEFT_TRY(make_known(database, number(0)));
        QueryOptions soon;
        soon.timeout = milliseconds(30);
        {
            Lease lease = WEFT_TRY(occupy(database));
            auto late = database.query(number(1), soon);
            EXPECT_EQ(late.error().kind(), ErrorKind::TimedOut);
            EXPECT_EQ(cause_of(late.error()), Cause::TimedOut);
        }
        // Frozen with several on the line: each ends by its own deadline, and the connection goes.
        std::optional<Lease> lease = WEFT_TRY(occupy(database));
        Value pid = WEFT_TRY(testing::ask(**lease, "select pg_backend_pid()"));
        auto backend = static_cast<pid_t>(pid.integer());
        EXPECT_EQ(::kill(backend, SIGSTOP), 0);
        std::vector<Future<Rows>> callers;
        for (int caller = 0; caller < 5; ++caller) {
            callers.push_back(spawn([&] {
                QueryOptions options;
                // They are on the line long before, also on a busy machine.
                options.timeout = std::chrono::seconds(2);
                return database.query(number(1), options);
            }));
        }
        EXPECT_TRUE(eventually([&] { return database.stats().waiting == 1; }));
        lease.reset();
        for (auto& caller : callers) EXPECT_EQ(caller.join().error().kind(), ErrorKind::TimedOut);
        EXPECT_TRUE(eventually([&] { return database.stats().closed_broken == 1; }));
        EXPECT_EQ(::kill(backend, SIGCONT), 0);
        EXPECT_EQ(WEFT_TRY(ask(database, number(2))), Value(2));
        return {};
    });
}

TEST_F(PostgresShared, DAT_5_a_transaction_gets_a_connection_beside_those_who_share) {
    run([&]() -> Result<void> {
        Database database = WEFT_TRY(open(1));
        WEFT_TRY(make_known(database, number(0)));
        const std::uint64_t before = database.stats().statements_shared;
        Event stop;
        std::vector<Future<std::size_t>> callers;
        for (int caller = 0; caller < 10; ++caller) {
            callers.push_back(spawn([&]() -> Result<std::size_t> {
                std::size_t count = 0;
                for (; !stop.is_set(); ++count) WEFT_TRY(ask(database, number(1)));
                return count;
            }));
        }
        for (int turn = 0; turn < 20; ++turn) {
            Result<void> done = database.transaction([&](Transaction& tx) -> Result<void> {
                WEFT_TRY(tx.exec("select set_config('weft.mine', 'yes', true)"));
                Rows rows = WEFT_TRY(tx.query("select current_setting('weft.mine')"));
                EXPECT_EQ(rows[0][0], Value("yes"));
                return {};
            });
            EXPECT_TRUE(done) << done.error().message();
        }
        stop.set();
        for (auto& caller : callers) EXPECT_GT(WEFT_TRY(caller.join()), 0u);
        EXPECT_GT(database.stats().statements_shared, before);
        return {};
    });
}

// What changes a session never goes over a shared connection, and nobody sees it afterwards.
TEST_F(PostgresShared, DAT_5_what_changes_a_session_is_never_shared) {
    run([&]() -> Result<void> {
        Database database = WEFT_TRY(open(1));
        const std::vector<Statement> changing = {
            "select set_config('weft.mine', 'no', false)", "select pg_advisory_lock(4711)",
            "listen shared_channel", "set application_name = 'changed'",
            "create temp table mine (i int)"};
        for (const Statement& statement : changing) WEFT_TRY(database.query(statement));
        std::optional<Lease> lease = WEFT_TRY(occupy(database));
        std::vector<Future<void>> callers;
        for (int caller = 0; caller < 5; ++caller) {
            callers.push_back(spawn([&, caller]() -> Result<void> {
                auto done = database.query(changing[static_cast<std::size_t>(caller)]);
                if (!done) return done.error();
                return {};
            }));
        }
        EXPECT_TRUE(eventually([&] { return database.stats().waiting == 5; }));
        lease.reset();
        for (auto& caller : callers) EXPECT_TRUE(caller.join());
        EXPECT_EQ(database.stats().statements_shared, 0u);
        EXPECT_EQ(WEFT_TRY(ask(database,
                               "select count(*) from pg_locks where "
                               "locktype = 'advisory' and objid = 4711")),
                  Value(0));
        return {};
    });
}

// More output than all buffers hold, so that the statement still runs when the first row is there.
TEST_F(PostgresShared, DAT_7_one_row_of_a_statement_with_effects_undoes_none_of_them) {
    run([&]() -> Result<void> {
        Database database = WEFT_TRY(open(1));
        Notifications told = WEFT_TRY(
            Notifications::open({.connection_string = server->local()}, {"shared_effects"}));
        auto notify = [](std::string_view channel, std::int64_t count) {
            return sql(
                "select pg_notify({}, i::text), repeat('x', 1000)"
                " from generate_series(1, {}::int) i",
                channel, count);
        };
        WEFT_TRY(make_known(database, notify("nobody_listens", 1)));
        const std::uint64_t before = database.stats().statements_shared;
        std::optional<Lease> lease = WEFT_TRY(occupy(database));
        auto one = spawn([&] { return database.query_one(notify("shared_effects", 20'000)); });
        EXPECT_TRUE(eventually([&] { return database.stats().waiting == 1; }));
        lease.reset();
        EXPECT_TRUE(WEFT_TRY(one.join()).has_value());
        EXPECT_GT(database.stats().statements_shared, before);
        WEFT_TRY(database.exec("notify shared_effects, 'behind it'"));
        EXPECT_EQ(WEFT_TRY(told.next()).payload, "1");
        return {};
    });
}

TEST_F(PostgresShared, DAT_7_a_row_too_many_fails_its_own_statement_alone) {
    run([&]() -> Result<void> {
        Database database = WEFT_TRY(open(1));
        auto series = [](std::int64_t count) {
            return sql("select generate_series(1, {}) as n", count);
        };
        WEFT_TRY(make_known(database, series(3)));
        WEFT_TRY(make_known(database, number(0)));
        std::optional<Lease> lease = WEFT_TRY(occupy(database));
        QueryOptions few;
        few.rows_max = 10;
        auto many = spawn([&] { return database.query(series(50'000), few); });
        EXPECT_TRUE(eventually([&] { return database.stats().waiting == 1; }));
        auto one = spawn([&] { return database.query_one(series(2)); });
        auto behind = spawn([&] { return ask(database, number(5)); });
        lease.reset();
        EXPECT_EQ(cause_of(many.join().error()), Cause::RowLimit);
        EXPECT_EQ(behind.join(), Value(5));
        auto first = one.join();
        EXPECT_TRUE(first && first->has_value());
        EXPECT_EQ((**first)[0][0], Value(1));
        return {};
    });
}

// The columns of a prepared statement change under it.
TEST_F(PostgresShared, DAT_3_a_table_that_changes_is_described_anew) {
    run([&]() -> Result<void> {
        Database database = WEFT_TRY(open(1));
        WEFT_TRY(database.exec("drop table if exists shared_changes"));
        WEFT_TRY(database.exec("create table shared_changes (a int)"));
        WEFT_TRY(database.exec("insert into shared_changes values (1)"));
        Statement all = "select * from shared_changes";
        WEFT_TRY(make_known(database, all));
        std::optional<Lease> lease = WEFT_TRY(occupy(database));
        auto observer = WEFT_TRY(connect());
        WEFT_TRY(observer->run("alter table shared_changes alter a type text", kAnyRows));
        std::vector<Future<Value>> callers;
        for (int caller = 0; caller < 4; ++caller)
            callers.push_back(spawn([&] { return ask(database, all); }));
        EXPECT_TRUE(eventually([&] { return database.stats().waiting >= 1; }));
        lease.reset();
        for (auto& caller : callers) EXPECT_EQ(caller.join(), Value("1"));
        return {};
    });
}

TEST_F(PostgresShared, DAT_3_notifications_come_beside_shared_statements) {
    run([&]() -> Result<void> {
        Database database = WEFT_TRY(open(2));
        auto notify = [](std::int64_t i) { return sql("select pg_notify('beside', {}::text)", i); };
        // Before anybody listens.
        WEFT_TRY(make_known(database, notify(0)));
        auto notifications =
            WEFT_TRY(Notifications::open({.connection_string = server->local()}, {"beside"}));
        constexpr int kCount = 50;
        WEFT_TRY(database.query(notify(0)));
        const std::uint64_t before = database.stats().statements_shared;
        std::vector<Future<Rows>> callers;
        for (std::int64_t i = 1; i < kCount; ++i)
            callers.push_back(spawn([&, i] { return database.query(notify(i)); }));
        for (auto& caller : callers) EXPECT_TRUE(caller.join());
        std::vector<std::string> payloads;
        for (int i = 0; i < kCount; ++i) {
            auto next = WEFT_TRY(notifications.next());
            payloads.push_back(next.payload);
        }
        std::ranges::sort(payloads);
        EXPECT_EQ(std::ranges::unique(payloads).begin() - payloads.begin(), kCount);
        EXPECT_GT(database.stats().statements_shared, before);
        return {};
    });
}

TEST_F(PostgresShared, DAT_5_a_database_that_closes_ends_what_shares_it) {
    run([&]() -> Result<void> {
        Database database = WEFT_TRY(open(1));
        WEFT_TRY(make_known(database, number(0)));
        std::optional<Lease> lease = WEFT_TRY(occupy(database));
        std::vector<Future<Value>> callers;
        for (int caller = 0; caller < 5; ++caller)
            callers.push_back(spawn([&] { return ask(database, number(1)); }));
        EXPECT_TRUE(eventually([&] { return database.stats().waiting == 1; }));
        auto closing = spawn([&] { return database.close(far()); });
        for (auto& caller : callers) EXPECT_EQ(cause_of(caller.join().error()), Cause::Closed);
        lease.reset();
        EXPECT_TRUE(closing.join());
        EXPECT_EQ(cause_of(ask(database, number(1)).error()), Cause::Closed);
        return {};
    });
}

}  // namespace
}  // namespace weft::data::testing
