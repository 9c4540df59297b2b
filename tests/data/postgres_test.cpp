#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/data/postgres_fixture.h"
#include "weft/data/failure.h"
#include "weft/data/migrations.h"
#include "weft/fiber/fiber.h"
#include "weft/net/socket.h"

namespace weft::data::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using Postgres = PostgresTest;

TEST_F(Postgres, DAT_3_a_statement_runs_over_a_connection) {
    run([&]() -> Result<void> {
        auto connection = WEFT_TRY(connect());
        EXPECT_EQ(ask(*connection, sql("select 1")), Value(1));
        EXPECT_EQ(connection->state(), ConnectionState::Idle);
        Outcome made = WEFT_TRY(
            connection->run(sql("create temporary table t (id int, name text)"), kAnyRows));
        EXPECT_EQ(made.affected_rows, 0u);
        Outcome added = WEFT_TRY(
            connection->run(sql("insert into t values ({}, {}), (2, null)", 1, "one"), kAnyRows));
        EXPECT_EQ(added.affected_rows, 2u);
        Outcome found = WEFT_TRY(connection->run(sql("select * from t order by id"), kAnyRows));
        EXPECT_EQ(found.rows.columns()[1], (Column{"name", "text"}));
        EXPECT_EQ(found.rows[0].get<std::string>("name"), "one");
        EXPECT_TRUE(found.rows[1][1].is_null());
        return {};
    });
}

TEST_F(Postgres, DAT_3_passwords_are_told_by_tcp_and_tls) {
    run([&]() -> Result<void> {
        for (std::string mode : {"disable", "prefer", "require"}) {
            auto connection =
                WEFT_TRY(connect({.connection_string = server->url("sslmode=" + mode)}));
            Value encrypted = WEFT_TRY(
                ask(*connection, "select ssl from pg_stat_ssl where pid = pg_backend_pid()"));
            EXPECT_EQ(encrypted, Value(mode != "disable")) << mode;
        }
        return {};
    });
}

TEST_F(Postgres, DAT_3_a_certificate_is_verified_if_that_is_asked_for) {
    run([&]() -> Result<void> {
        std::string verified =
            "sslmode=verify-full&sslrootcert=" + server->word("folder") + "/ca.pem";
        auto connection = WEFT_TRY(connect({.connection_string = server->url(verified)}));
        EXPECT_EQ(ask(*connection, "select 1"), Value(1));
        // An authority that has not signed it.
        std::string foreign = "sslmode=verify-ca&sslrootcert=/etc/ssl/certs/ca-certificates.crt";
        auto refused = connect({.connection_string = server->url(foreign)});
        EXPECT_FALSE(refused);
        // A name that it is not for; hostaddr tells where it is.
        std::string url = server->url(verified + "&hostaddr=127.0.0.1");
        url.replace(url.find("@127.0.0.1"), 10, "@other.test");
        auto misnamed = connect({.connection_string = url});
        EXPECT_FALSE(misnamed);
        return {};
    });
}

TEST_F(Postgres, DAT_3_names_are_looked_up_and_hosts_tried_in_turn) {
    run([&]() -> Result<void> {
        std::string port = server->word("port");
        std::string several =
            "host=127.0.0.1,localhost port=1," + port +
            " user=weft dbname=postgres sslmode=disable password=" + server->word("password");
        auto connection = WEFT_TRY(connect({.connection_string = several}));
        EXPECT_EQ(ask(*connection, "select 1"), Value(1));
        auto writable =
            connect({.connection_string = server->local("target_session_attrs=read-write")});
        EXPECT_TRUE(writable);
        auto standby =
            connect({.connection_string = server->local("target_session_attrs=standby")});
        EXPECT_FALSE(standby);
        auto preferred =
            connect({.connection_string = server->local("target_session_attrs=prefer-standby")});
        EXPECT_TRUE(preferred);
        return {};
    });
}

// It is there and says nothing: the kernel takes its connections.
TEST_F(Postgres, DAT_3_a_host_that_is_silent_leaves_time_for_those_after_it) {
    run([&]() -> Result<void> {
        auto silent = WEFT_TRY(net::Listener::open(net::Address::loopback(0)));
        std::string port = std::to_string(silent.address().port());
        std::string several = "host=127.0.0.1," + server->word("folder") + " port=" + port + "," +
                              server->word("port") + " user=weft dbname=postgres";
        DatabaseOptions options;
        options.pool.acquire_timeout = std::chrono::milliseconds(600);
        Database database = WEFT_TRY(open_postgres({.connection_string = several}, options));
        // The other has its half of that time, which may be short for a machine under load.
        Result<Rows> rows = database.query("select 1");
        for (int again = 0; again < 9 && !rows; ++again) rows = database.query("select 1");
        WEFT_TRY(std::move(rows));
        return {};
    });
}

// Both find no table; then both find nothing noted, and the note of the first is not committed yet
// when the second writes its own.
TEST_F(Postgres, DAT_12_two_who_migrate_at_once_do_not_do_it_twice) {
    run([&]() -> Result<void> {
        const std::vector<Migration> all{
            {"0001_a", "create table at_once_a (i int); insert into at_once_a values (1)"},
            {"0002_b", "create table at_once_b (i int); select pg_sleep(0.02)"},
            {"0003_c", "insert into at_once_a values (2)"}};
        for (int round = 0; round < 5; ++round) {
            std::vector<Future<std::size_t>> runners;
            for (int runner = 0; runner < 4; ++runner) {
                runners.push_back(spawn([&]() -> Result<std::size_t> {
                    Database database =
                        WEFT_TRY(open_postgres({.connection_string = server->local()}));
                    std::vector<std::string> done = WEFT_TRY(migrate_up(database, all));
                    return done.size();
                }));
            }
            std::size_t applied = 0;
            for (auto& runner : runners) {
                Result<std::size_t> done = runner.join();
                EXPECT_TRUE(done) << (done ? "" : done.error().message());
                applied += done.value_or(0);
            }
            EXPECT_EQ(applied, all.size());
            auto connection = WEFT_TRY(connect());
            EXPECT_EQ(ask(*connection, "select count(*) from at_once_a"), Value(2));
            WEFT_TRY(connection->run("drop table weft_migrations, at_once_a, at_once_b", kAnyRows));
        }
        return {};
    });
}

TEST_F(Postgres, DAT_10_errors_say_what_but_show_neither_value_nor_password) {
    run([&]() -> Result<void> {
        auto connection = WEFT_TRY(connect());
        WEFT_TRY(connection->run(
            "create temporary table t (id int primary key, secret text unique)", kAnyRows));
        Statement insert = sql("insert into t values ({}, {})", 1, "canary-4711");
        WEFT_TRY(connection->run(insert, kAnyRows));
        auto twice = connection->run(insert, kAnyRows);
        EXPECT_EQ(sqlstate_of(twice.error()), "23505");
        EXPECT_EQ(cause_of(twice.error()), Cause::UniqueViolation);
        EXPECT_THAT(twice.error().message(), HasSubstr("t_pkey"));
        auto unread = connection->run(sql("select {}::int", "canary-4711"), kAnyRows);
        EXPECT_EQ(sqlstate_of(unread.error()), "22P02");
        auto missing = connection->run("select * from missing_table", kAnyRows);
        EXPECT_EQ(sqlstate_of(missing.error()), "42P01");
        EXPECT_THAT(missing.error().message(), HasSubstr("missing_table"));
        std::string wrong = server->url();
        wrong.replace(wrong.find(server->word("password")), server->word("password").size(),
                      "canary-4711");
        auto refused = connect({.connection_string = wrong});
        EXPECT_EQ(sqlstate_of(refused.error()), "28P01");
        EXPECT_EQ(cause_of(refused.error()), Cause::Authentication);
        auto unreadable = connect({.connection_string = "host='canary-4711"});
        EXPECT_EQ(unreadable.error().kind(), ErrorKind::Misuse);
        auto nobody = connect({.connection_string = "postgres://u:canary-4711@127.0.0.1:1/x"});
        EXPECT_EQ(cause_of(nobody.error()), Cause::Connection);
        for (const Error& error : {twice.error(), unread.error(), missing.error(), refused.error(),
                                   unreadable.error(), nobody.error()})
            EXPECT_THAT(error.message(), Not(HasSubstr("canary"))) << error.message();
        return {};
    });
}

TEST_F(Postgres, DAT_3_transactions_have_savepoints_and_options) {
    run([&]() -> Result<void> {
        auto connection = WEFT_TRY(connect());
        WEFT_TRY(connection->run("create temporary table t (id int)", kAnyRows));
        WEFT_TRY(connection->step(TransactionStep::Begin, 0,
                                  {.isolation = Isolation::Serializable, .read_only = false}));
        EXPECT_EQ(connection->state(), ConnectionState::Transaction);
        EXPECT_EQ(ask(*connection, "show transaction_isolation"), Value("serializable"));
        WEFT_TRY(connection->run("insert into t values (1)", kAnyRows));
        WEFT_TRY(connection->step(TransactionStep::Savepoint, 1, {}));
        EXPECT_FALSE(connection->run("select 1/0", kAnyRows));
        EXPECT_EQ(connection->state(), ConnectionState::Failed);
        WEFT_TRY(connection->step(TransactionStep::RollbackToSavepoint, 1, {}));
        EXPECT_EQ(connection->state(), ConnectionState::Transaction);
        WEFT_TRY(connection->step(TransactionStep::Commit, 0, {}));
        EXPECT_EQ(ask(*connection, "select count(*) from t"), Value(1));
        // What has failed is not committed, and that is no success.
        WEFT_TRY(connection->step(TransactionStep::Begin, 0, {}));
        EXPECT_FALSE(connection->run("select 1/0", kAnyRows));
        auto committed = connection->step(TransactionStep::Commit, 0, {});
        EXPECT_EQ(cause_of(committed.error()), Cause::TransactionState);
        EXPECT_EQ(connection->state(), ConnectionState::Idle);
        return {};
    });
}

TEST_F(Postgres, DAT_7_a_row_too_many_ends_the_statement_at_once) {
    run([&]() -> Result<void> {
        auto connection = WEFT_TRY(connect());
        Statement endless = "select generate_series(1, 1000000000)";
        auto limited = connection->run(endless, {.rows_max = 10});
        EXPECT_EQ(cause_of(limited.error()), Cause::RowLimit);
        EXPECT_EQ(connection->state(), ConnectionState::Idle);
        RowLimit one{.rows_max = 1, .beyond = RowLimit::Beyond::Stop};
        Outcome first = WEFT_TRY(connection->run(endless, one));
        EXPECT_EQ(first.rows.size(), 1u);
        // Also in a transaction, which goes on.
        WEFT_TRY(connection->step(TransactionStep::Begin, 0, {}));
        first = WEFT_TRY(connection->run(endless, one));
        EXPECT_EQ(first.rows.size(), 1u);
        EXPECT_EQ(connection->state(), ConnectionState::Transaction);
        first = WEFT_TRY(connection->run(endless, one));
        EXPECT_EQ(ask(*connection, "select 7"), Value(7));
        WEFT_TRY(connection->step(TransactionStep::Commit, 0, {}));
        return {};
    });
}

// More output than all buffers hold, so that the statement still runs when the first row is there.
TEST_F(Postgres, DAT_7_one_row_of_a_statement_with_effects_undoes_none_of_them) {
    run([&]() -> Result<void> {
        auto connection = WEFT_TRY(connect());
        auto other = WEFT_TRY(connect());
        constexpr std::int64_t kMany = 20'000;
        WEFT_TRY(connection->run("drop table if exists effects", kAnyRows));
        WEFT_TRY(connection->run("create table effects (i int)", kAnyRows));
        RowLimit one{.rows_max = 1, .beyond = RowLimit::Beyond::Stop};
        Statement insert =
            sql("insert into effects select generate_series(1, {}::int)"
                " returning i, repeat('x', 1000)",
                kMany);
        Outcome written = WEFT_TRY(connection->run(insert, one));
        EXPECT_EQ(written.rows.size(), 1u);
        EXPECT_EQ(written.affected_rows, static_cast<std::uint64_t>(kMany));
        EXPECT_EQ(ask(*other, "select count(*) from effects"), Value(kMany));
        // In a transaction too, and where it does not begin with the word for it.
        WEFT_TRY(connection->step(TransactionStep::Begin, 0, {}));
        Statement remove =
            "with gone as (delete from effects where i > 10000 returning i)"
            " select i, repeat('x', 1000) from gone";
        EXPECT_EQ(WEFT_TRY(connection->run(remove, one)).rows.size(), 1u);
        EXPECT_EQ(ask(*connection, "select count(*) from effects"), Value(10'000));
        // The locks of a query are still there.
        Statement locks = "select i, repeat('x', 1000) from effects order by i for update";
        EXPECT_EQ(WEFT_TRY(connection->run(locks, one)).rows.size(), 1u);
        EXPECT_EQ(WEFT_TRY(other->run("select 1 from effects for update skip locked", kAnyRows))
                      .rows.size(),
                  0u);
        WEFT_TRY(connection->step(TransactionStep::Commit, 0, {}));
        // The last of several commands counts, and all of them run.
        Outcome last = WEFT_TRY(connection->run(
            "select i, repeat('x', 1000) from effects; delete from effects; select 7, 8", one));
        EXPECT_EQ(last.rows[0][0], Value(7));
        EXPECT_EQ(ask(*other, "select count(*) from effects"), Value(0));
        WEFT_TRY(connection->run("drop table effects", kAnyRows));
        return {};
    });
}

TEST_F(Postgres, DAT_3g_DAT_8_rows_come_as_they_are_fetched) {
    run([&]() -> Result<void> {
        auto connection = WEFT_TRY(connect());
        auto rows = WEFT_TRY(
            connection->open_rows(sql("select i, 'x' from generate_series(1, {}) i", 10'000)));
        EXPECT_EQ(rows->columns()->size(), 2u);
        EXPECT_EQ(connection->run("select 1", kAnyRows).error().kind(), ErrorKind::Misuse);
        std::int64_t expected = 0;
        for (;;) {
            Rows some = WEFT_TRY(rows->fetch(100));
            if (some.empty()) break;
            EXPECT_LE(some.size(), 100u);
            for (Row row : some) EXPECT_EQ(row[0], Value(++expected));
        }
        EXPECT_EQ(expected, 10'000);
        EXPECT_EQ(ask(*connection, "select 1"), Value(1));
        rows->close();
        EXPECT_EQ(cause_of(rows->fetch(1).error()), Cause::Closed);
        // Given up in the middle, also in a transaction.
        for (bool in_transaction : {false, true}) {
            if (in_transaction) WEFT_TRY(connection->step(TransactionStep::Begin, 0, {}));
            rows = WEFT_TRY(connection->open_rows("select generate_series(1, 1000000000)"));
            EXPECT_FALSE(WEFT_TRY(rows->fetch(3)).empty());
            rows.reset();
            EXPECT_EQ(connection->state(),
                      in_transaction ? ConnectionState::Transaction : ConnectionState::Idle);
            EXPECT_EQ(ask(*connection, "select 1"), Value(1));
        }
        return {};
    });
}

TEST_F(Postgres, DAT_8_an_error_in_the_middle_comes_after_the_rows_before_it) {
    run([&]() -> Result<void> {
        auto connection = WEFT_TRY(connect());
        auto rows = WEFT_TRY(
            connection->open_rows("select 100 / (5000 - i) from generate_series(1, 6000) i"));
        std::size_t count = 0;
        Result<Rows> some = rows->fetch(100);
        for (; some && !some->empty(); some = rows->fetch(100)) count += some->size();
        EXPECT_EQ(count, 4999u);
        EXPECT_EQ(sqlstate_of(some.error()), "22012");
        EXPECT_EQ(connection->state(), ConnectionState::Idle);
        return {};
    });
}

TEST_F(Postgres, DAT_3_prepared_statements_outlive_what_others_do_to_them) {
    run([&]() -> Result<void> {
        auto connection =
            WEFT_TRY(connect({.connection_string = server->local(), .statements_max = 4}));
        WEFT_TRY(connection->run("drop table if exists changing", kAnyRows));
        WEFT_TRY(connection->run("create table changing (a int)", kAnyRows));
        WEFT_TRY(connection->run("insert into changing values (1)", kAnyRows));
        Statement all = "select * from changing";
        EXPECT_EQ(WEFT_TRY(connection->run(all, kAnyRows)).rows.columns().size(), 1u);
        // "cached plan must not change result type"
        WEFT_TRY(connection->run("alter table changing add b text default 'new'", kAnyRows));
        EXPECT_EQ(WEFT_TRY(connection->run(all, kAnyRows)).rows.columns().size(), 2u);
        for (const char* forget : {"discard all", "deallocate all", "/**/ deallocate all;;"}) {
            WEFT_TRY(connection->run(forget, kAnyRows));
            EXPECT_EQ(WEFT_TRY(connection->run(all, kAnyRows)).rows.size(), 1u) << forget;
        }
        // More than are kept.
        for (int number = 0; number < 20; ++number) {
            Statement one = "select " + std::to_string(number % 7);
            EXPECT_EQ(ask(*connection, one), Value(number % 7));
        }
        Value kept = WEFT_TRY(ask(*connection, "select count(*) from pg_prepared_statements"));
        EXPECT_LE(kept.integer(), 4);
        WEFT_TRY(connection->run("drop table changing", kAnyRows));
        return {};
    });
}

TEST_F(Postgres, DAT_3_nothing_of_a_session_is_left_to_the_next_user) {
    run([&]() -> Result<void> {
        auto connection = WEFT_TRY(connect());
        Value before = WEFT_TRY(ask(*connection, "show work_mem"));
        WEFT_TRY(connection->run("set work_mem = '77MB'", kAnyRows));
        WEFT_TRY(connection->reset());
        EXPECT_EQ(ask(*connection, "show work_mem"), before);
        WEFT_TRY(
            connection->run(sql("select set_config('work_mem', {}, false)", "78MB"), kAnyRows));
        WEFT_TRY(connection->run("select pg_advisory_lock(4711)", kAnyRows));
        WEFT_TRY(connection->reset());
        EXPECT_EQ(ask(*connection, "show work_mem"), before);
        EXPECT_EQ(ask(*connection, "select count(*) from pg_locks where locktype = 'advisory'"),
                  Value(0));
        return {};
    });
}

TEST_F(Postgres, DAT_11_a_handle_that_only_reads_cannot_write) {
    run([&]() -> Result<void> {
        auto provider =
            WEFT_TRY(postgres_provider({.connection_string = server->local()}, Access::Read));
        auto connection = WEFT_TRY(provider->connect());
        EXPECT_EQ(ask(*connection, "select 1"), Value(1));
        // A semicolon in a text is none between statements.
        EXPECT_EQ(ask(*connection, "select string_agg(n, '; ') from (values ('a'), ('b')) t(n)"),
                  Value("a; b"));
        auto written = connection->run("create table unwanted (a int)", kAnyRows);
        EXPECT_EQ(cause_of(written.error()), Cause::ReadOnly);
        for (const char* way : {"set default_transaction_read_only = off",
                                " /* x */ SET default_transaction_read_only = off",
                                "select 1; create table unwanted (a int)", "begin read write",
                                "/* /* */ */ reset all"}) {
            auto refused = connection->run(way, kAnyRows);
            EXPECT_EQ(cause_of(refused.error()), Cause::Permission) << way;
        }
        auto slipped = connection->run(
            "select set_config('default_transaction_read_only', 'off', false)", kAnyRows);
        EXPECT_EQ(connection->state(), ConnectionState::Broken);
        return {};
    });
}

TEST_F(Postgres, DAT_13_a_plain_thread_may_call) {
    auto connection = connect();
    ASSERT_TRUE(connection);
    EXPECT_EQ(ask(**connection, sql("select {} + 1", 41)), Value(42));
    std::string large(5'000'000, 'x');
    EXPECT_EQ(ask(**connection, sql("select length({}::text)", large)), Value(5'000'000));
}

TEST_F(Postgres, DAT_3_several_commands_in_one_text_run_in_turn) {
    run([&]() -> Result<void> {
        auto connection = WEFT_TRY(connect());
        Outcome outcome = WEFT_TRY(connection->run(
            "create temporary table a (i int); insert into a values (1), (2); select i from a",
            kAnyRows));
        EXPECT_EQ(outcome.rows.size(), 2u);
        return {};
    });
}

TEST_F(Postgres, DAT_3_without_preparing_the_values_tell_the_types) {
    run([&]() -> Result<void> {
        auto connection =
            WEFT_TRY(connect({.connection_string = server->local(), .prepare = false}));
        EXPECT_EQ(ask(*connection, sql("select {}", 7)), Value(7));
        EXPECT_EQ(ask(*connection, sql("select {}", "text")), Value("text"));
        Value instant = Value::instant("2026-11-18T23:59:59.5Z").value();
        EXPECT_EQ(ask(*connection, sql("select {}", instant)), instant);
        EXPECT_EQ(ask(*connection, "select count(*) from pg_prepared_statements"), Value(0));
        // The server itself tells of it as if the protocol was broken.
        auto wrong = connection->run(Statement("select $1::int, $2::int", {Value(1)}), kAnyRows);
        EXPECT_EQ(sqlstate_of(wrong.error()), "07001");
        EXPECT_EQ(cause_of(wrong.error()), Cause::Syntax);
        EXPECT_EQ(ask(*connection, "select 1"), Value(1));
        return {};
    });
}

}  // namespace
}  // namespace weft::data::testing
