#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/data/postgres_fixture.h"
#include "weft/data/failure.h"

namespace weft::data::testing {
namespace {

class PostgresTypes : public PostgresTest {};

Value bytes_of(std::string_view text) { return Value::bytes(as_bytes(text)); }

// A value goes to the server and comes back the same, whatever the form of the rows.
const std::vector<std::pair<Value, std::string>>& round_trips() {
    static const std::vector<std::pair<Value, std::string>> all = {
        {Value(true), "boolean"},
        {Value(-32768), "smallint"},
        {Value(2147483647), "integer"},
        {Value(std::numeric_limits<std::int64_t>::min()), "bigint"},
        {Value(std::numeric_limits<std::int64_t>::max()), "bigint"},
        {Value(0.1), "double precision"},
        {Value(std::numeric_limits<double>::denorm_min()), "double precision"},
        {Value(std::numeric_limits<double>::infinity()), "double precision"},
        {Value(1.5), "real"},
        {Value::decimal("12345678901234567890.000100").value(), "numeric"},
        {Value::decimal("-0.00007").value(), "numeric"},
        {Value::decimal("10000").value(), "numeric"},
        {Value::decimal("0").value(), "numeric"},
        {Value::decimal("0.00").value(), "numeric"},
        {Value("grüße \"\\' {},NULL \n"), "text"},
        {Value(""), "text"},
        {bytes_of(std::string("\0\xff\\x", 4)), "bytea"},
        {bytes_of(""), "bytea"},
        {Value::json("{\"a\": [1, null]}").value(), "jsonb"},
        {Value::json("{ \"a\":1 , \"a\":2}").value(), "json"},
        {Value::uuid("6ba7b810-9dad-11d1-80b4-00c04fd430c8").value(), "uuid"},
        {Value::date("2000-02-29").value(), "date"},
        {Value::date("0001-01-01").value(), "date"},
        {Value::date("9999-12-31").value(), "date"},
        {Value::time("23:59:59.123456").value(), "time"},
        {Value::timestamp("1969-12-31T23:59:59.5").value(), "timestamp"},
        {Value::timestamp("0001-01-01T00:00:00").value(), "timestamp"},
        {Value::instant("2026-11-18T23:59:59.000001Z").value(), "timestamptz"},
        {Value::array({}), "text[]"},
        {Value::array({Value("a"), Value(), Value("NULL"), Value("q\"u\\o,t}e"), Value("")}),
         "text[]"},
        {Value::array({Value(1), Value(), Value(3)}), "bigint[]"},
        {Value::array({Value::array({Value(1), Value(2)}), Value::array({Value(), Value(4)})}),
         "integer[]"},
        {Value::array({Value(0.5), Value(-1.25)}), "double precision[]"},
        {Value::array({bytes_of("a\\"), bytes_of("")}), "bytea[]"},
        {Value::array({Value::date("2026-11-18").value()}), "date[]"},
        {Value::array({Value::decimal("1.50").value()}), "numeric[]"},
        {Value::array({Value::json("[\"x\"]").value(), Value()}), "jsonb[]"},
        {Value(), "text"},
    };
    return all;
}

TEST_F(PostgresTypes, DAT_6_values_come_back_as_they_went_in) {
    run([&]() -> Result<void> {
        for (bool prepare : {true, false}) {
            auto connection =
                WEFT_TRY(connect({.connection_string = server->local(), .prepare = prepare}));
            WEFT_TRY(connection->run("set timezone = 'America/St_Johns'", kAnyRows));
            for (const auto& [value, type] : round_trips()) {
                Statement cast = sql("select {}::{} as v", value, Statement(type));
                EXPECT_EQ(ask(*connection, cast), value) << type << (prepare ? "" : " unprepared");
                // As text, because of a column whose type is not known.
                Statement mixed =
                    sql("select {}::{} as v, '1 day'::interval as i", value, Statement(type));
                Outcome outcome = WEFT_TRY(connection->run(mixed, kAnyRows));
                EXPECT_EQ(outcome.rows[0][0], value) << type << " beside an interval";
                EXPECT_EQ(outcome.rows[0][1], Value("1 day"));
            }
        }
        return {};
    });
}

TEST_F(PostgresTypes, DAT_6_open_parameters_have_the_types_of_their_values) {
    run([&]() -> Result<void> {
        auto connection = WEFT_TRY(connect());
        for (const auto& [value, type] : round_trips()) {
            // JSON is jsonb, and written anew.
            if (type == "json") continue;
            EXPECT_EQ(ask(*connection, sql("select {}", value)), value) << type;
        }
        // The same text with another kind of value.
        EXPECT_EQ(ask(*connection, sql("select {}", 7)), Value(7));
        EXPECT_EQ(ask(*connection, sql("select {}", "7")), Value("7"));
        return {};
    });
}

TEST_F(PostgresTypes, DAT_6_numbers_fit_where_the_statement_wants_them) {
    run([&]() -> Result<void> {
        auto connection = WEFT_TRY(connect());
        EXPECT_EQ(ask(*connection, sql("select substr('abc', {})", 2)), Value("bc"));
        EXPECT_EQ(ask(*connection, sql("select date '2026-11-18' + {}::int", 3)),
                  Value::date("2026-11-21").value());
        EXPECT_EQ(ask(*connection, sql("select {}::numeric", 5)), Value::decimal("5").value());
        EXPECT_EQ(ask(*connection, sql("select 2 = any({})", Value::array({Value(1), Value(2)}))),
                  Value(true));
        auto large = ask(*connection, sql("select {}::int", 3'000'000'000));
        EXPECT_EQ(cause_of(large.error()), Cause::InvalidValue);
        EXPECT_EQ(ask(*connection, "select 4294967295::oid"), Value(4294967295));
        return {};
    });
}

TEST_F(PostgresTypes, DAT_6_an_array_for_json_is_a_json_array) {
    run([&]() -> Result<void> {
        auto connection = WEFT_TRY(connect());
        Value items = Value::array({Value(1), Value("a\"b"), Value(), Value(true),
                                    Value::array({Value::json("{\"c\": 2}").value()})});
        EXPECT_EQ(ask(*connection, sql("select {}::jsonb", items)),
                  Value::json("[1, \"a\\\"b\", null, true, [{\"c\": 2}]]").value());
        return {};
    });
}

TEST_F(PostgresTypes, DAT_6_what_would_be_lost_without_a_word_is_refused) {
    run([&]() -> Result<void> {
        auto connection = WEFT_TRY(connect());
        // Up to the NUL would be stored.
        auto nul = ask(*connection, sql("select {}::text", std::string("a\0b", 3)));
        EXPECT_EQ(sqlstate_of(nul.error()), "22021");
        auto nul_as_date =
            ask(*connection, sql("select {}::date", std::string("2026-01-01\0", 11)));
        EXPECT_EQ(sqlstate_of(nul_as_date.error()), "22021");
        auto fine = ask(*connection,
                        sql("select {}", Value::timestamp("2026-01-01T00:00:00.1234567").value()));
        EXPECT_EQ(sqlstate_of(fine.error()), "22008");
        auto offset =
            ask(*connection, sql("select {}::timestamp",
                                 Value::offset_date_time("2026-01-01T00:00:00+02:00").value()));
        EXPECT_FALSE(offset);
        auto bytes = ask(*connection, sql("select {}::int", bytes_of("1")));
        EXPECT_EQ(bytes.error().kind(), ErrorKind::Misuse);
        EXPECT_EQ(connection->state(), ConnectionState::Idle);
        EXPECT_EQ(ask(*connection, "select 1"), Value(1));
        return {};
    });
}

TEST_F(PostgresTypes, DAT_6_extremes_have_a_text) {
    run([&]() -> Result<void> {
        auto connection = WEFT_TRY(connect());
        const std::pair<const char*, const char*> cases[] = {
            {"'infinity'::date", "infinity"},
            {"'-infinity'::timestamptz", "-infinity"},
            {"'0044-03-15 BC'::date", "0044-03-15 BC"},
            {"'294276-12-31 23:59:59.999999'::timestamp", "294276-12-31T23:59:59.999999"},
            {"'4713-01-01 00:00:00 BC'::timestamp", "4713-01-01T00:00:00 BC"},
            {"'24:00:00'::time", "24:00:00"},
            {"'NaN'::numeric", "NaN"},
        };
        for (const auto& [expression, expected] : cases) {
            Value value = WEFT_TRY(ask(*connection, std::string("select ") + expression));
            EXPECT_EQ(value.text(), expected) << expression;
        }
        Value large = WEFT_TRY(ask(*connection, "select 1e130::numeric + 0.5"));
        EXPECT_EQ(large.text(), "1" + std::string(130, '0') + ".5");
        Value nan = WEFT_TRY(ask(*connection, "select 'NaN'::float8"));
        EXPECT_TRUE(std::isnan(nan.real()));
        return {};
    });
}

}  // namespace
}  // namespace weft::data::testing
