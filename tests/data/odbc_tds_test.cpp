// What only the double can be asked for: every scalar type of TDS, and how a driver prepares.
#include <gtest/gtest.h>

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "tests/data/odbc_databases.h"

namespace weft::data::testing {
namespace {

class OdbcTds : public ::testing::Test {
protected:
    void SetUp() override {
        if (!kOdbcTds) GTEST_SKIP() << "UNAVAILABLE: tdsodbc is not installed";
    }
    template <class Body>
    void run(Body body) {
        Result<void> outcome = weft::run([&]() -> Result<void> {
            Database db = WEFT_TRY(open_odbc({.connection_string = odbc_tds("tds")},
                                             {.pool = {.connections_max = 1}}));
            return body(db);
        });
        EXPECT_TRUE(outcome) << (outcome ? "" : outcome.error().message());
    }
};

TEST_F(OdbcTds, DAT_6_every_scalar_type_of_TDS_is_read_exactly) {
    run([](Database& db) -> Result<void> {
        WEFT_TRY(db.exec(
            "create table every (a tinyint, b smallint, c int, d bigint, e bit, f float, g money, "
            "h decimal(38, 10), i uniqueidentifier, j date, k time(7), l datetime2(7), m "
            "datetime2(0),"
            " n datetime, o datetimeoffset(7), p nvarchar(max), q varbinary(max))"));
        WEFT_TRY(db.exec(
            "insert into every values (255, -32768, -2147483648, -9223372036854775808, 1, 0.1, "
            "'-12.3456', '1234567890123456789012345678.0123456789', "
            "'6ba7b810-9dad-11d1-80b4-00c04fd430c8', '0001-01-01', '23:59:59.1234567', "
            "'9999-12-31T23:59:59.9999999', '2024-02-29T00:00:00', '1900-01-01T00:00:00', "
            "'2026-11-18T01:30:00.5+02:00', 'naïve 🌱', x'00ff')"));
        WEFT_TRY(db.exec("insert into every (a) values (null)"));
        Rows rows = WEFT_TRY(db.query("select * from every order by a desc"));
        if (rows.size() != 2) return Error(ErrorKind::Other, "not two rows");
        const std::vector<Value> expected = {
            255,
            -32768,
            std::int64_t{-2147483648},
            std::numeric_limits<std::int64_t>::min(),
            true,
            0.1,
            *Value::decimal("-12.3456"),
            *Value::decimal("1234567890123456789012345678.0123456789"),
            *Value::uuid("6ba7b810-9dad-11d1-80b4-00c04fd430c8"),
            *Value::date("0001-01-01"),
            *Value::time("23:59:59.1234567"),
            *Value::timestamp("9999-12-31T23:59:59.9999999"),
            *Value::timestamp("2024-02-29T00:00:00"),
            *Value::timestamp("1900-01-01T00:00:00"),
            *Value::offset_date_time("2026-11-18T01:30:00.5+02:00"),
            "naïve 🌱",
            Value::bytes(std::as_bytes(std::span("\0\xff", 2))),
        };
        for (std::size_t at = 0; at < expected.size(); ++at) {
            const Value& found = rows[0][at];
            EXPECT_EQ(found, expected[at]) << at << " " << to_string(found.type()) << " "
                                           << (found.is_textual() ? found.text() : std::string());
            EXPECT_TRUE(rows[1][at].is_null());
        }
        return {};
    });
}

// FreeTDS prepares anew when parameters are bound anew, and leaves nothing behind at the server.
TEST_F(OdbcTds, DAT_4_what_is_prepared_is_given_up_at_the_server) {
    run([](Database& db) -> Result<void> {
        WEFT_TRY(value_of(db, "select @@calls"));
        for (int count = 0; count < 3; ++count)
            EXPECT_EQ(value_of(db, sql("select {} as a", "mine")), Value("mine"));
        EXPECT_EQ(value_of(db, "select @@calls"),
                  Value("sp_prepexec,sp_unprepare,sp_prepexec,sp_unprepare,sp_prepexec"));
        return {};
    });
}

}  // namespace
}  // namespace weft::data::testing
