#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "tests/data/odbc_databases.h"
#include "weft/data/migrations.h"
#include "weft/fiber/fiber.h"

namespace weft::data::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(Odbc, OdbcTest, kOdbcPlaces, name_of);

TEST_P(OdbcTest, DAT_4_what_the_driver_can_do_is_found_out) {
    run([&]() -> Result<void> {
        Database db = WEFT_TRY(open());
        OdbcFacts facts = WEFT_TRY(odbc_facts(db));
        constexpr OdbcDialect kDialects[] = {OdbcDialect::Sqlite, OdbcDialect::Postgres,
                                             OdbcDialect::MariaDb, OdbcDialect::SqlServer};
        EXPECT_EQ(facts.dialect, kDialects[static_cast<int>(GetParam())]);
        EXPECT_FALSE(facts.driver.empty());
        EXPECT_TRUE(facts.has_transactions);
        // Some take the attribute without a word, and block all the same.
        EXPECT_FALSE(facts.has_async_statements);
        EXPECT_EQ(db.provider().mode(), "blocking pool");
        EXPECT_EQ(db.provider().name(), "odbc");
        return {};
    });
}

// SQLite's driver and MariaDB's take it, and do nothing: that is seen by reading it back.
TEST_P(OdbcTest, DAT_4_a_timeout_that_the_driver_ignores_is_not_believed) {
    run([&]() -> Result<void> {
        Database db = WEFT_TRY(open_odbc(
            {.connection_string = string(), .statement_timeout = std::chrono::seconds(2)}));
        OdbcFacts facts = WEFT_TRY(odbc_facts(db));
        EXPECT_EQ(facts.has_statement_timeout, is(OdbcPlace::Postgres) || is(OdbcPlace::Tds));
        if (!facts.has_statement_timeout) return {};
        Result<Rows> stopped = db.query(Statement(endless()));
        EXPECT_EQ(sqlstate_of(stopped.error()), is(OdbcPlace::Postgres) ? "57014" : "HYT00");
        return {};
    });
}

TEST_P(OdbcTest, DAT_6_numbers_and_texts_come_back_as_they_went) {
    run([&]() -> Result<void> {
        Database db = WEFT_TRY(open_one());
        std::string name = table();
        constexpr const char* kColumns[] = {
            "r real, s text, b blob", "r double precision, s text, b bytea",
            "r double, s longtext, b longblob", "r float, s nvarchar(max), b varbinary(max)"};
        WEFT_TRY(db.exec(Statement("create table " + name + " (id integer, i bigint, " +
                                   kColumns[static_cast<int>(GetParam())] + ")")));
        // Longer than a piece that a driver gives at once, with pairs of UTF-16 on every border.
        std::string trees;
        for (int count = 0; count < 20'000; ++count) trees += "\xf0\x9f\x8c\xb1";
        std::string all(300'000, '\0');
        for (std::size_t at = 0; at < all.size(); ++at) all[at] = static_cast<char>(at * 7);
        Value blob = Value::bytes(std::as_bytes(std::span(all)));
        // SQLite's driver makes a text of 15 digits of every real number.
        double sum = is(OdbcPlace::Sqlite) ? 0.3 : 0.1 + 0.2;
        const std::vector<std::vector<Value>> rows = {
            {std::numeric_limits<std::int64_t>::min(), sum, trees, blob},
            {std::numeric_limits<std::int64_t>::max(), -1e308, "x" + trees, Value::bytes({})},
            {std::int64_t{9'007'199'254'740'993}, 0.125, "", nullptr},
            {nullptr, nullptr, nullptr, nullptr},
            {0, 1.0, std::string(255, 'a'), blob},
            {0, 1.0, std::string(256, 'b'), blob},
        };
        std::int64_t id = 0;
        for (const auto& row : rows) {
            WEFT_TRY(db.exec(sql("insert into {} values ({}, {}, {}, {}, {})", Statement(name),
                                 ++id, row[0], row[1], row[2], row[3])));
        }
        Rows found =
            WEFT_TRY(db.query(Statement("select i, r, s, b from " + name + " order by id")));
        if (found.size() != rows.size()) return Error(ErrorKind::Other, "not all rows");
        for (std::size_t at = 0; at < rows.size(); ++at) {
            for (std::size_t cell = 0; cell < rows[at].size(); ++cell) {
                bool same = found[at][cell] == rows[at][cell];
                EXPECT_TRUE(same) << "row " << at << ", column " << cell << ": "
                                  << to_string(found[at][cell].type());
            }
        }
        return {};
    });
}

TEST_P(OdbcTest, DAT_6_a_value_that_the_driver_cannot_take_is_refused_without_it) {
    run([&]() -> Result<void> {
        Database db = WEFT_TRY(open_one());
        EXPECT_EQ(db.query(sql("select {}", Value::array({1}))).error().kind(), ErrorKind::Misuse);
        Result<Rows> broken = db.query(sql("select {}", std::string("c4n4ry\xff")));
        EXPECT_EQ(broken.error().kind(), ErrorKind::Misuse);
        EXPECT_EQ(std::string(broken.error().message()).find("c4n4ry"), std::string::npos);
        Result<Rows> fewer = db.query(Statement("select ?, ?", {1}));
        EXPECT_EQ(sqlstate_of(fewer.error()), "07001");
        EXPECT_EQ(value_of(db, "select 1"), Value(1));
        return {};
    });
}

TEST_P(OdbcTest, DAT_4_a_prepared_statement_outlives_a_change_of_its_table) {
    run([&]() -> Result<void> {
        Database db = WEFT_TRY(open_one());
        std::string name = table();
        WEFT_TRY(db.exec(Statement("create table " + name + " (a integer)")));
        WEFT_TRY(db.exec(Statement("insert into " + name + " values (1)")));
        Statement find("select * from " + name + " where a = ?", {1});
        for (std::size_t columns = 1; columns <= 3; ++columns) {
            for (int again = 0; again < 2; ++again) {
                Rows rows = WEFT_TRY(db.query(find));
                EXPECT_EQ(rows.size(), 1U);
                EXPECT_EQ(rows.columns().size(), columns);
            }
            WEFT_TRY(db.exec(Statement("alter table " + name + " add column c" +
                                       std::to_string(columns) + " integer")));
        }
        return {};
    });
}

TEST_P(OdbcTest, DAT_8_a_cursor_gives_every_row_and_its_connection_back) {
    run([&]() -> Result<void> {
        Database db = WEFT_TRY(open_one());
        constexpr int kRows = 10'000;
        Cursor cursor = WEFT_TRY(db.query_cursor(Statement(numbers(kRows)), {.batch_rows = 300}));
        EXPECT_EQ(cursor.columns()[0].name, "x");
        std::int64_t sum = 0;
        for (Rows rows = WEFT_TRY(cursor.next()); !rows.empty(); rows = WEFT_TRY(cursor.next())) {
            for (Row row : rows) sum += row[0].integer();
        }
        EXPECT_EQ(sum, std::int64_t{kRows} * (kRows + 1) / 2);
        EXPECT_EQ(db.stats().in_use, 0U);
        Cursor early = WEFT_TRY(db.query_cursor(Statement(numbers(kRows)), {.batch_rows = 10}));
        EXPECT_EQ(WEFT_TRY(early.next()).size(), 10U);
        early.close();
        EXPECT_EQ(db.stats().in_use, 0U);
        EXPECT_EQ(value_of(db, "select 7"), Value(7));
        EXPECT_EQ(db.stats().opened, 1U);
        return {};
    });
}

TEST_P(OdbcTest, DAT_8_a_cursor_ends_with_its_transaction) {
    run([&]() -> Result<void> {
        Database db = WEFT_TRY(open_one());
        Transaction tx = WEFT_TRY(db.begin());
        Cursor cursor = WEFT_TRY(tx.query_cursor(Statement(numbers(1000)), {.batch_rows = 10}));
        EXPECT_EQ(WEFT_TRY(cursor.next()).size(), 10U);
        EXPECT_EQ(tx.query("select 1").error().kind(), ErrorKind::Misuse);
        WEFT_TRY(tx.rollback());
        EXPECT_TRUE(cursor.is_closed());
        EXPECT_EQ(value_of(db, "select 7"), Value(7));
        return {};
    });
}

TEST_P(OdbcTest, DAT_1_a_batch_is_done_whole_or_not_at_all) {
    run([&]() -> Result<void> {
        Database db = WEFT_TRY(open_one());
        std::string name = table();
        WEFT_TRY(db.exec(Statement("create table " + name + " (a integer primary key)")));
        std::vector<Statement> batch;
        for (int a = 0; a < 20; ++a)
            batch.push_back(sql("insert into {} values ({})", Statement(name), a));
        EXPECT_EQ(WEFT_TRY(db.batch(batch)).size(), 20U);
        batch = {Statement("insert into " + name + " values (100)"),
                 Statement("insert into " + name + " values (1)")};
        Result<std::vector<Outcome>> failed = db.batch(batch);
        EXPECT_EQ(cause_of(failed.error()), Cause::UniqueViolation);
        EXPECT_NE(std::string(failed.error().message()).find("statement 2"), std::string::npos);
        EXPECT_EQ(value_of(db, Statement("select count(*) from " + name)), Value(20));
        return {};
    });
}

TEST_P(OdbcTest, DAT_1_transactions_have_the_isolation_that_was_asked_for_or_a_stronger_one) {
    run([&]() -> Result<void> {
        Database db = WEFT_TRY(open_one());
        std::string name = table();
        WEFT_TRY(db.exec(Statement("create table " + name + " (a integer)")));
        Transaction strong = WEFT_TRY(db.begin({.isolation = Isolation::Serializable}));
        if (is(OdbcPlace::Postgres)) {
            Rows level = WEFT_TRY(strong.query("select current_setting('transaction_isolation')"));
            EXPECT_EQ(level[0][0], Value("serializable"));
        }
        WEFT_TRY(strong.exec(Statement("insert into " + name + " values (1)")));
        WEFT_TRY(strong.commit());
        if (is(OdbcPlace::Tds)) {
            EXPECT_EQ(cause_of(db.begin({.read_only = true}).error()), Cause::Unsupported);
            return {};
        }
        Transaction reader = WEFT_TRY(db.begin({.read_only = true}));
        EXPECT_EQ(WEFT_TRY(reader.query(Statement("select a from " + name))).size(), 1U);
        Result<Outcome> refused = reader.exec(Statement("insert into " + name + " values (2)"));
        EXPECT_EQ(cause_of(refused.error()), Cause::ReadOnly);
        WEFT_TRY(reader.rollback());
        // Both ended with their transactions.
        WEFT_TRY(db.exec(Statement("insert into " + name + " values (3)")));
        if (is(OdbcPlace::Postgres)) {
            EXPECT_EQ(value_of(db, "select current_setting('transaction_isolation')"),
                      Value("read committed"));
        }
        EXPECT_EQ(db.stats().opened, 1U);
        return {};
    });
}

TEST_P(OdbcTest, DAT_11_a_handle_that_may_only_read_cannot_write) {
    run([&]() -> Result<void> {
        std::string name = table();
        Database writer = WEFT_TRY(open_one());
        WEFT_TRY(writer.exec(Statement("create table " + name + " (a integer)")));
        Database db = WEFT_TRY(open_one(Access::Read));
        // SQL Server has no such sessions: what can be seen in the text has to do.
        EXPECT_NE(WEFT_TRY(odbc_facts(db)).enforces_read_only, is(OdbcPlace::Tds));
        EXPECT_EQ(value_of(db, Statement("select count(*) from " + name)), Value(0));
        for (const std::string& text :
             {"insert into " + name + " values (1)", "drop table " + name,
              std::string("set session characteristics as transaction read write"),
              std::string("pragma query_only = off"),
              "select 1; insert into " + name + " values (1)",
              "/* select */ delete from " + name}) {
            Cause cause = cause_of(db.query(Statement(text)).error());
            EXPECT_EQ(cause, Cause::ReadOnly) << text;
        }
        if (is(OdbcPlace::Postgres)) {
            Statement hidden("with w as (insert into " + name +
                             " values (1) returning a) "
                             "select a from w");
            EXPECT_EQ(cause_of(db.query(hidden).error()), Cause::ReadOnly);
        }
        EXPECT_EQ(value_of(writer, Statement("select count(*) from " + name)), Value(0));
        return {};
    });
}

TEST_P(OdbcTest, DAT_5_what_a_statement_changed_in_the_session_the_next_user_does_not_see) {
    run([&]() -> Result<void> {
        // Sessions of SQLite have no settings that SQL changes, those of the double none at all.
        if (is(OdbcPlace::Sqlite) || is(OdbcPlace::Tds)) return {};
        Database db = WEFT_TRY(open_one());
        bool is_postgres = is(OdbcPlace::Postgres);
        Statement set(is_postgres ? "set application_name = 'mine'" : "set @mine = 7");
        Statement get(is_postgres ? "select current_setting('application_name')" : "select @mine");
        Value before = WEFT_TRY(value_of(db, get));
        WEFT_TRY(db.exec(set));
        Value after = WEFT_TRY(value_of(db, get));
        EXPECT_NE(after, Value("mine"));
        EXPECT_NE(after, Value(7));
        EXPECT_EQ(value_of(db, "select '\u00e9\U0001f331'"), Value("\u00e9\U0001f331"));
        return {};
    });
}

TEST_P(OdbcTest, DAT_10_errors_keep_their_sqlstate_and_quote_no_value) {
    run([&]() -> Result<void> {
        Database db = WEFT_TRY(open_one());
        std::string name = table();
        WEFT_TRY(db.exec(
            Statement("create table " + name + " (a integer, b varchar(40) unique, c date)")));
        WEFT_TRY(db.exec(sql("insert into {} (b) values ({})", Statement(name), "c4n4ry")));
        const std::vector<Statement> wrong = {
            sql("insert into {} (b) values ({})", Statement(name), "c4n4ry"),
            sql("selec {}", "c4n4ry"),
            sql("select nothing from {} where b = {}", Statement(name), "c4n4ry"),
            sql("select * from nowhere where b = {}", "c4n4ry"),
        };
        for (const Statement& statement : wrong) {
            Result<Rows> failed = db.query(statement);
            std::string text(failed ? "no error" : failed.error().message());
            EXPECT_EQ(text.find("c4n4ry"), std::string::npos) << text;
            bool is_known = text.find("23505") != text.npos || text.find("(42") != text.npos;
            EXPECT_TRUE(is_known) << text;
        }
        if (is(OdbcPlace::Sqlite) || is(OdbcPlace::Tds)) return {};  // any text in any column
        for (const char* column : {"a", "c"}) {
            Result<Outcome> failed = db.exec(sql("insert into {} ({}) values ({})", Statement(name),
                                                 Statement(column), "c4n4ry"));
            EXPECT_EQ(cause_of(failed.error()), Cause::InvalidValue) << failed.error().message();
            EXPECT_EQ(std::string(failed.error().message()).find("c4n4ry"), std::string::npos);
        }
        return {};
    });
}

TEST_P(OdbcTest, DAT_1_a_script_is_run_statement_by_statement) {
    run([&]() -> Result<void> {
        if (is(OdbcPlace::Tds)) return {};  // the double takes one statement at a time
        Database db = WEFT_TRY(open_one());
        std::string name = table();
        Transaction tx = WEFT_TRY(db.begin());
        WEFT_TRY(tx.run_script("-- a comment; with a semicolon\ncreate table " + name +
                               " (a integer, s varchar(20));\ninsert into " + name +
                               " values (1, 'x;y'); insert into " + name + " values (2, '--');\n"));
        Result<void> failed = tx.run_script("select 1; selec 2; select 3");
        EXPECT_EQ(cause_of(failed.error()), Cause::Syntax) << failed.error().message();
        WEFT_TRY(tx.rollback());
        Transaction again = WEFT_TRY(db.begin());
        WEFT_TRY(again.run_script("drop table if exists " + name + "; create table " + name +
                                  " (a integer); insert into " + name + " values (1)"));
        WEFT_TRY(again.commit());
        EXPECT_EQ(value_of(db, Statement("select count(*) from " + name)), Value(1));
        return {};
    });
}

TEST_P(OdbcTest, DAT_13_a_plain_thread_uses_it_and_its_deadline_counts) {
    // The answer to a cancel has kTidyTimeout, which a stall may use up.
    EXPECT_TRUE(weft::testing::unless_stalled(kTidyTimeout / 2, [&] {
        Database db = *open_one();
        EXPECT_EQ(value_of(db, "select 1"), Value(1));
        Result<Rows> late =
            db.query(Statement(endless()), {.timeout = std::chrono::milliseconds(50)});
        EXPECT_EQ(late.error().kind(), ErrorKind::TimedOut);
        EXPECT_EQ(value_of(db, "select 2"), Value(2));
        std::uint64_t opened = db.stats().opened;
        if (opened == 1) return ::testing::AssertionSuccess();
        return ::testing::AssertionFailure() << opened << " connections were opened";
    }));
}

TEST_P(OdbcTest, DAT_12_migrations_are_applied_once_and_what_fails_is_not) {
    run([&]() -> Result<void> {
        Database db = WEFT_TRY(open());
        std::string first = table();
        std::string second = table();
        std::vector<Migration> all{
            {"0001",
             "create table " + first + " (i integer); insert into " + first + " values (1)"},
            {"0002", "create table " + second + " (i integer); insert into nowhere values (1)"}};
        auto state = [&](std::size_t at) -> Result<MigrationState> {
            std::vector<MigrationStatus> status = WEFT_TRY(migration_status(db, all));
            return status[at].state;
        };
        EXPECT_EQ(state(0), MigrationState::Pending);
        EXPECT_FALSE(migrate_up(db, all));
        EXPECT_EQ(state(0), MigrationState::Applied);
        // MariaDB commits at each change of the schema.
        bool stays = is(OdbcPlace::MariaDb);
        EXPECT_EQ(state(1), stays ? MigrationState::Unfinished : MigrationState::Pending);
        EXPECT_EQ(db.query(Statement("select * from " + second)).has_value(), stays);
        if (stays) {
            all[1].text = "insert into " + second + " values (2)";
            std::string why = migrate_up(db, all).error().message();
            EXPECT_TRUE(why.starts_with("migration 0002: it is being applied by another")) << why;
            WEFT_TRY(db.exec("delete from weft_migrations where name = '0002'"));
        } else {
            all[1].text = "create table " + second + " (i integer)";
        }
        EXPECT_EQ(migrate_up(db, all), std::vector<std::string>{"0002"});
        EXPECT_EQ(migrate_up(db, all), std::vector<std::string>());
        EXPECT_EQ(value_of(db, Statement("select count(*) from " + first)), Value(1));
        for (const std::string& made : {first, second, std::string("weft_migrations")})
            WEFT_TRY(db.exec(Statement("drop table " + made)));
        return {};
    });
}

}  // namespace
}  // namespace weft::data::testing
