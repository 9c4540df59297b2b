// Tests over each database behind ODBC that is there.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "tests/data/odbc_fixture.h"
#include "weft/data/failure.h"
#include "weft/data/pool.h"
#include "weft/data/provider.h"
#include "weft/fiber/runtime.h"
#include "weft/testing/stall_watch.h"

namespace weft::data::testing {

// Its names are those of the tests: "Odbc/OdbcTest.DAT_.../MariaDb".
enum class OdbcPlace { Sqlite, Postgres, MariaDb, Tds };
inline const auto kOdbcPlaces =
    ::testing::Values(OdbcPlace::Sqlite, OdbcPlace::Postgres, OdbcPlace::MariaDb, OdbcPlace::Tds);

class OdbcTest : public ::testing::TestWithParam<OdbcPlace> {
protected:
    void SetUp() override {
        if (!is_there()) GTEST_SKIP() << "UNAVAILABLE: the driver or the server is not installed";
        string_ = make_string();
    }

    bool is(OdbcPlace place) const { return GetParam() == place; }
    // All that are opened in one test lead to the same database.
    const std::string& string() const { return string_; }
    Result<Database> open(DatabaseOptions options = {}) {
        return open_odbc({.connection_string = string_}, std::move(options));
    }
    Result<Database> open_one(Access access = Access::ReadWrite) {
        return open({.access = access, .pool = {.connections_max = 1}});
    }
    template <class Body>
    void run(Body body, RuntimeOptions options = {.workers = 2}) {
        Runtime runtime(options);
        Result<void> outcome = runtime.spawn([&]() -> Result<void> { return body(); }).join();
        EXPECT_TRUE(outcome) << (outcome ? "" : outcome.error().message());
    }
    // run(), with a database whose one connection is there to the end. A stall may keep the answer
    // to a cancel for kTidyTimeout, and that connection is closed.
    template <class Body>
    void run_on_one_connection(Body body) {
        EXPECT_TRUE(weft::testing::unless_stalled(kTidyTimeout / 2, [&] {
            std::uint64_t opened = 0;
            run([&]() -> Result<void> {
                Database db = WEFT_TRY(open_one());
                WEFT_TRY(body(db));
                opened = db.stats().opened;
                return {};
            });
            if (opened == 1) return ::testing::AssertionSuccess();
            return ::testing::AssertionFailure() << opened << " connections were opened";
        }));
    }
    // A name for a table that no other test has.
    static std::string table() {
        return std::string("t_") +
               std::to_string(::testing::UnitTest::GetInstance()->random_seed()) + "_" +
               std::to_string(++tables_);
    }
    // Runs until it is stopped.
    std::string endless() const {
        switch (GetParam()) {
        case OdbcPlace::Postgres: return "select count(*) from generate_series(1, 1000000000000)";
        case OdbcPlace::MariaDb: return "select benchmark(1000000000000, md5('x'))";
        case OdbcPlace::Tds: return "waitfor delay '01:00:00'";
        default:
            return "with recursive n(x) as (select 1 union all select x + 1 from n) "
                   "select count(*) from n";
        }
    }
    // So many rows, from 1.
    std::string numbers(int count) const {
        std::string text = std::to_string(count);
        switch (GetParam()) {
        case OdbcPlace::Postgres: return "select x from generate_series(1, " + text + ") x";
        case OdbcPlace::MariaDb: return "select seq as x from seq_1_to_" + text;
        default:
            return "with recursive n(x) as (select 1 union all select x + 1 from n where x < " +
                   text + ") select x from n";
        }
    }

private:
    bool is_there() const {
        switch (GetParam()) {
        case OdbcPlace::Sqlite: return kOdbcSqlite;
        case OdbcPlace::Postgres: return kOdbcPostgres;
        case OdbcPlace::MariaDb: return kOdbcMariaDb;
        case OdbcPlace::Tds: return kOdbcTds;
        }
        return false;
    }
    std::string make_string() {
        switch (GetParam()) {
        case OdbcPlace::Sqlite: return files_.next();
        case OdbcPlace::Postgres: return odbc_postgres();
        case OdbcPlace::MariaDb: return odbc_mariadb("shop");
        case OdbcPlace::Tds: return odbc_tds("shop");
        }
        return {};
    }

    static inline int tables_ = 0;
    OdbcFiles files_;
    std::string string_;
};

inline std::string name_of(const ::testing::TestParamInfo<OdbcPlace>& place) {
    constexpr const char* kNames[] = {"Sqlite", "Postgres", "MariaDb", "Tds"};
    return kNames[static_cast<int>(place.param)];
}

// The only value of the only row.
inline Result<Value> value_of(Database& database, const Statement& statement) {
    Rows rows = WEFT_TRY(database.query(statement));
    if (rows.size() != 1 || rows.columns().size() != 1)
        return Error(ErrorKind::Other, "not one value");
    return rows[0][0];
}

}  // namespace weft::data::testing
