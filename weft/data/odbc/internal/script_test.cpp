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
    auto split = [](std::string_view text) {
        return split_script(text, syntax_of(OdbcDialect::Other));
    };
    EXPECT_THAT(split(" ; -- a;b\n ;;"), ElementsAre());
    EXPECT_THAT(split("a 'x;''y' ; b \"q;\" /* ; */ c; [d;] `e;`"),
                ElementsAre("a 'x;''y' ", "b \"q;\" /* ; */ c", "[d;] `e;`"));
    EXPECT_THAT(split("create trigger t begin update a set b = case when c then d else e "
                      "end; delete from f; end; select 1"),
                ElementsAre("create trigger t begin update a set b = case when c then d else e "
                            "end; delete from f; end",
                            "select 1"));
    EXPECT_THAT(
        split("create procedure p() begin if a then b; end if; end; begin; commit"),
        ElementsAre("create procedure p() begin if a then b; end if; end", "begin", "commit"));
    EXPECT_THAT(split("select 'never closed; "), ElementsAre("select 'never closed; "));
    EXPECT_THAT(split_script("select 'a\\';b'; # ;\nc", syntax_of(OdbcDialect::MariaDb)),
                ElementsAre("select 'a\\';b'", "c"));
}

TEST(OdbcScript, DAT_11_what_could_write_is_told_by_its_words) {
    using enum OdbcDialect;
    for (OdbcDialect dialect : {Other, Postgres, MariaDb, Sqlite, SqlServer}) {
        for (const char* text :
             {"select 1", " -- c\n (select 1)", "with a as (select 1) select 2", "VALUES (1)",
              "select ';'", "select 1;", "select 1; -- x", "select 'delete' from updates"})
            EXPECT_FALSE(may_allow_writes(text, dialect)) << text;
        for (const char* text :
             {"", "set x = 1", "/* select */ delete from t", "pragma query_only = 0",
              "select 1; delete from t", "begin", "exec p", "'x'"})
            EXPECT_TRUE(may_allow_writes(text, dialect)) << text;
    }
}

TEST(OdbcScript, DAT_11_sql_server_takes_several_statements_without_a_sign_between_them) {
    for (const char* text :
         {"select 1 delete from t", "select * into x from t",
          "with a as (select 1 b) delete from a", "select 1 exec p", "select 1insert t values (1)",
          "select [a]]'] delete from t where 'x'",
          "with a as (select 1 b) merge t using a on 1 = 1 when matched then update set c = 1"})
        EXPECT_TRUE(may_allow_writes(text, OdbcDialect::SqlServer)) << text;
    for (const char* text : {"select [delete], \"update\" from [into]",
                             "select a from b inner merge join c on b.d = c.d",
                             "select replace(a, 'insert', '') from t option (merge join)"})
        EXPECT_FALSE(may_allow_writes(text, OdbcDialect::SqlServer)) << text;
}

TEST(OdbcScript, DAT_5_what_may_change_the_session_is_told_by_its_words) {
    using enum OdbcDialect;
    for (OdbcDialect dialect : {Other, Postgres, MariaDb, Sqlite, SqlServer}) {
        for (const char* text :
             {"select 1", "insert into t values (1)", "create table t (a int, temp int)",
              "select temperature, attempts, blocks, clock_in from template",
              "select '#a', 'set_config' -- get_lock", "update t set a = 1; select 2;",
              "select a.temp from a"})
            EXPECT_FALSE(may_change_session(text, dialect)) << text;
        for (const char* text : {"set a = 1", "use b", "begin", "create temporary table t (a int)",
                                 "create or replace temp view v as select 1", "select 1; set a = 1",
                                 "insert into t values (1); listen z"})
            EXPECT_TRUE(may_change_session(text, dialect)) << text;
    }
    for (const char* text : {"select get_lock('a', 1)", "select @a := 1", "select 1 into @a",
                             "select 1 /*! ; set x = 1 */"})
        EXPECT_TRUE(may_change_session(text, MariaDb)) << text;
    EXPECT_FALSE(may_change_session("select 1 # set", MariaDb));
    EXPECT_TRUE(may_change_session("select pg_advisory_lock(1)", Postgres));
    EXPECT_FALSE(may_change_session("select a #> '{b}', a->>'#' from t", Postgres));
    EXPECT_TRUE(may_change_session("alter session set x = 1", Other));
}

TEST(OdbcScript, DAT_5_sql_server_changes_a_session_in_the_middle_of_a_text) {
    for (const char* text :
         {"select 1 begin tran", "insert into #t values (1)", "select 1 set nocount on",
          "update t set a = 1 set xact_abort on", "update statistics t set nocount on",
          "select 1 exec p", "select 1 declare c cursor for select 2"})
        EXPECT_TRUE(may_change_session(text, OdbcDialect::SqlServer)) << text;
    for (const char* text :
         {"update t set a = 1 from u", "select [begin], 'set' from t",
          "merge t using u on 1 = 1 when matched then update set a = 1;",
          "alter table t add foreign key (a) references u (b) on delete set null",
          "select a from t order by a offset 0 rows fetch next 1 rows only"})
        EXPECT_FALSE(may_change_session(text, OdbcDialect::SqlServer)) << text;
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
    for (const char* state : {"08", "08s01", "08\xc3\xa9\x01", "IM\n\n\n", "0800100000000"}) {
        Error error = to_error({state, 0, ""}, OdbcDialect::Other, Phase::Connect);
        EXPECT_EQ(sqlstate_of(error), "08001") << state;
        EXPECT_NE(error.message().find("(08001)"), std::string_view::npos) << error.message();
    }
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
    // An error raised by a program in the database.
    EXPECT_EQ(text({"42000", 50000, secret}, SqlServer, Phase::WithoutValues).find(secret),
              std::string::npos);
    EXPECT_EQ(text({"08001", 0, secret}, Other, Phase::Connect).find(secret), std::string::npos);
    EXPECT_EQ(text({"HY000", 1, secret}, Sqlite, Phase::WithValues).find(secret),
              std::string::npos);
}

}  // namespace
}  // namespace weft::data::odbc
