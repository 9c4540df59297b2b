#include "weft/data/sqlite/sqlite.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/data/internal/sqlite_test.h"
#include "weft/data/pool.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/testing/eventually.h"

namespace weft::data {
namespace {

using namespace std::chrono_literals;

// A statement that never ends.
constexpr const char* kEndless =
    "with recursive n(x) as (select 1 union all select x + 1 from n) select count(*) from n";

std::int64_t count_of(Database& db, const std::string& table) {
    Result<Rows> rows = db.query(Statement("select count(*) from " + table));
    return rows ? (*rows)[0][0].integer() : -1;
}

TEST_F(SqliteTest, DAT_1_statements_rows_and_what_they_did) {
    everywhere([&] {
        Database db = memory();
        EXPECT_DONE(db.exec("create table t (id integer primary key, name text)"));
        Result<Outcome> added = db.exec(sql("insert into t (name) values ({}), ({})", "a", "b"));
        ASSERT_TRUE(added);
        EXPECT_EQ(added->affected_rows, 2U);
        EXPECT_EQ(added->last_insert_id, 2);
        Result<Rows> rows = db.query(sql("select id, name from t where id >= {} order by id", 1));
        ASSERT_TRUE(rows);
        ASSERT_EQ(rows->size(), 2U);
        EXPECT_EQ(rows->columns()[1].name, "name");
        EXPECT_EQ((*rows)[1].get<std::string>("name"), std::string("b"));
        EXPECT_EQ((*rows)[0].get<std::int64_t>(0), 1);
        EXPECT_EQ((*rows)[0].get<int>("nothing").error().kind(), ErrorKind::Misuse);
        Result<std::optional<Rows>> one = db.query_one("select name from t order by id");
        ASSERT_TRUE(one && *one);
        EXPECT_EQ((**one).size(), 1U);
        Result<std::optional<Rows>> none = db.query_one("select name from t where id = 9");
        EXPECT_TRUE(none && !*none);
        EXPECT_DONE(db.close());
        EXPECT_EQ(cause_of(db.query("select 1").error()), Cause::Closed);
    });
}

TEST_F(SqliteTest, DAT_6_every_type_comes_back_as_it_went) {
    on_fiber([&] {
        Database db = memory();
        EXPECT_DONE(
            db.exec("create table t (i integer, r real, s text, b blob, d decimal text,"
                    " j json text, u uuid, day date, t time, ts timestamp,"
                    " at timestamptz, ok boolean)"));
        std::string bytes(300, '\0');
        for (std::size_t at = 0; at < bytes.size(); ++at) bytes[at] = static_cast<char>(at);
        std::vector<Value> values{
            std::numeric_limits<std::int64_t>::min(),
            0.1,
            "naïve \xf0\x9f\x8c\xb1 ' \" ; --",
            Value::bytes(std::as_bytes(std::span(bytes))),
            *Value::decimal("-12345678901234567890.1200"),
            *Value::json(R"({"a":[1,2.50,null]})"),
            *Value::uuid("6BA7B810-9DAD-11D1-80B4-00C04FD430C8"),
            *Value::date("2024-02-29"),
            *Value::time("23:59:59.123456"),
            *Value::timestamp("2026-11-18 08:00:00.5"),
            *Value::offset_date_time("2026-11-18T08:00:00+02:00"),
            true,
        };
        Statement insert("insert into t values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values);
        EXPECT_DONE(db.exec(insert));
        EXPECT_DONE(db.exec(Statement(insert.plain_text(), std::vector<Value>(12))));
        Result<Rows> rows = db.query("select * from t");
        ASSERT_TRUE(rows);
        for (std::size_t at = 0; at < values.size(); ++at) {
            EXPECT_EQ((*rows)[0][at], values[at]) << rows->columns()[at].name;
            EXPECT_TRUE((*rows)[1][at].is_null());
        }
        EXPECT_EQ((*rows)[0].get<std::string>("u"),
                  std::string("6ba7b810-9dad-11d1-80b4-00c04fd430c8"));
        Result<Rows> extremes =
            db.query(sql("select {}, {}, {}", std::numeric_limits<std::int64_t>::max(),
                         Value::bytes({}), std::string("a\0b", 3)));
        ASSERT_TRUE(extremes);
        EXPECT_EQ((*extremes)[0][0].integer(), std::numeric_limits<std::int64_t>::max());
        EXPECT_EQ((*extremes)[0][1].type(), Type::Bytes);
        EXPECT_EQ((*extremes)[0][2].text(), std::string("a\0b", 3));
    });
}

TEST_F(SqliteTest, DAT_6_a_text_that_is_not_utf_8_is_an_error) {
    on_fiber([&] {
        Database db = memory();
        Result<Rows> rows = db.query("select cast(x'ff' as text)");
        ASSERT_FALSE(rows);
        EXPECT_EQ(sqlstate_of(rows.error()), "22021");
        EXPECT_FALSE(db.query(sql("select {}", "\xff")));
        EXPECT_FALSE(db.query(sql("select {}", std::numeric_limits<double>::quiet_NaN())));
    });
}

TEST_F(SqliteTest, DAT_7_one_row_too_many_fails_and_none_is_cut_off) {
    on_fiber([&] {
        Database db = memory();
        Statement rows(
            "with recursive n(x) as (select 1 union all select x + 1 from n limit 129)"
            " select x from n");
        Result<Rows> failed = db.query(rows);
        ASSERT_FALSE(failed);
        EXPECT_EQ(cause_of(failed.error()), Cause::RowLimit);
        EXPECT_EQ(db.query(rows, {.rows_max = 129})->size(), 129U);
        EXPECT_FALSE(db.query(rows, {.rows_max = 0}));
        Result<std::optional<Rows>> first = db.query_one(rows);
        ASSERT_TRUE(first && *first);
        EXPECT_EQ((**first)[0][0].integer(), 1);
    });
}

TEST_F(SqliteTest, DAT_7_one_row_of_a_statement_that_writes_is_told_when_it_has_succeeded) {
    on_fiber([&] {
        Database db = memory();
        EXPECT_DONE(db.exec("create table parents (id integer primary key)"));
        EXPECT_DONE(
            db.exec("create table children (parent integer references parents"
                    " deferrable initially deferred)"));
        // A deferred constraint fails at the end, after the last row.
        Result<std::optional<Rows>> failed =
            db.query_one("insert into children values (7), (8), (9) returning parent");
        ASSERT_FALSE(failed);
        EXPECT_EQ(cause_of(failed.error()), Cause::ForeignKeyViolation);
        EXPECT_EQ((*db.query("select count(*) from children"))[0][0].integer(), 0);
        EXPECT_DONE(db.exec("insert into parents values (7), (8), (9)"));
        EXPECT_DONE(db.query_one("insert into children values (7), (8), (9) returning parent"));
        EXPECT_EQ((*db.query("select count(*) from children"))[0][0].integer(), 3);
    });
}

TEST_F(SqliteTest, DAT_13_what_access_forbids_waits_for_no_connection) {
    on_fiber([&] {
        EXPECT_DONE(open({.path = file()}).exec("create table t (id integer)"));
        DatabaseOptions options{.access = Access::Read, .pool = {.connections_max = 1}};
        Database db = open({.path = file()}, options);
        Result<Lease> only = db.reserve();
        ASSERT_TRUE(only);
        const std::uint64_t acquired = db.stats().acquired;
        std::vector<Statement> statements{"insert into t values (1)"};
        EXPECT_EQ(cause_of(db.exec(statements[0]).error()), Cause::Permission);
        EXPECT_EQ(cause_of(db.batch(statements).error()), Cause::Permission);
        PoolStats stats = db.stats();
        EXPECT_EQ(stats.acquired, acquired);
        EXPECT_EQ(stats.waited + stats.timed_out + stats.refused, 0U);
    });
}

TEST_F(SqliteTest, DAT_1_a_transaction_commits_or_is_undone_and_savepoints_alone) {
    everywhere([&] {
        Database db = memory();
        EXPECT_DONE(db.exec("create table t (id integer)"));
        EXPECT_DONE(db.transaction([&](Transaction& tx) -> Result<void> {
            WEFT_TRY(tx.exec("insert into t values (1)"));
            Result<void> inner = tx.transaction([&](Transaction& nested) -> Result<void> {
                EXPECT_EQ(nested.depth(), 1U);
                // The outer one waits until the inner one has ended.
                EXPECT_FALSE(tx.exec("insert into t values (0)"));
                WEFT_TRY(nested.exec("insert into t values (2)"));
                return Error(ErrorKind::Other, "undo");
            });
            EXPECT_FALSE(inner);
            return tx.transaction([&](Transaction& nested) -> Result<void> {
                WEFT_TRY(nested.exec("insert into t values (3)"));
                return {};
            });
        }));
        EXPECT_EQ(count_of(db, "t"), 2);
        Result<void> failed = db.transaction([&](Transaction& tx) -> Result<void> {
            WEFT_TRY(tx.exec("delete from t"));
            return Error(ErrorKind::Other, "changed my mind");
        });
        EXPECT_EQ(failed.error().message(), "changed my mind");
        EXPECT_EQ(count_of(db, "t"), 2);
        Result<Transaction> left = db.begin();
        ASSERT_TRUE(left);
        EXPECT_DONE(left->exec("delete from t"));
        { Transaction dropped = std::move(*left); }
        EXPECT_EQ(count_of(db, "t"), 2);
        Result<Transaction> over = db.begin();
        EXPECT_DONE(over->commit());
        EXPECT_EQ(cause_of(over->exec("delete from t").error()), Cause::TransactionState);
    });
}

TEST_F(SqliteTest, DAT_1_a_batch_is_done_whole_or_not_at_all) {
    on_fiber([&] {
        Database db = memory();
        EXPECT_DONE(db.exec("create table t (id integer primary key)"));
        std::vector<Statement> good{sql("insert into t values ({})", 1), "select id from t"};
        Result<std::vector<Outcome>> done = db.batch(good);
        ASSERT_TRUE(done);
        EXPECT_EQ((*done)[1].rows.size(), 1U);
        std::vector<Statement> bad{"insert into t values (2)", "insert into t values (1)"};
        Result<std::vector<Outcome>> failed = db.batch(bad);
        ASSERT_FALSE(failed);
        EXPECT_EQ(failed.error().message().substr(0, 12), "statement 2:");
        EXPECT_EQ(cause_of(failed.error()), Cause::UniqueViolation);
        EXPECT_EQ(count_of(db, "t"), 1);
        EXPECT_FALSE(db.batch(bad, {.atomic = false}));
        EXPECT_EQ(count_of(db, "t"), 2);
    });
}

TEST_F(SqliteTest, DAT_8_a_cursor_gives_every_row_and_its_connection_back) {
    on_fiber([&] {
        Database db = memory();
        Statement many(
            "with recursive n(x) as (select 1 union all select x + 1 from n limit 10000)"
            " select x from n");
        Result<Cursor> cursor = db.query_cursor(many);
        ASSERT_TRUE(cursor);
        EXPECT_EQ(cursor->columns()[0].name, "x");
        EXPECT_EQ(cursor->provider(), "sqlite");
        std::int64_t sum = 0;
        for (;;) {
            Result<Rows> rows = cursor->next();
            ASSERT_TRUE(rows);
            if (rows->empty()) break;
            for (Row row : *rows) sum += row[0].integer();
        }
        EXPECT_EQ(sum, 50'005'000);
        EXPECT_EQ(db.stats().in_use, 0U);
        EXPECT_TRUE(cursor->next()->empty());
        Result<Cursor> left = db.query_cursor(many, {.rows_max = 1000});
        EXPECT_EQ(left->next()->size(), kCursorBatchRowsDefault);
        left->close();
        left->close();
        EXPECT_EQ(cause_of(left->next().error()), Cause::Closed);
        EXPECT_EQ(db.stats().in_use, 0U);
        Result<Cursor> capped = db.query_cursor(many, {.rows_max = 300, .batch_rows = 200});
        EXPECT_TRUE(capped->next());
        EXPECT_EQ(cause_of(capped->next().error()), Cause::RowLimit);
        EXPECT_EQ(db.stats().in_use, 0U);
    });
}

TEST_F(SqliteTest, DAT_8_a_cursor_ends_with_its_transaction) {
    on_fiber([&] {
        Database db = memory();
        EXPECT_DONE(db.exec("create table t (id integer)"));
        Result<Transaction> tx = db.begin();
        EXPECT_DONE(tx->exec("insert into t values (1)"));
        Result<Cursor> cursor = tx->query_cursor("select id from t");
        ASSERT_TRUE(cursor);
        EXPECT_EQ(tx->exec("delete from t").error().kind(), ErrorKind::Misuse);
        EXPECT_EQ(tx->commit().error().kind(), ErrorKind::Misuse);
        EXPECT_DONE(tx->rollback());
        EXPECT_TRUE(cursor->is_closed());
        EXPECT_EQ(cause_of(cursor->next().error()), Cause::Closed);
        EXPECT_EQ(count_of(db, "t"), 0);
    });
}

// The sanitizers see the race, if there is one.
TEST_F(SqliteTest, DAT_8_a_cursor_and_its_transaction_may_end_at_the_same_time) {
    on_fiber([&] {
        Database db = memory();
        EXPECT_DONE(db.exec("create table t (id integer)"));
        EXPECT_DONE(db.exec("insert into t values (1), (2)"));
        for (int turn = 0; turn < 200; ++turn) {
            Result<Transaction> tx = db.begin();
            ASSERT_TRUE(tx);
            Result<Cursor> opened = tx->query_cursor("select id from t", {.batch_rows = 1});
            ASSERT_TRUE(opened);
            std::optional<Cursor> cursor(std::move(*opened));
            auto reader = spawn([&] {
                if (turn % 2 == 0) static_cast<void>(cursor->next());
                cursor.reset();
            });
            EXPECT_DONE(tx->rollback());
            EXPECT_TRUE(reader.join());
            EXPECT_EQ(count_of(db, "t"), 2);
        }
        EXPECT_EQ(db.stats().in_use, 0U);
    });
}

TEST_F(SqliteTest, DAT_1_a_text_does_not_end_unnoticed_at_a_NUL) {
    on_fiber([&] {
        Database db = memory();
        std::string text("create table a (i integer);\0create table b (i integer)", 54);
        EXPECT_EQ(cause_of(db.exec(text).error()), Cause::Misuse);
        Result<void> script =
            db.transaction([&](Transaction& tx) -> Result<void> { return tx.run_script(text); });
        EXPECT_EQ(script.error().message(), "sqlite: a statement has a NUL");
        EXPECT_EQ(count_of(db, "a"), -1);
        EXPECT_TRUE(db.query(sql("select {}", std::string("a\0b", 3))));
    });
}

// Another attempt finds the same file.
TEST_F(SqliteTest, DAT_2_a_file_that_is_no_database_is_named_and_no_lost_connection) {
    on_fiber([&] {
        std::ofstream(file("notes.txt")) << std::string(4096, 'x');
        Result<Database> text = open_sqlite({.path = file("notes.txt")});
        ASSERT_FALSE(text);
        EXPECT_EQ(sqlstate_of(text.error()), "XX001");
        Result<Database> nowhere = open_sqlite({.path = file("nowhere/shop.db")});
        ASSERT_FALSE(nowhere);
        EXPECT_EQ(nowhere.error().kind(), ErrorKind::NotFound);
        // A page in the middle is overwritten while nobody has the file open.
        {
            Database db = open({.path = file()});
            EXPECT_DONE(db.exec("create table t (s text)"));
            EXPECT_DONE(db.exec("insert into t values (zeroblob(20000))"));
            EXPECT_DONE(db.close());
        }
        std::fstream(file(), std::ios::in | std::ios::out).seekp(4096) << std::string(4096, 'x');
        Result<Database> opened = open_sqlite({.path = file()});
        ASSERT_TRUE(opened);
        Result<Rows> damaged = opened->query("select * from t");
        ASSERT_FALSE(damaged);
        const std::pair<Error, std::string_view> all[] = {{text.error(), ": notes.txt"},
                                                          {nowhere.error(), ": shop.db"},
                                                          {damaged.error(), ": test.db"}};
        for (const auto& [error, name] : all) {
            EXPECT_FALSE(is_transient(error)) << error.message();
            EXPECT_FALSE(is_connection_lost(error)) << error.message();
            EXPECT_TRUE(error.message().ends_with(name)) << error.message();
        }
    });
}

// Returns "name:type ..." of the first row.
std::string told(const Rows& rows) {
    std::string text;
    for (std::size_t at = 0; at < rows.columns().size(); ++at) {
        const Value& value = rows[0][at];
        text.append(at > 0 ? " " : "").append(rows.columns()[at].name).append(":");
        text.append(to_string(value.type()));
    }
    return text;
}

TEST_F(SqliteTest, DAT_2_statements_see_a_table_that_changed_since_they_were_prepared) {
    struct Change {
        const char* text;
        const char* expected;
    };
    constexpr Change kChanges[] = {
        {"alter table t add column c integer default 3", "a:integer b:text c:integer"},
        {"alter table t drop column a", "b:text c:integer"},
        {"alter table t rename column b to x", "x:text c:integer"},
        {"drop table t", nullptr},
        {"create table t (c json text, x uuid, a text)", nullptr},
        {"insert into t values ('[1]', '6ba7b810-9dad-11d1-80b4-00c04fd430c8', '')",
         "c:json x:uuid a:text"},
    };
    on_fiber([&] {
        for (int round = 0; round < 4; ++round) {
            bool by_another = (round & 1) != 0;
            bool by_cursor = (round & 2) != 0;
            std::string path = file(std::to_string(round));
            Database db = open({.path = path}, {.pool = {.connections_max = 1}});
            EXPECT_DONE(db.exec("create table t (a integer, b text)"));
            EXPECT_DONE(db.exec("insert into t values (1, 'two')"));
            Database other = by_another ? open({.path = path}) : db;
            EXPECT_EQ(told(*db.query("select * from t")), "a:integer b:text");
            for (const Change& change : kChanges) {
                EXPECT_DONE(other.exec(change.text));
                if (!change.expected) continue;
                if (!by_cursor) {
                    EXPECT_EQ(told(*db.query("select * from t")), change.expected);
                    continue;
                }
                Result<Cursor> cursor = db.query_cursor("select * from t");
                ASSERT_TRUE(cursor) << cursor.error().message();
                std::size_t count = cursor->columns().size();
                Result<Rows> rows = cursor->next();
                ASSERT_TRUE(rows) << rows.error().message();
                EXPECT_EQ(count, rows->columns().size());
                EXPECT_EQ(told(*rows), change.expected);
            }
        }
    });
}

TEST_F(SqliteTest, DAT_2c_DAT_9_a_deadline_and_a_cancel_stop_the_statement_and_never_the_next) {
    on_fiber([&] {
        Database db = memory();
        Result<Rows> late = db.query(kEndless, {.timeout = 5ms});
        EXPECT_EQ(late.error().kind(), ErrorKind::TimedOut);
        EXPECT_DONE(db.query("select 1"));
        Result<Rows> over = db.query("select 1", {.timeout = 0s});
        EXPECT_EQ(over.error().kind(), ErrorKind::TimedOut);
        for (int i = 0; i < 50; ++i) {
            CancelSource source;
            Future<void> canceller = spawn([&] {
                for (int n = 0; n < i; ++n) yield();
                source.cancel();
            });
            Result<Rows> rows = db.query(kEndless, {.token = source.token()});
            EXPECT_EQ(rows.error().kind(), ErrorKind::Cancelled);
            // This cancel races with the end of the statement.
            CancelSource other;
            Future<void> late_canceller = spawn([&] { other.cancel(); });
            Result<Rows> quick = db.query("select 1", {.token = other.token()});
            EXPECT_TRUE(quick || quick.error().kind() == ErrorKind::Cancelled);
            EXPECT_DONE(db.query("select count(*) from sqlite_schema"));
            EXPECT_TRUE(canceller.join());
            EXPECT_TRUE(late_canceller.join());
        }
    });
}

TEST_F(SqliteTest, DAT_2_statements_that_wait_for_a_connection_share_the_way_to_its_thread) {
    on_fiber([&] {
        Database db = memory();
        EXPECT_DONE(db.exec("create table t (id integer primary key)"));
        std::vector<Future<void>> all;
        for (std::int64_t id = 1; id <= 500; ++id) {
            all.push_back(spawn([&db, id] {
                EXPECT_DONE(db.exec(sql("insert into t values ({})", id)));
                Result<Outcome> again = db.exec(sql("insert into t values ({})", id));
                EXPECT_EQ(cause_of(again.error()), Cause::UniqueViolation);
                Result<Rows> row = db.query(sql("select id from t where id = {}", id));
                ASSERT_TRUE(row && row->size() == 1);
                EXPECT_EQ((*row)[0][0].integer(), id);
                // What a statement leaves of a transaction or session reaches no other one.
                if (id % 100 == 0) EXPECT_DONE(db.exec("begin"));
                if (id % 100 == 50) EXPECT_DONE(db.exec("pragma query_only = on"));
            }));
        }
        for (Future<void>& one : all) EXPECT_TRUE(one.join());
        EXPECT_EQ(count_of(db, "t"), 500);
        EXPECT_GT(db.stats().statements_shared, 0U);
        // The shared connection is returned when its thread has found no further statement.
        while (db.stats().in_use > 0) yield();
    });
}

TEST_F(SqliteTest, DAT_2_a_cancel_ends_its_own_statement_among_those_that_share_a_connection) {
    on_fiber([&] {
        Database db = memory();
        auto run = [&](std::string_view text, const CancelToken& token) {
            return spawn([&db, text, token] {
                return db.query(Statement(std::string(text)), {.token = token});
            });
        };
        CancelSource first, second, waiting;
        Future<Rows> alone = run(kEndless, first.token());
        while (db.stats().in_use == 0) yield();
        Future<Rows> shared = run(kEndless, second.token());
        Future<Rows> withdrawn = run("select 1", waiting.token());
        Future<Rows> quick = run("select 2", {});
        while (db.stats().waiting == 0) yield();
        waiting.cancel();
        EXPECT_EQ(withdrawn.join().error().kind(), ErrorKind::Cancelled);
        first.cancel();
        EXPECT_EQ(alone.join().error().kind(), ErrorKind::Cancelled);
        // The shared connection has been handed over, and its thread takes the statement.
        while (db.stats().waiting > 0) yield();
        for (int n = 0; n < 1000; ++n) yield();
        second.cancel();
        EXPECT_EQ(shared.join().error().kind(), ErrorKind::Cancelled);
        Result<Rows> two = quick.join();
        ASSERT_TRUE(two) << two.error().message();
        EXPECT_EQ((*two)[0][0].integer(), 2);
    });
}

TEST_F(SqliteTest, DAT_5_a_statement_in_the_queue_waits_as_long_as_for_a_connection) {
    on_fiber([&] {
        DatabaseOptions options;
        options.pool.acquire_timeout = 20ms;
        Database db = open({.path = ":memory:"}, options);
        Result<Transaction> holder = db.begin();
        ASSERT_TRUE(holder);
        Result<Rows> none = db.query("select 1");
        EXPECT_EQ(cause_of(none.error()), Cause::PoolExhausted);
        EXPECT_NE(none.error().message().find("held by transaction for "), std::string::npos)
            << none.error().message();
        EXPECT_EQ(db.query("select 1", {.timeout = 5ms}).error().kind(), ErrorKind::TimedOut);
        EXPECT_DONE(holder->commit());
        EXPECT_DONE(db.query("select 1"));
        Database closed = memory();
        Result<Transaction> another = closed.begin();
        Future<Rows> left = spawn([&] { return closed.query("select 1"); });
        while (closed.stats().waiting == 0) yield();
        Future<void> closing = spawn([&] { return closed.close(Deadline::never()); });
        EXPECT_EQ(cause_of(left.join().error()), Cause::Closed);
        EXPECT_DONE(another->rollback());
        EXPECT_TRUE(closing.join());
    });
}

TEST_F(SqliteTest, DAT_2_a_wait_for_a_lock_parks_only_its_fiber_and_can_be_cancelled) {
    on_fiber([&] {
        DatabaseOptions options;
        Database db = open({.path = file()}, options);
        Database other = open({.path = file(), .busy_timeout = 20ms});
        EXPECT_DONE(db.exec("create table t (id integer)"));
        Result<Transaction> holder = db.begin();
        EXPECT_DONE(holder->exec("insert into t values (1)"));
        // Readers go on in WAL mode.
        EXPECT_EQ(count_of(other, "t"), 0);
        EXPECT_EQ(cause_of(other.exec("insert into t values (2)").error()), Cause::Busy);
        Database patient = open({.path = file(), .busy_timeout = 60s});
        Result<Outcome> late = patient.exec("insert into t values (3)", {.timeout = 5ms});
        EXPECT_EQ(late.error().kind(), ErrorKind::TimedOut);
        Future<void> writer = spawn([&] { EXPECT_DONE(patient.exec("insert into t values (4)")); });
        EXPECT_DONE(holder->commit());
        EXPECT_TRUE(writer.join());
        EXPECT_EQ(count_of(db, "t"), 2);
    });
}

TEST_F(SqliteTest, DAT_11_a_handle_that_may_only_read_cannot_write) {
    on_fiber([&] {
        {
            Database db = open({.path = file()});
            EXPECT_DONE(db.exec("create table t (id integer)"));
        }
        DatabaseOptions reading;
        reading.access = Access::Read;
        Database db = open({.path = file()}, reading);
        EXPECT_EQ(count_of(db, "t"), 0);
        EXPECT_EQ(cause_of(db.exec("insert into t values (1)").error()), Cause::Permission);
        EXPECT_EQ(cause_of(db.query("insert into t values (1) returning id").error()),
                  Cause::ReadOnly);
        EXPECT_FALSE(db.query("pragma user_version = 7"));
        EXPECT_FALSE(open_sqlite({.path = file("missing.db")}, reading));
        DatabaseOptions writing;
        writing.access = Access::Write;
        Database writer = open({.path = file()}, writing);
        EXPECT_DONE(writer.exec("insert into t values (1)"));
        EXPECT_EQ(cause_of(writer.query("select * from t").error()), Cause::Permission);
        Database both = open({.path = file()});
        Result<Transaction> looks = both.begin({.read_only = true});
        EXPECT_EQ(cause_of(looks->exec("delete from t").error()), Cause::ReadOnly);
        EXPECT_DONE(looks->rollback());
        EXPECT_DONE(both.exec("delete from t"));
    });
}

std::string text_of(Database& db, const char* statement) {
    Result<Rows> rows = db.query(statement);
    if (!rows) return std::string(rows.error().message());
    if (rows->empty()) return "no row";
    const Value& value = (*rows)[0][0];
    return value.type() == Type::Integer ? std::to_string(value.integer()) : value.text();
}

TEST_F(SqliteTest, DAT_5_what_statements_change_of_a_session_ends_with_it) {
    on_fiber([&] {
        for (const std::string& path : {file(), std::string(":memory:")}) {
            Database db = open({.path = path}, {.pool = {.connections_max = 1}});
            EXPECT_DONE(db.exec("create table t (name text)"));
            EXPECT_DONE(db.exec("insert into t values ('A')"));
            // Twice: the second time the statements come from the cache, unless it was cleared.
            for (int round = 0; round < 2; ++round) {
                EXPECT_DONE(db.exec("pragma FOREIGN_KEYS = off"));
                EXPECT_EQ(text_of(db, "pragma foreign_keys"), "1");
                EXPECT_DONE(db.exec("pragma case_sensitive_like(on)"));
                EXPECT_EQ(text_of(db, "select count(*) from t where name like 'a'"), "1");
                EXPECT_DONE(db.exec("attach ':memory:' as \"mo\"\"re\""));
                EXPECT_EQ(text_of(db,
                                  "select count(*) from pragma_database_list"
                                  " where name not in ('main', 'temp')"),
                          "0");
                {
                    Result<Lease> lease = db.reserve();
                    for (const char* text :
                         {"create temp table parent (id integer primary key)",
                          "create temp table \"chi\"\"ld\" (id integer references parent (id))",
                          "create temp view seen as select 1 from t",
                          "insert into parent values (1)", "insert into \"chi\"\"ld\" values (1)",
                          "create temp trigger noted after insert on t begin select 1; end"})
                        EXPECT_DONE((*lease)->run(Statement(text), {}));
                }
                EXPECT_EQ(text_of(db, "select count(*) from sqlite_temp_schema"), "0");
                EXPECT_DONE(db.query("pragma query_only = on"));
                EXPECT_DONE(db.exec("update t set name = 'A'"));
                EXPECT_DONE(db.exec("pragma recursive_triggers = on"));
                EXPECT_EQ(text_of(db, "pragma recursive_triggers"), "0");
            }
            EXPECT_EQ(count_of(db, "t"), 1);
        }
    });
}

TEST_F(SqliteTest, DAT_5_what_changes_no_session_keeps_its_connection) {
    on_fiber([&] {
        Database db = open({.path = file()}, {.pool = {.connections_max = 1}});
        EXPECT_DONE(db.exec("create table t (name text)"));
        EXPECT_DONE(db.exec("alter table t rename to u"));
        for (const char* text : {"pragma table_info(u)", "pragma user_version = 7",
                                 "pragma foreign_keys", "pragma wal_checkpoint(passive)",
                                 "select * from pragma_table_info('u')", "select * from u"})
            EXPECT_DONE(db.query(text));
        EXPECT_DONE(db.transaction(
            [](Transaction& tx) -> Result<void> {
                WEFT_TRY(tx.query("select * from u"));
                return {};
            },
            {.read_only = true}));
        EXPECT_EQ(db.stats().opened, 1U);
        EXPECT_EQ(text_of(db, "pragma user_version"), "7");
    });
}

TEST_F(SqliteTest, DAT_5_a_transaction_that_a_statement_ended_leaves_nothing_read_only) {
    on_fiber([&] {
        for (const std::string& path : {file(), std::string(":memory:")}) {
            Database db = open({.path = path}, {.pool = {.connections_max = 1}});
            EXPECT_DONE(db.exec("create table t (id integer)"));
            for (const char* end : {"commit", "rollback"}) {
                Result<Transaction> tx = db.begin({.read_only = true});
                ASSERT_TRUE(tx);
                EXPECT_DONE(tx->exec(end));
                // The transaction has ended, and a further statement would run outside of it.
                EXPECT_FALSE(tx->exec("insert into t values (0)"));
                static_cast<void>(tx->commit());
                EXPECT_DONE(db.exec("insert into t values (1)"));
            }
            EXPECT_EQ(count_of(db, "t"), 2);
            EXPECT_EQ(db.stats().opened, 1U);
        }
    });
}

TEST_F(SqliteTest, DAT_11_what_may_only_read_cannot_allow_itself_to_write) {
    on_fiber([&] {
        DatabaseOptions reading;
        reading.access = Access::Read;
        Database scratch = open({.path = ":memory:"}, reading);
        EXPECT_EQ(cause_of(scratch.query("pragma query_only = off").error()), Cause::Permission);
        EXPECT_EQ(text_of(scratch, "pragma query_only"), "1");
        Database db = open({.path = file()});
        EXPECT_DONE(db.exec("create table t (id integer)"));
        Result<Transaction> tx = db.begin({.read_only = true});
        EXPECT_EQ(cause_of(tx->exec("pragma Query_Only(0)").error()), Cause::Permission);
        EXPECT_EQ(cause_of(tx->exec("insert into t values (1)").error()), Cause::ReadOnly);
    });
}

TEST_F(SqliteTest, DAT_11_a_handle_that_may_only_write_reads_in_no_transaction_either) {
    on_fiber([&] {
        DatabaseOptions writing;
        writing.access = Access::Write;
        Database db = open({.path = file()}, writing);
        EXPECT_DONE(db.exec("create table t (id integer)"));
        Result<Transaction> tx = db.begin();
        ASSERT_TRUE(tx);
        EXPECT_DONE(tx->exec("insert into t values (1)"));
        EXPECT_EQ(cause_of(tx->query("select * from t").error()), Cause::Permission);
        EXPECT_EQ(cause_of(tx->query_one("select * from t").error()), Cause::Permission);
        EXPECT_EQ(cause_of(tx->query_cursor("select * from t").error()), Cause::Permission);
        // The statement is refused; the transaction does not fail.
        EXPECT_DONE(tx->commit());
        Database both = open({.path = file()});
        EXPECT_EQ(count_of(both, "t"), 1);
    });
}

TEST_F(SqliteTest, DAT_10_errors_have_causes_and_quote_no_value) {
    on_fiber([&] {
        Database db = memory();
        EXPECT_DONE(
            db.exec("create table p (id integer primary key, email text unique not null,"
                    " age integer check (age > 0))"));
        EXPECT_DONE(db.exec("create table c (p integer references p (id))"));
        auto failure = [&](const Statement& statement) {
            Result<Outcome> outcome = db.exec(statement);
            EXPECT_FALSE(outcome);
            Error error = outcome ? Error(ErrorKind::Other) : outcome.error();
            EXPECT_EQ(error.message().find("c4n4ry"), std::string::npos) << error.message();
            return cause_of(error);
        };
        EXPECT_DONE(db.exec(sql("insert into p (email) values ({})", "c4n4ry")));
        EXPECT_EQ(failure(sql("insert into p (email) values ({})", "c4n4ry")),
                  Cause::UniqueViolation);
        EXPECT_EQ(failure(sql("insert into p (email) values ({})", nullptr)),
                  Cause::NotNullViolation);
        EXPECT_EQ(failure(sql("insert into p (email, age) values ({}, -1)", "c4n4ry2")),
                  Cause::CheckViolation);
        EXPECT_EQ(failure(sql("insert into c values ({})", 99)), Cause::ForeignKeyViolation);
        EXPECT_EQ(failure("insert into nothing values (1)"), Cause::Syntax);
        EXPECT_EQ(failure(sql("insert into p (email) values (json_extract('{{}}', {}))", "c4n4ry")),
                  Cause::Other);
        EXPECT_EQ(failure("select 1; select 2"), Cause::Syntax);
        EXPECT_EQ(failure(Statement("select ?", {1, 2})), Cause::Syntax);
        EXPECT_EQ(open_sqlite({.path = "/nowhere/c4n4ry/x.db"}).error().message().find("c4n4ry"),
                  std::string::npos);
    });
}

TEST_F(SqliteTest, DAT_2_a_backup_is_the_whole_database) {
    on_fiber([&] {
        Database db = memory();
        EXPECT_DONE(db.exec("create table t (id integer)"));
        EXPECT_DONE(db.exec("insert into t values (1), (2)"));
        EXPECT_DONE(backup_sqlite(db, file("copy.db")));
        Database copy = open({.path = file("copy.db")});
        EXPECT_EQ(count_of(copy, "t"), 2);
        EXPECT_FALSE(backup_sqlite(db, "/nowhere/x.db"));
    });
}

// Uses SQLite's own limit, which fails in the same place as a full disk.
TEST_F(SqliteTest, DAT_2_a_full_database_fails_the_statement_and_stays_whole) {
    on_fiber([&] {
        Database db = memory();
        EXPECT_DONE(db.exec("create table t (x blob)"));
        EXPECT_DONE(db.exec("insert into t values (zeroblob(100000))"));
        EXPECT_DONE(db.query("pragma max_page_count = 40"));
        Result<Outcome> full = db.exec("insert into t values (zeroblob(1000000))");
        ASSERT_FALSE(full);
        EXPECT_EQ(cause_of(full.error()), Cause::Resources) << full.error().message();
        // In a transaction everything is undone, and the handle stays usable.
        Result<void> undone = db.transaction([&](Transaction& tx) -> Result<void> {
            WEFT_TRY(tx.exec("delete from t"));
            WEFT_TRY(tx.exec("insert into t values (zeroblob(1000000))"));
            return {};
        });
        EXPECT_EQ(cause_of(undone.error()), Cause::Resources);
        EXPECT_EQ(count_of(db, "t"), 1);
        EXPECT_EQ(db.stats().in_use, 0U);
        EXPECT_DONE(db.exec("delete from t"));
        EXPECT_DONE(db.exec("insert into t values (zeroblob(1000))"));
        Result<Rows> sound = db.query("pragma integrity_check");
        ASSERT_TRUE(sound);
        EXPECT_EQ((*sound)[0].get<std::string>(0), std::string("ok"));
    });
}

TEST_F(SqliteTest, DAT_2_files_are_in_wal_mode_and_memory_lives_as_long_as_its_handle) {
    on_fiber([&] {
        Database db = open({.path = file()});
        Result<Rows> mode = db.query("pragma journal_mode");
        EXPECT_EQ((*mode)[0][0].text(), "wal");
        DatabaseOptions options;
        options.pool.idle_timeout = 1ms;
        options.pool.lifetime_max = 1ms;
        Database kept = open({.path = ":memory:"}, options);
        EXPECT_DONE(kept.exec("create table t (id integer)"));
        for (int i = 0; i < 100; ++i) EXPECT_EQ(count_of(kept, "t"), 0);
        EXPECT_EQ(kept.stats().opened, 1U);
    });
}

}  // namespace
}  // namespace weft::data
