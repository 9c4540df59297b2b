#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/data/postgres_fixture.h"
#include "weft/data/failure.h"

namespace weft::data::testing {
namespace {

using namespace std::string_literals;
using ::testing::HasSubstr;

class PostgresBatch : public PostgresTest {};

TEST_F(PostgresBatch, DAT_1_a_batch_is_all_or_nothing) {
    run([&]() -> Result<void> {
        auto connection = WEFT_TRY(connect());
        WEFT_TRY(connection->run("create temporary table t (i int primary key)", kAnyRows));
        std::vector<Statement> batch;
        for (int i = 0; i < 1000; ++i) batch.push_back(sql("insert into t values ({})", i));
        batch.push_back("select count(*) from t");
        std::vector<Outcome> outcomes = WEFT_TRY(connection->run_all(batch, kAnyRows, true));
        EXPECT_EQ(outcomes.size(), batch.size());
        EXPECT_EQ(outcomes.back().rows[0][0], Value(1000));
        EXPECT_EQ(connection->state(), ConnectionState::Idle);
        // The last one fails.
        std::vector<Statement> failing = {sql("insert into t values ({})", 5000),
                                          sql("insert into t values ({})", 5001),
                                          sql("insert into t values ({})", 7)};
        auto failed = connection->run_all(failing, kAnyRows, true);
        EXPECT_EQ(cause_of(failed.error()), Cause::UniqueViolation);
        EXPECT_THAT(failed.error().message(), HasSubstr("statement 3"));
        EXPECT_EQ(ask(*connection, "select count(*) from t"), Value(1000));
        // Each by itself: up to the one that fails.
        failing.push_back(sql("insert into t values ({})", 5002));
        auto partly = connection->run_all(failing, kAnyRows, false);
        EXPECT_EQ(cause_of(partly.error()), Cause::UniqueViolation);
        EXPECT_EQ(ask(*connection, "select count(*) from t"), Value(1002));
        return {};
    });
}

TEST_F(PostgresBatch, DAT_7_a_row_too_many_in_a_batch_undoes_it) {
    run([&]() -> Result<void> {
        auto connection = WEFT_TRY(connect());
        WEFT_TRY(connection->run("create temporary table t (i int)", kAnyRows));
        std::vector<Statement> batch = {"insert into t values (1)",
                                        "select generate_series(1, 1000000)",
                                        "insert into t values (2)"};
        auto limited = connection->run_all(batch, {.rows_max = 10}, true);
        EXPECT_EQ(cause_of(limited.error()), Cause::RowLimit);
        EXPECT_EQ(connection->state(), ConnectionState::Idle);
        EXPECT_EQ(ask(*connection, "select count(*) from t"), Value(0));
        return {};
    });
}

// The server commits at the sync, so nothing may be in front of it that is to be undone.
TEST_F(PostgresBatch, DAT_3f_a_batch_without_rows_is_one_transaction_in_one_round_trip) {
    run([&]() -> Result<void> {
        auto connection = WEFT_TRY(connect());
        WEFT_TRY(
            connection->run("create temporary table t (i int primary key, x bigint)", kAnyRows));
        auto insert = [](std::int64_t i) {
            return sql("insert into t values ({}, pg_current_xact_id()::text::bigint)", i);
        };
        std::vector<Statement> batch = {insert(1), insert(2), insert(3)};
        EXPECT_EQ(WEFT_TRY(connection->run_all(batch, kAnyRows, true)).size(), 3u);
        EXPECT_EQ(ask(*connection, "select count(distinct x) from t"), Value(1));
        // A value that PostgreSQL cannot take is found when two are queued already.
        std::vector<Statement> unsendable = {insert(4), insert(5),
                                             sql("insert into t values ({}::int)", "5\0"s)};
        auto refused = connection->run_all(unsendable, kAnyRows, true);
        EXPECT_THAT(refused.error().message(), HasSubstr("statement 3"));
        EXPECT_EQ(connection->state(), ConnectionState::Idle);
        std::vector<Statement> failing = {insert(6), insert(1), insert(7)};
        auto failed = connection->run_all(failing, kAnyRows, true);
        EXPECT_EQ(cause_of(failed.error()), Cause::UniqueViolation);
        EXPECT_EQ(connection->state(), ConnectionState::Idle);
        EXPECT_EQ(ask(*connection, "select count(*) from t"), Value(3));
        return {};
    });
}

TEST_F(PostgresBatch, DAT_3f_queries_that_write_all_the_same_are_undone_with_their_batch) {
    run([&]() -> Result<void> {
        auto connection = WEFT_TRY(connect());
        WEFT_TRY(connection->run_script(
            "drop table if exists batch_writes; create table batch_writes (i int);"
            "create or replace function batch_write() returns int language sql as "
            "'insert into batch_writes values (1) returning i'"));
        std::vector<Statement> queries = {"select 1", "select batch_write()"};
        std::vector<Outcome> outcomes = WEFT_TRY(connection->run_all(queries, kAnyRows, true));
        EXPECT_EQ(outcomes[1].rows[0][0], Value(1));
        EXPECT_EQ(ask(*connection, "select count(*) from batch_writes"), Value(1));
        std::vector<Statement> limited = {"select batch_write()", "select generate_series(1, 100)"};
        auto many = connection->run_all(limited, {.rows_max = 10}, true);
        EXPECT_EQ(cause_of(many.error()), Cause::RowLimit);
        EXPECT_EQ(ask(*connection, "select count(*) from batch_writes"), Value(1));
        EXPECT_EQ(connection->state(), ConnectionState::Idle);
        return {};
    });
}

TEST_F(PostgresBatch, DAT_3f_a_statement_may_need_what_one_before_it_makes) {
    run([&]() -> Result<void> {
        auto connection = WEFT_TRY(connect());
        std::vector<Statement> batch = {"create temporary table later (i int)",
                                        sql("insert into later values ({})", 7),
                                        "select i from later"};
        std::vector<Outcome> outcomes = WEFT_TRY(connection->run_all(batch, kAnyRows, true));
        EXPECT_EQ(outcomes[2].rows[0][0], Value(7));
        std::vector<Statement> wrong = {"create temporary table wrong (i int)",
                                        "select * from nowhere"};
        auto failed = connection->run_all(wrong, kAnyRows, true);
        EXPECT_EQ(cause_of(failed.error()), Cause::Syntax);
        EXPECT_FALSE(connection->run("select * from wrong", kAnyRows));
        return {};
    });
}

// The server stops reading when nobody reads its answers.
TEST_F(PostgresBatch, DAT_1_large_values_and_large_answers_do_not_block_each_other) {
    run([&]() -> Result<void> {
        auto connection = WEFT_TRY(connect({.connection_string = server->url("sslmode=disable")}));
        std::string large(1'000'000, 'x');
        std::vector<Statement> batch(20, sql("select {}::text", large));
        std::vector<Outcome> outcomes = WEFT_TRY(connection->run_all(batch, kAnyRows, true));
        EXPECT_EQ(outcomes.size(), 20u);
        for (const Outcome& outcome : outcomes)
            EXPECT_EQ(outcome.rows[0][0].text().size(), large.size());
        return {};
    });
}

TEST_F(PostgresBatch, DAT_3_large_rows_come_whole_through_tls) {
    run([&]() -> Result<void> {
        auto connection = WEFT_TRY(connect({.connection_string = server->url("sslmode=require")}));
        for (std::size_t size : {8'000u, 8'192u, 16'384u, 20'000u, 40'000u, 3'000'000u}) {
            Value text = WEFT_TRY(
                ask(*connection, sql("select repeat('x', {})", static_cast<std::int64_t>(size))));
            EXPECT_EQ(text.text().size(), size);
        }
        auto rows = WEFT_TRY(
            connection->open_rows("select repeat('x', i % 20000) from generate_series(1, 3000) i"));
        std::size_t count = 0;
        for (;;) {
            Rows some = WEFT_TRY(rows->fetch(50));
            if (some.empty()) break;
            count += some.size();
        }
        EXPECT_EQ(count, 3000u);
        return {};
    });
}

}  // namespace
}  // namespace weft::data::testing
