// The cases of cases.json in C++, for each provider that is there.
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/data/odbc_fixture.h"
#include "tests/data/postgres_fixture.h"
#include "weft/app/config.h"
#include "weft/app/json_text.h"
#include "weft/data/database.h"
#include "weft/data/postgres/postgres.h"
#include "weft/data/sqlite/sqlite.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/testing/scale.h"

namespace weft::data {
namespace {

using app::JsonValue;

const JsonValue* member(const JsonValue& object, std::string_view name) {
    auto found = std::ranges::find(object.keys, name);
    if (found == object.keys.end()) return nullptr;
    return &object.items[static_cast<std::size_t>(found - object.keys.begin())];
}

Value bytes_of(const std::string& digits) {
    std::vector<std::byte> bytes;
    for (std::size_t at = 0; at + 1 < digits.size(); at += 2) {
        unsigned byte = 0;
        std::from_chars(digits.data() + at, digits.data() + at + 2, byte, 16);
        bytes.push_back(static_cast<std::byte>(byte));
    }
    return Value::bytes(bytes);
}

Value value_of(const JsonValue& json, const JsonValue* returns = nullptr) {
    switch (json.kind) {
    case JsonValue::Kind::Null: return {};
    case JsonValue::Kind::Boolean: return json.flag;
    case JsonValue::Kind::String: return json.text;
    case JsonValue::Kind::Number:
        if (json.text.find('.') != std::string::npos) return json.number;
        return static_cast<std::int64_t>(json.number);
    default: break;
    }
    const std::string& type = json.keys.at(0);
    const std::string& text = json.items.at(0).text;
    // A driver that does not tell the type gives the text.
    if (returns && member(*returns, type)) return text;
    if (type == "integer") return std::int64_t{std::stoll(text)};
    if (type == "decimal") return *Value::decimal(text);
    if (type == "uuid") return *Value::uuid(text);
    if (type == "date") return *Value::date(text);
    if (type == "timestamp") return *Value::timestamp(text);
    if (type == "json") return *Value::json(text);
    return bytes_of(text);
}

// One case in a database of its own.
class Runner {
public:
    Runner(Database database, const JsonValue& types, const JsonValue* returns)
        : database_(std::move(database)), types_(types), returns_(returns) {}

    void run(const JsonValue& steps) {
        for (const JsonValue& step : steps.items) take(step);
        EXPECT_TRUE(open_.empty());
        EXPECT_EQ(database_.stats().in_use, 0U);
        end();
    }

private:
    static std::string place_of(const JsonValue& step) {
        return "line " + std::to_string(step.place.line) + ": ";
    }

    // What is over before it begins reaches no database, and what is closed takes nothing.
    void end() {
        CancelSource source;
        source.cancel();
        EXPECT_EQ(cause_of(database_.query("select 1", {.token = source.token()}).error()),
                  Cause::Cancelled);
        EXPECT_EQ(cause_of(database_.query("select 1", {.timeout = Nanoseconds::zero()}).error()),
                  Cause::TimedOut);
        EXPECT_TRUE(database_.close());
        EXPECT_EQ(cause_of(database_.query("select 1").error()), Cause::Closed);
        EXPECT_EQ(cause_of(database_.query_cursor("select 1").error()), Cause::Closed);
        EXPECT_EQ(cause_of(database_.begin().error()), Cause::Closed);
    }

    void take(const JsonValue& step) {
        const std::string& act = step.keys.at(0);
        if (act == "begin") {
            Result<Transaction> begun = open_.empty() ? database_.begin() : open_.back().begin();
            ASSERT_TRUE(begun) << place_of(step) << begun.error().message();
            open_.push_back(std::move(*begun));
        } else if (act == "commit" || act == "rollback") {
            ASSERT_FALSE(open_.empty()) << place_of(step);
            Result<void> ended = act == "commit" ? open_.back().commit() : open_.back().rollback();
            EXPECT_TRUE(ended) << place_of(step) << ended.error().message();
            open_.pop_back();
        } else {
            Result<Outcome> outcome =
                open_.empty() ? act_on(database_, step) : act_on(open_.back(), step);
            compare(step, outcome);
        }
    }

    template <class Owner>
    Result<Outcome> act_on(Owner& owner, const JsonValue& step) {
        if (step.keys[0] == "batch") return run_batch(owner, step.items[0]);
        Statement statement = statement_of(step);
        if (step.keys[0] == "exec") return owner.exec(statement);
        QueryOptions options;
        const JsonValue* most = member(step, "maxRows");
        if (most) options.rows_max = static_cast<std::uint32_t>(most->number);
        if (step.keys[0] == "cursor" || step.keys[0] == "leave") {
            CursorOptions bounds;
            if (most) bounds.rows_max = options.rows_max;
            return read_cursor(owner, statement, bounds, step.keys[0] == "leave");
        }
        Outcome outcome;
        if (step.keys[0] == "query") {
            outcome.rows = WEFT_TRY(owner.query(statement, options));
        } else {
            std::optional<Rows> one = WEFT_TRY(owner.query_one(statement, options));
            if (one) outcome.rows = std::move(*one);
        }
        return outcome;
    }

    template <class Owner>
    Result<Outcome> run_batch(Owner& owner, const JsonValue& texts) {
        std::vector<Statement> statements;
        for (const JsonValue& text : texts.items) statements.emplace_back(spelled(text.text));
        std::vector<Outcome> outcomes = WEFT_TRY(owner.batch(statements));
        Outcome all;
        for (const Outcome& one : outcomes) all.affected_rows += one.affected_rows;
        return all;
    }

    // Two rows at a time, to the end; or one, behind which it is left.
    template <class Owner>
    Result<Outcome> read_cursor(Owner& owner, const Statement& statement, CursorOptions options,
                                bool leaves) {
        options.batch_rows = leaves ? 1 : 2;
        Cursor cursor = WEFT_TRY(owner.query_cursor(statement, options));
        Outcome outcome;
        for (bool is_first = true;; is_first = false) {
            Rows rows = WEFT_TRY(cursor.next());
            if (is_first) outcome.rows = Rows(rows.shared_columns());
            if (rows.empty()) return outcome;
            for (Row row : rows) {
                for (const Value& value : row.values()) outcome.rows.add_value(value);
                outcome.rows.end_row();
            }
            if (!leaves) continue;
            cursor.close();
            EXPECT_EQ(cause_of(cursor.next().error()), Cause::Closed);
            return outcome;
        }
    }

    std::string spelled(std::string text) const {
        for (std::size_t at = 0; at < types_.keys.size(); ++at) {
            const std::string& word = types_.keys[at];
            for (std::size_t found = 0; (found = text.find(word, found)) != std::string::npos;)
                text.replace(found, word.size(), types_.items[at].text);
        }
        return text;
    }

    Statement statement_of(const JsonValue& step) const {
        std::string text = spelled(step.items[0].text);
        Statement statement;
        std::size_t begin = 0;
        if (const JsonValue* values = member(step, "values")) {
            for (const JsonValue& value : values->items) {
                std::size_t gap = text.find("{}", begin);
                statement.add_text(std::string_view(text).substr(begin, gap - begin));
                statement.add_parameter(value_of(value));
                begin = gap + 2;
            }
        }
        statement.add_text(std::string_view(text).substr(begin));
        return statement;
    }

    void compare(const JsonValue& step, const Result<Outcome>& outcome) const {
        SCOPED_TRACE(place_of(step));  // of this thread: nothing below may wait
        if (const JsonValue* error = member(step, "error")) {
            ASSERT_FALSE(outcome);
            EXPECT_EQ(to_string(cause_of(outcome.error())), error->text)
                << outcome.error().message();
            return;
        }
        ASSERT_TRUE(outcome) << outcome.error().message();
        if (const JsonValue* affected = member(step, "affected")) {
            EXPECT_EQ(outcome->affected_rows, static_cast<std::uint64_t>(affected->number));
        }
        if (const JsonValue* columns = member(step, "columns")) {
            ASSERT_EQ(outcome->rows.columns().size(), columns->items.size());
            for (std::size_t at = 0; at < columns->items.size(); ++at)
                EXPECT_EQ(outcome->rows.columns()[at].name, columns->items[at].text);
        }
        if (const JsonValue* rows = member(step, "rows")) compare_rows(*rows, outcome->rows);
    }

    void compare_rows(const JsonValue& expected, const Rows& rows) const {
        ASSERT_EQ(rows.size(), expected.items.size());
        for (std::size_t row = 0; row < rows.size(); ++row) {
            ASSERT_EQ(rows[row].size(), expected.items[row].items.size());
            for (std::size_t at = 0; at < rows[row].size(); ++at)
                EXPECT_EQ(rows[row][at], value_of(expected.items[row].items[at], returns_))
                    << "row " << row << ", column " << at << ": "
                    << to_string(rows[row][at].type());
        }
    }

    Database database_;
    const JsonValue& types_;
    const JsonValue* returns_;
    std::vector<Transaction> open_;
};

// What the cases that have run have shown: whether they hold, by provider and case.
std::map<std::string, std::map<std::string, bool>, std::less<>>& results() {
    static std::map<std::string, std::map<std::string, bool>, std::less<>> all;
    return all;
}

// Each case with a database of its own, which `open` gives for its number.
template <class Open>
void run_cases(std::string_view provider, Open open) {
    std::string text = *app::read_text(WEFT_CASES);
    auto root = app::read_json(text);
    ASSERT_TRUE(root.has_value()) << root.error().message;
    const JsonValue& types = *member(*member(*root, "types"), provider);
    const JsonValue* returns = member(*member(*root, "returns"), provider);
    Runtime runtime({.workers = 2});
    std::size_t count = 0;
    for (const JsonValue& one : member(*root, "cases")->items) {
        SCOPED_TRACE(member(one, "name")->text);
        auto ran = runtime
                       .spawn([&] {
                           Result<Database> database = open(count);
                           ASSERT_TRUE(database) << database.error().message();
                           Runner(std::move(*database), types, returns).run(*member(one, "steps"));
                       })
                       .join();
        EXPECT_TRUE(ran);
        bool& holds = results()[std::string(provider)]
                          .try_emplace(member(one, "name")->text, true)
                          .first->second;
        holds = holds && !::testing::Test::HasFailure();
        ++count;
    }
    EXPECT_GE(count, 8U);
}

// The cells of the rows of the table in docs/data/conformance.md, by the first of each row.
std::map<std::string, std::vector<std::string>> documented() {
    std::ifstream page(WEFT_CONFORMANCE_PAGE);
    std::map<std::string, std::vector<std::string>> rows;
    for (std::string line; std::getline(page, line);) {
        if (!line.starts_with("| ")) continue;
        std::vector<std::string> cells;
        for (std::size_t at = 2; at < line.size();) {
            std::size_t end = std::min(line.find(" |", at), line.size());
            cells.push_back(line.substr(at, end - at));
            at = end + 3;
        }
        rows[cells.at(0)] = cells;
    }
    return rows;
}

// The types that a provider's driver does not tell, so that their values come back as text.
std::string told_as_text(const JsonValue& root, std::string_view provider) {
    const JsonValue* returns = member(*member(root, "returns"), provider);
    if (!returns) return "none";
    std::string types;
    for (const std::string& type : returns->keys) types += (types.empty() ? "" : ", ") + type;
    return types;
}

// What the process has in memory, in MiB.
double resident_mib() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmRSS:")) return std::strtod(line.c_str() + 6, nullptr) / 1024;
    }
    return 0;
}

// A report of a stall would take memory for the symbols of the program.
RuntimeOptions without_reports() { return {.stall_report = {}}; }

// Reads a million rows of a cursor. The first tenth may fill what is kept for the next.
Result<void> read_a_million(Database database, const char* text) {
    // The address sanitizer keeps what was freed for a while.
    constexpr double kGrowthMaxMib = weft::testing::kSanitizer ? 400 : 8;
    Cursor cursor = WEFT_TRY(database.query_cursor(text));
    std::size_t count = 0;
    double early = 0;
    for (;;) {
        Rows rows = WEFT_TRY(cursor.next());
        if (rows.empty()) break;
        count += rows.size();
        if (early == 0 && count > 100'000) early = resident_mib();
    }
    EXPECT_EQ(count, 1'000'000U);
    EXPECT_GT(early, 0);
    EXPECT_LT(resident_mib() - early, kGrowthMaxMib);
    return {};
}

TEST(Cursors, DAT_8b_memory_stays_flat_over_a_million_rows_of_sqlite) {
    Result<void> read = weft::run(
        [&]() -> Result<void> {
            return read_a_million(
                WEFT_TRY(open_sqlite({.path = ":memory:"})),
                "with recursive n(x) as (select 1 union all select x + 1 from n where x < 1000000) "
                "select x, 'a row of some length, number ' || x from n");
        },
        without_reports());
    EXPECT_TRUE(read) << (read ? "" : read.error().message());
}

TEST(Conformance, DAT_1_every_case_holds_for_sqlite) {
    run_cases("sqlite", [](std::size_t) { return open_sqlite({.path = ":memory:"}); });
}

#ifdef WEFT_HAS_POSTGRES
TEST(Cursors, DAT_8b_memory_stays_flat_over_a_million_rows_of_postgres) {
    auto& server = testing::PostgresServer::get();
    Result<void> read = weft::run(
        [&]() -> Result<void> {
            return read_a_million(WEFT_TRY(open_postgres({.connection_string = server.local()})),
                                  "select x, 'a row of some length, number ' || x from "
                                  "generate_series(1, 1000000) x");
        },
        without_reports());
    EXPECT_TRUE(read) << (read ? "" : read.error().message());
}

TEST(Conformance, DAT_1_every_case_holds_for_postgres) {
    auto& server = testing::PostgresServer::get();
    run_cases("postgres", [&](std::size_t number) -> Result<Database> {
        std::string schema = "case_" + std::to_string(number);
        Database maker = WEFT_TRY(open_postgres({.connection_string = server.local()}));
        WEFT_TRY(maker.exec(Statement("create schema " + schema)));
        return open_postgres(
            {.connection_string = server.local("options='-c search_path=" + schema + "'")});
    });
}

// With `prepare = false`: what is prepared in one session is not there in the next.
TEST(Conformance, DAT_1_every_case_holds_for_postgres_behind_pgbouncer) {
    auto& server = testing::PostgresServer::get();
    if (server.pooled("postgres").empty())
        GTEST_SKIP() << "UNAVAILABLE: pgbouncer is not installed";
    run_cases("postgres", [&](std::size_t number) -> Result<Database> {
        std::string name = "pooled_" + std::to_string(number);
        Database maker = WEFT_TRY(open_postgres({.connection_string = server.local()}));
        WEFT_TRY(maker.exec(Statement("create database " + name)));
        return open_postgres({.connection_string = server.pooled(name), .prepare = false});
    });
}

TEST(Conformance, DAT_3_many_callers_share_connections_behind_pgbouncer) {
    auto& server = testing::PostgresServer::get();
    if (server.pooled("postgres").empty())
        GTEST_SKIP() << "UNAVAILABLE: pgbouncer is not installed";
    Result<void> outcome = weft::run([&]() -> Result<void> {
        DatabaseOptions options;
        options.pool.connections_max = 2;
        Database database = WEFT_TRY(open_postgres(
            {.connection_string = server.pooled("postgres"), .prepare = false}, options));
        auto number = [](std::int64_t value) { return sql("select {}::bigint", value); };
        WEFT_TRY(database.query(number(0)));
        std::vector<Future<bool>> callers;
        for (std::int64_t caller = 0; caller < 20; ++caller) {
            callers.push_back(spawn([&, caller]() -> Result<bool> {
                for (std::int64_t turn = 0; turn < 20; ++turn) {
                    std::int64_t mine = caller * 100 + turn;
                    Rows rows = WEFT_TRY(database.query(number(mine)));
                    if (rows[0][0] != Value(mine)) return false;
                }
                return true;
            }));
        }
        for (auto& caller : callers) EXPECT_TRUE(WEFT_TRY(caller.join()));
        EXPECT_GT(database.stats().statements_shared, 0U);
        return {};
    });
    EXPECT_TRUE(outcome) << (outcome ? "" : outcome.error().message());
}
#endif

TEST(Conformance, DAT_4_every_case_holds_for_sqlite_by_odbc) {
    if (!testing::kOdbcSqlite) GTEST_SKIP() << "UNAVAILABLE: libsqliteodbc is not installed";
    testing::OdbcFiles files;
    run_cases("odbc-sqlite", [&](std::size_t) { return open_odbc({files.next()}); });
}

TEST(Conformance, DAT_4_every_case_holds_for_postgres_by_odbc) {
    if (!testing::kOdbcPostgres) GTEST_SKIP() << "UNAVAILABLE: odbc-postgresql, postgresql";
    run_cases("odbc-postgres", [](std::size_t number) -> Result<Database> {
        std::string schema = "odbc_case_" + std::to_string(number);
        Database maker = WEFT_TRY(open_odbc({testing::odbc_postgres()}));
        WEFT_TRY(maker.exec(Statement("create schema " + schema)));
        return open_odbc({testing::odbc_postgres("options='-c search_path=" + schema + "'")});
    });
}

TEST(Conformance, DAT_4_every_case_holds_for_mariadb_by_odbc) {
    if (!testing::kOdbcMariaDb) GTEST_SKIP() << "UNAVAILABLE: odbc-mariadb, mariadb-server";
    run_cases("odbc-mariadb", [](std::size_t number) -> Result<Database> {
        std::string name = "case_" + std::to_string(number);
        Database maker = WEFT_TRY(open_odbc({testing::odbc_mariadb("shop")}));
        WEFT_TRY(maker.exec(Statement("create database " + name)));
        return open_odbc({testing::odbc_mariadb(name)});
    });
}

// By FreeTDS, against a double.
TEST(Conformance, DAT_4_every_case_holds_for_tds_by_odbc) {
    if (!testing::kOdbcTds) GTEST_SKIP() << "UNAVAILABLE: tdsodbc is not installed";
    run_cases("odbc-tds", [](std::size_t number) {
        return open_odbc({testing::odbc_tds("case_" + std::to_string(number))});
    });
}

// WEFT_MSSQL_DSN is a connection string of an empty database, in which the cases run in turn.
TEST(Conformance, DAT_4_every_case_holds_for_sql_server) {
    const char* place = std::getenv("WEFT_MSSQL_DSN");
    if (!place) GTEST_SKIP() << "UNAVAILABLE: WEFT_MSSQL_DSN is not set";
    run_cases("odbc-tds", [&](std::size_t) -> Result<Database> {
        Database database = WEFT_TRY(open_odbc({place}));
        for (const char* table : {"c", "p", "t"})
            WEFT_TRY(database.exec(Statement(std::string("drop table if exists ") + table)));
        return database;
    });
}

// Runs last, so that it compares with every provider that has run in this process.
TEST(Conformance, DAT_1_the_table_of_the_documentation_is_what_the_cases_have_shown) {
    std::string text = *app::read_text(WEFT_CASES);
    JsonValue root = *app::read_json(text);
    auto rows = documented();
    const std::vector<std::string>& head = rows["case"];
    const std::vector<std::string>& texts = rows["types that come back as text"];
    ASSERT_EQ(head.size(), member(root, "types")->keys.size() + 1) << "a column for each provider";
    EXPECT_EQ(rows.size(), member(root, "cases")->items.size() + 3) << "a row for each case";
    for (std::size_t at = 1; at < head.size(); ++at) {
        EXPECT_TRUE(member(*member(root, "types"), head[at])) << head[at];
        EXPECT_EQ(texts.at(at), told_as_text(root, head[at])) << head[at];
        for (const JsonValue& one : member(root, "cases")->items) {
            const std::string& name = member(one, "name")->text;
            ASSERT_EQ(rows[name].size(), head.size()) << name;
            auto ran = results().find(head[at]);
            if (ran == results().end()) continue;
            EXPECT_EQ(rows[name][at], ran->second.at(name) ? "yes" : "no") << name << head[at];
        }
    }
}

}  // namespace
}  // namespace weft::data
