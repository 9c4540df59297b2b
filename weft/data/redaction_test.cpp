#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <string>
#include <string_view>

#include "weft/data/failure.h"

namespace weft::data {
namespace {

// What stands for the password in each spelling.
constexpr std::string_view kCanary = "c4n4ry";

constexpr std::array kSpellings{
    "postgres://u:c4n4ry@db.example.com:5432/shop",
    "postgresql://u:c4n4ry@db.example.com/shop",
    "POSTGRES://u:c4n4ry@db.example.com/shop",
    "postgres://:c4n4ry@db.example.com/shop",
    "postgres://u:c4n4ry%40x@db.example.com/shop",
    "postgres://u:x@c4n4ry@db.example.com/shop",
    "postgres://u:x/c4n4ry@db.example.com/shop",
    "postgres://u:x#c4n4ry@db.example.com/shop",
    "postgres://u:x?c4n4ry@db.example.com/shop",
    "postgres://u:x:c4n4ry@db.example.com/shop",
    "postgres://u:%63c4n4ry%21@db.example.com/shop",
    "postgres://u:%S%c4n4ry@db.example.com/shop",
    "postgres://u:c4n4ry@a.example.com,b.example.com:5433/shop",
    "postgres://u:c4n4ry@[::1]:5432/shop",
    "postgres://u:c4n4ry@/shop?host=/run/postgresql",
    "postgres://u:c4n4ry@",
    "postgres://u:c4n4ry",
    "postgres://c4n4ry@db.example.com/shop",
    "postgres://db.example.com/shop?user=u&password=c4n4ry",
    "postgres://db.example.com/shop?sslpassword=c4n4ry",
    "postgres://db.example.com/shop?passfile=/etc/c4n4ry",
    "postgres://db.example.com/shop#c4n4ry",
    "postgres://db.example.com/shop/c4n4ry",
    "sqlserver://u:c4n4ry@db.example.com:1433/shop",
    "https://u:c4n4ry@db.example.com/shop",
    "u:c4n4ry@db.example.com/shop",
    "u/c4n4ry@db.example.com:1521/shop",
    "//c4n4ry@db.example.com",
    "c4n4ry",
    "host=db.example.com password=c4n4ry dbname=shop",
    "host=db.example.com password = c4n4ry dbname=shop",
    "host=db.example.com password='c4n4ry x' dbname=shop",
    "host=db.example.com password='x\\'c4n4ry' dbname=shop",
    "host=db.example.com password='x=c4n4ry host=c4n4ry",
    "host=db.example.com password=x c4n4ry dbname=shop",
    "host=db.example.com PASSWORD=c4n4ry",
    "host=db.example.com sslpassword=c4n4ry sslkey=/c4n4ry",
    "service=c4n4ry",
    "PGPASSWORD=c4n4ry",
    "dbname='postgres://u:c4n4ry@db.example.com/shop'",
    "Driver={FreeTDS};Server=db.example.com;UID=u;PWD=c4n4ry;Database=shop",
    "Driver=FreeTDS;Server=db.example.com;UID=u;pwd=c4n4ry",
    "Driver=FreeTDS;Server=db.example.com;Password=c4n4ry;Database=shop",
    "Driver=FreeTDS;Server=db.example.com;PWD={c4n4ry;x}}y};Database=shop",
    "Driver=FreeTDS;Server=db.example.com;PWD={x;Server=c4n4ry};Database=shop",
    "Driver=FreeTDS;Server=db.example.com;PWD={x}};Server=c4n4ry};Database=shop",
    "Driver=FreeTDS;Server=db.example.com;PWD={x;Server=c4n4ry;Database=shop",
    "Driver=FreeTDS;Server=db.example.com;PWD = c4n4ry ;Database=shop",
    "Driver=psqlodbc;Servername=db;pqopt={password='c4n4ry y'}",
    "DSN=c4n4ry;UID=u",
    "(DESCRIPTION=(ADDRESS=(HOST=db))(PASSWORD=c4n4ry))",
};

TEST(Redaction, DAT_10_no_spelling_of_a_password_is_shown) {
    static_assert(kSpellings.size() >= 40);
    for (std::string_view spelling : kSpellings) {
        EXPECT_NE(spelling.find(kCanary), std::string_view::npos) << spelling;
        EXPECT_EQ(redacted(spelling).find(kCanary), std::string::npos) << spelling;
        EXPECT_EQ(redacted(spelling).find("c4n"), std::string::npos) << spelling;
    }
}

TEST(Redaction, DAT_10_what_is_harmless_is_shown) {
    EXPECT_EQ(redacted(kSpellings[0]), "postgres://db.example.com:5432/shop");
    EXPECT_EQ(redacted("host=db.example.com password=c4n4ry dbname=shop"),
              "postgres://db.example.com/shop");
    EXPECT_EQ(redacted("Driver={FreeTDS};Server=db.example.com;PWD=c4n4ry;Database=shop"),
              "odbc://db.example.com/shop");
}

TEST(Failure, DAT_10_a_driver_s_text_that_may_quote_a_value_is_not_shown) {
    for (std::string_view state : {"22P02", "23505", "22001", "P0001", "44000", "XX000", "HY000"}) {
        DriverReport report{.provider = "postgres",
                            .sqlstate = state,
                            .message = "invalid input: \"c4n4ry\"",
                            .constraint = "users_email_key",
                            .table = "users"};
        Error error = to_error(report);
        EXPECT_EQ(error.message().find(kCanary), std::string::npos) << error.message();
        EXPECT_NE(error.message().find("users_email_key"), std::string::npos) << error.message();
        EXPECT_EQ(sqlstate_of(error), state);
    }
    Error shown = to_error({.provider = "postgres",
                            .sqlstate = "42P01",
                            .message = "relation \"userss\" does not exist"});
    EXPECT_EQ(shown.message(),
              "postgres: wrong statement (42P01): relation \"userss\" does not exist");
}

TEST(Failure, DAT_1_causes_are_told_from_sqlstates_and_kinds) {
    auto cause = [](std::string_view state) { return cause_of(to_error("x", state, "")); };
    EXPECT_EQ(cause("23505"), Cause::UniqueViolation);
    EXPECT_EQ(cause("23000"), Cause::OtherConstraint);
    EXPECT_EQ(cause("40001"), Cause::Serialization);
    EXPECT_EQ(cause("57P01"), Cause::Connection);
    EXPECT_EQ(cause("25006"), Cause::ReadOnly);
    EXPECT_EQ(cause("WF001"), Cause::RowLimit);
    EXPECT_EQ(cause("99999"), Cause::Other);
    EXPECT_EQ(cause_of(ErrorKind::TimedOut), Cause::TimedOut);
    EXPECT_EQ(cause_of(Error::from_errno(ECONNREFUSED)), Cause::Connection);
    EXPECT_EQ(sqlstate_of(Error::from_errno(ECONNREFUSED)), "");
    EXPECT_TRUE(is_transient(to_error("x", "40P01", "")));
    EXPECT_FALSE(is_transient(to_error("x", "23505", "")));
}

}  // namespace
}  // namespace weft::data
