// A fixture with a SQLite database for tests, in memory or in a temporary file.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>

#include "weft/base/assert.h"
#include "weft/data/database.h"
#include "weft/data/sqlite/sqlite.h"
#include "weft/fiber/runtime.h"

namespace weft::data {

class SqliteTest : public ::testing::Test {
protected:
    void SetUp() override {
        std::string pattern = ::testing::TempDir() + "weft-sqlite-XXXXXX";
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        folder = pattern;
    }
    void TearDown() override { std::filesystem::remove_all(folder); }

    std::string file(const std::string& name = "test.db") const { return folder + "/" + name; }
    // Runs the function on a fiber, and again on a plain thread.
    template <class Function>
    static void everywhere(Function function) {
        Runtime runtime({.workers = 2});
        EXPECT_TRUE(runtime.spawn(function).join());
        EXPECT_TRUE(runtime.shutdown());
        function();
    }
    template <class Function>
    static void on_fiber(Function function) {
        Runtime runtime({.workers = 2});
        EXPECT_TRUE(runtime.spawn(function).join());
        EXPECT_TRUE(runtime.shutdown());
    }
    static Database open(SqliteOptions sqlite, DatabaseOptions options = {}) {
        Result<Database> database = open_sqlite(std::move(sqlite), std::move(options));
        WEFT_ASSERT(database.has_value(), "the test's database opens");
        return std::move(*database);
    }
    static Database memory() { return open({.path = ":memory:"}); }

    std::string folder;
};

#define EXPECT_DONE(...)                               \
    do {                                               \
        auto done_ = (__VA_ARGS__);                    \
        EXPECT_TRUE(done_) << done_.error().message(); \
    } while (false)

}  // namespace weft::data
