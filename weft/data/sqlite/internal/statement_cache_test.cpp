#include <gtest/gtest.h>
#include <sqlite3.h>

#include <set>
#include <string>

#include "weft/data/sqlite/internal/connection.h"

namespace weft::data::sqlite_internal {
namespace {

class SqliteStatementCache : public ::testing::Test {
protected:
    void SetUp() override { ASSERT_EQ(sqlite3_open(":memory:", &database), SQLITE_OK); }
    void TearDown() override { EXPECT_EQ(sqlite3_close(database), SQLITE_OK); }

    sqlite3_stmt* prepare(const std::string& text) {
        sqlite3_stmt* statement = nullptr;
        EXPECT_EQ(sqlite3_prepare_v2(database, text.c_str(), -1, &statement, nullptr), SQLITE_OK);
        return statement;
    }
    // The texts of the statements that are not finalized.
    std::set<std::string> prepared() {
        std::set<std::string> texts;
        for (sqlite3_stmt* at = sqlite3_next_stmt(database, nullptr); at;
             at = sqlite3_next_stmt(database, at))
            texts.insert(sqlite3_sql(at));
        return texts;
    }

    sqlite3* database = nullptr;
};

TEST_F(SqliteStatementCache, DAT_2e_the_least_recently_used_statement_goes) {
    StatementCache cache(2);
    for (std::string text : {"select 1", "select 2"}) cache.put(text, prepare(text));
    sqlite3_stmt* first = cache.take("select 1");
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(cache.take("select 1"), nullptr);  // it has one user at a time
    cache.put("select 1", first);
    cache.put("select 3", prepare("select 3"));
    EXPECT_EQ(prepared(), (std::set<std::string>{"select 1", "select 3"}));
    EXPECT_EQ(cache.take("select 2"), nullptr);
    EXPECT_EQ(cache.take("select 1"), first);
    cache.put("select 1", first);
    // A second statement with the same text is not kept.
    cache.put("select 1", prepare("select 1"));
    EXPECT_EQ(cache.take("select 1"), first);
    sqlite3_finalize(first);
    cache.clear();
    EXPECT_TRUE(prepared().empty());
}

TEST_F(SqliteStatementCache, DAT_2e_without_room_nothing_is_kept) {
    StatementCache cache(0);
    cache.put("select 1", prepare("select 1"));
    EXPECT_TRUE(prepared().empty());
    EXPECT_EQ(cache.take("select 1"), nullptr);
}

}  // namespace
}  // namespace weft::data::sqlite_internal
