#include "weft/data/open.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/data/statement.h"
#include "weft/fiber/runtime.h"

namespace weft::data {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(OpenDatabase, DAT_1_the_provider_is_chosen_by_its_name) {
    Result<void> done = run([]() -> Result<void> {
        Database database = WEFT_TRY(open_database({"sqlite", ":memory:"}));
        EXPECT_EQ(database.provider().name(), "sqlite");
        Rows rows = WEFT_TRY(database.query(sql("select {}", 7)));
        EXPECT_EQ(rows.size(), 1U);
        // No connection is made before the first statement.
        Database remote = WEFT_TRY(open_database({"postgres", "postgres://weft@127.0.0.1:1/weft"}));
        EXPECT_EQ(remote.provider().name(), "postgres");
        Database driven = WEFT_TRY(open_database({"odbc", "DSN=nowhere;UID=weft"}));
        EXPECT_EQ(driven.provider().name(), "odbc");
        return {};
    });
    EXPECT_TRUE(done) << done.error().message();
}

TEST(OpenDatabase, DAT_10_a_place_that_cannot_be_opened_is_not_shown) {
    Result<void> done = run([]() -> Result<void> {
        Result<Database> wrong = open_database({"postgres", "postgres://u:secret@[bad"});
        if (wrong) return Error(ErrorKind::Other, "the wrong one was opened");
        EXPECT_THAT(wrong.error().message(), Not(HasSubstr("secret")));
        Result<Database> unknown = open_database({"oracle", "secret"});
        if (unknown) return Error(ErrorKind::Other, "the unknown one was opened");
        EXPECT_THAT(unknown.error().message(), HasSubstr("no such provider: oracle"));
        return {};
    });
    EXPECT_TRUE(done) << done.error().message();
}

TEST(OpenDatabase, DAT_12_an_address_tells_its_provider) {
    EXPECT_EQ(place_of("shop.db").provider, "sqlite");
    EXPECT_EQ(place_of(":memory:").provider, "sqlite");
    EXPECT_EQ(place_of("postgres://db/shop").provider, "postgres");
    EXPECT_EQ(place_of("postgresql:///shop").provider, "postgres");
    EXPECT_EQ(place_of("host=db dbname=shop password=secret").provider, "postgres");
    EXPECT_EQ(place_of("DBNAME = shop").provider, "postgres");
    EXPECT_EQ(place_of("port").provider, "sqlite");
    EXPECT_EQ(place_of("Driver=FreeTDS;Server=db").provider, "odbc");
    EXPECT_EQ(place_of("DSN=shop").provider, "odbc");
    EXPECT_EQ(place_of("driver").provider, "sqlite");
    EXPECT_EQ(place_of("a=b.db").provider, "sqlite");
}

}  // namespace
}  // namespace weft::data
