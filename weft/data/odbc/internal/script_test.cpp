#include "weft/data/odbc/internal/script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/data/failure.h"
#include "weft/data/odbc/internal/dialect.h"
#include "weft/data/odbc/internal/errors.h"
#include "weft/data/odbc/internal/reader.h"
#include "weft/data/odbc/internal/wide.h"

namespace weft::data::odbc {
namespace {

using ::testing::ElementsAre;

TEST(OdbcScript, DAT_12_a_text_is_split_where_its_statements_end) {
    EXPECT_THAT(split_script(" ; -- a;b\n ;;"), ElementsAre());
    EXPECT_THAT(split_script("a 'x;''y' ; b \"q;\" /* ; */ c; [d;] `e;`"),
                ElementsAre("a 'x;''y' ", "b \"q;\" /* ; */ c", "[d;] `e;`"));
    EXPECT_THAT(split_script("create trigger t begin update a set b = case when c then d else e "
                             "end; delete from f; end; select 1"),
                ElementsAre("create trigger t begin update a set b = case when c then d else e "
                            "end; delete from f; end",
                            "select 1"));
    EXPECT_THAT(
        split_script("create procedure p() begin if a then b; end if; end; begin; commit"),
        ElementsAre("create procedure p() begin if a then b; end if; end", "begin", "commit"));
    EXPECT_THAT(split_script("select 'never closed; "), ElementsAre("select 'never closed; "));
}

TEST(OdbcScript, DAT_11_what_could_write_is_told_by_its_first_word) {
    for (const char* text : {"select 1", " -- c\n (select 1)", "with a as (select 1) select 2",
                             "VALUES (1)", "select ';'", "select 1;"})
        EXPECT_FALSE(may_allow_writes(text)) << text;
    for (const char* text : {"", "set x = 1", "/* select */ delete from t", "pragma query_only = 0",
                             "select 1; delete from t", "begin", "exec p"})
        EXPECT_TRUE(may_allow_writes(text)) << text;
}

TEST(OdbcScript, DAT_5_what_may_change_the_session_is_told_by_its_words) {
    for (const char* text : {"select 1", "insert into t values (1)", "create table t (a int)"})
        EXPECT_FALSE(may_change_session(text)) << text;
    for (const char* text :
         {"set a = 1", "use b", "begin", "create temporary table t (a int)",
          "select get_lock('a', 1)", "select @a := 1", "insert into #t values (1)"})
        EXPECT_TRUE(may_change_session(text)) << text;
}

TEST(OdbcWide, DAT_6_texts_of_any_letters_go_there_and_back) {
    for (const char* text : {"", "a", "\u00e9", "\u20ac", "\U0001f331x", "\uffff"})
        EXPECT_EQ(from_wide(to_wide(text)), std::string(text));
    const SQLWCHAR kHalves[][2] = {{0xd83c, 'a'}, {0xdf31, 'a'}, {'a', 0xd83c}};
    for (const auto& half : kHalves) {
        EXPECT_FALSE(from_wide(half));
        EXPECT_NE(shown(half).find("\ufffd"), std::string::npos);
    }
}

TEST(OdbcReader, DAT_6_a_text_is_the_value_that_its_column_is_of) {
    EXPECT_EQ(typed_value(Type::Integer, "-7"), Value(-7));
    EXPECT_EQ(typed_value(Type::Integer, "18446744073709551615"),
              *Value::decimal("18446744073709551615"));
    EXPECT_EQ(typed_value(Type::Integer, "seven"), Value("seven"));
    EXPECT_EQ(typed_value(Type::Decimal, "-.50"), *Value::decimal("-0.50"));
    EXPECT_EQ(typed_value(Type::Uuid, "6BA7B810-9DAD-11D1-80B4-00C04FD430C8"),
              *Value::uuid("6ba7b810-9dad-11d1-80b4-00c04fd430c8"));
    EXPECT_EQ(typed_value(Type::Timestamp, "2026-11-18 08:00:00.5000000"),
              *Value::timestamp("2026-11-18T08:00:00.5"));
    EXPECT_EQ(typed_value(Type::Timestamp, "2026-11-18 08:00:00.000"),
              *Value::timestamp("2026-11-18T08:00:00"));
    EXPECT_EQ(typed_value(Type::Instant, "2026-11-18 08:00:00.50"),
              *Value::instant("2026-11-18T08:00:00.5Z"));
    EXPECT_EQ(typed_value(Type::OffsetDateTime, "2026-11-18 08:00:00.5000000 +02:00"),
              *Value::offset_date_time("2026-11-18T08:00:00.5+02:00"));
    EXPECT_EQ(typed_value(Type::Date, "1-01-02"), *Value::date("0001-01-02"));
    EXPECT_EQ(typed_value(Type::Date, "0000-00-00"), Value("0000-00-00"));
    EXPECT_EQ(typed_value(Type::Time, "-12:00:00"), Value("-12:00:00"));
    EXPECT_EQ(typed_value(Type::Boolean, "1"), Value(true));
}

TEST(OdbcErrors, DAT_4_what_drivers_report_has_one_cause_in_all_of_them) {
    auto cause = [](Diagnosis diagnosis, OdbcDialect dialect, Phase phase = Phase::WithValues) {
        return cause_of(to_error(diagnosis, dialect, phase));
    };
    EXPECT_EQ(cause({"23000", 1062, ""}, OdbcDialect::MariaDb), Cause::UniqueViolation);
    EXPECT_EQ(cause({"23000", 2627, ""}, OdbcDialect::SqlServer), Cause::UniqueViolation);
    EXPECT_EQ(cause({"HY000", 19, "UNIQUE constraint failed: a.b (19)"}, OdbcDialect::Sqlite),
              Cause::UniqueViolation);
    EXPECT_EQ(cause({"40001", 1205, ""}, OdbcDialect::SqlServer), Cause::Serialization);
    EXPECT_EQ(cause({"HY000", 1205, ""}, OdbcDialect::MariaDb), Cause::Busy);
    EXPECT_EQ(cause({"HY000", 5, "database is locked"}, OdbcDialect::Sqlite), Cause::Busy);
    EXPECT_EQ(cause({"37000", 0, ""}, OdbcDialect::Other), Cause::Syntax);
    EXPECT_EQ(cause({"HY018", 0, ""}, OdbcDialect::Other), Cause::Cancelled);
    EXPECT_EQ(cause({"HY000", 14, ""}, OdbcDialect::Other, Phase::Connect), Cause::Connection);
    EXPECT_EQ(cause({"IM002", 0, ""}, OdbcDialect::Other, Phase::Connect), Cause::Unsupported);
}

TEST(OdbcErrors, DAT_10_a_driver_s_text_is_shown_only_where_it_quotes_no_value) {
    auto text = [](Diagnosis diagnosis, OdbcDialect dialect, Phase phase) {
        return std::string(to_error(diagnosis, dialect, phase).message());
    };
    const std::string secret = "near 'c4n4ry'";
    using enum OdbcDialect;
    EXPECT_EQ(text({"42000", 1064, secret}, MariaDb, Phase::WithValues).find(secret),
              std::string::npos);
    EXPECT_NE(text({"42000", 1064, secret}, MariaDb, Phase::WithoutValues).find(secret),
              std::string::npos);
    // Raised by a program in the database.
    EXPECT_EQ(text({"42000", 50000, secret}, SqlServer, Phase::WithoutValues).find(secret),
              std::string::npos);
    EXPECT_EQ(text({"08001", 0, secret}, Other, Phase::Connect).find(secret), std::string::npos);
    EXPECT_EQ(text({"HY000", 1, secret}, Sqlite, Phase::WithValues).find(secret),
              std::string::npos);
}

}  // namespace
}  // namespace weft::data::odbc
