#include <dlfcn.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sql.h>
#include <sqlext.h>

#include <string>
#include <vector>

#include "tests/data/odbc_databases.h"
#include "weft/base/atomic.h"
#include "weft/fiber/fiber.h"
#include "weft/net/socket.h"
#include "weft/testing/eventually.h"

namespace weft::data::testing {
namespace {

// While it is set, no driver switches autocommit off.
Atomic<bool> keeps_autocommit{false};

}  // namespace

// Comes before that of the driver manager, because it is the program's.
extern "C" [[gnu::visibility("default")]] SQLRETURN SQL_API SQLSetConnectAttr(SQLHDBC link,
                                                                              SQLINTEGER attribute,
                                                                              SQLPOINTER value,
                                                                              SQLINTEGER length) {
    // Relaxed: the test waits for the call that it influences.
    // SQL_AUTOCOMMIT_OFF is zero.
    bool is_refused = attribute == SQL_ATTR_AUTOCOMMIT && value == nullptr &&
                      keeps_autocommit.load(std::memory_order_relaxed);
    if (is_refused) return SQL_ERROR;
    auto next =
        reinterpret_cast<decltype(&SQLSetConnectAttr)>(::dlsym(RTLD_NEXT, "SQLSetConnectAttr"));
    return next(link, attribute, value, length);
}

namespace {

using std::chrono::milliseconds;
using weft::testing::eventually;

class OdbcFault : public OdbcTest {};

INSTANTIATE_TEST_SUITE_P(Odbc, OdbcFault, kOdbcPlaces, name_of);

// What a connect with this string fails with; its secrets must not be in it.
Error failure_of(std::string text) {
    text += ";Extra=c4n4ry";
    Result<Database> db = open_odbc({.connection_string = text});
    if (!db) return db.error();
    Result<Rows> rows = db->query("select 1");
    Error error = rows ? Error(ErrorKind::Other, "it answered") : rows.error();
    for (const char* secret : {"c4n4ry", "weft-test-password"}) {
        EXPECT_EQ(std::string(error.message()).find(secret), std::string::npos) << error.message();
    }
    return error;
}

std::string replaced(std::string text, const std::string& part, const std::string& by) {
    std::size_t at = text.find(part);
    std::size_t end = std::min(text.find(';', at), text.size());
    return text.replace(at, end - at, by);
}

TEST(OdbcDriver, DAT_4_a_driver_that_is_not_installed_is_told_so) {
    for (const char* text : {"Driver=/nowhere/libc4n4ry.so;PWD=c4n4ry", "DSN=c4n4ry;PWD=c4n4ry",
                             "Driver=c4n4ry;PWD=c4n4ry"}) {
        Error error = failure_of(text);
        EXPECT_EQ(cause_of(error), Cause::Unsupported) << error.message();
        EXPECT_NE(std::string(error.message()).find("not installed"), std::string::npos)
            << error.message();
    }
}

TEST(OdbcDriver, DAT_4_a_connection_string_that_is_none_is_refused) {
    for (const std::string& text : {std::string(), std::string("c4n4ry"), std::string("a=b\0c", 5),
                                    "PWD=" + std::string(20'000, 'x'), std::string("PWD=\xff")}) {
        Result<Database> refused = open_odbc({.connection_string = text});
        EXPECT_EQ(refused.error().kind(), ErrorKind::Misuse);
    }
}

TEST_P(OdbcFault, DAT_4_a_wrong_password_or_place_has_its_cause) {
    run([&]() -> Result<void> {
        if (is(OdbcPlace::Sqlite)) {
            Error error = failure_of(replaced(string(), "Database=", "Database=/nowhere/c4n4ry"));
            EXPECT_EQ(cause_of(error), Cause::Connection) << error.message();
            return {};
        }
        Error wrong = failure_of(replaced(string(), "PWD=", "PWD=c4n4ry"));
        EXPECT_EQ(cause_of(wrong), Cause::Authentication) << wrong.message();
        Error refused = failure_of(replaced(string(), "Port=", "Port=1"));
        EXPECT_EQ(cause_of(refused), Cause::Connection) << refused.message();
        return {};
    });
}

TEST_P(OdbcFault, DAT_5_a_transaction_that_does_not_begin_leaves_the_isolation_as_it_was) {
    if (!is(OdbcPlace::Postgres)) GTEST_SKIP() << "its sessions tell their isolation";
    run([&]() -> Result<void> {
        Database db = WEFT_TRY(open_one());
        WEFT_TRY(db.check());
        keeps_autocommit.store(true, std::memory_order_relaxed);
        Result<Transaction> refused = db.begin({.isolation = Isolation::Serializable});
        keeps_autocommit.store(false, std::memory_order_relaxed);
        EXPECT_EQ(cause_of(refused.error()), Cause::Unsupported);
        EXPECT_EQ(value_of(db, "select current_setting('transaction_isolation')"),
                  Value("read committed"));
        EXPECT_EQ(db.stats().opened, 1U);
        return {};
    });
}

// The driver waits for an answer, and cannot be told to stop.
TEST_P(OdbcFault, DAT_9_a_server_that_does_not_answer_holds_a_connect_no_longer_than_its_deadline) {
    if (is(OdbcPlace::Sqlite)) return;
    run([&]() -> Result<void> {
        auto listener = WEFT_TRY(net::Listener::open(net::Address::loopback(0)));
        std::string port = std::to_string(listener.address().port());
        Database db =
            WEFT_TRY(open_odbc({.connection_string = replaced(string(), "Port=", "Port=" + port),
                                .login_timeout = std::chrono::seconds(60)}));
        Instant begun = Clock::now();
        Result<Rows> late = db.query("select 1", {.timeout = milliseconds(100)});
        EXPECT_EQ(late.error().kind(), ErrorKind::TimedOut);
        EXPECT_LT(Clock::now() - begun, std::chrono::seconds(10));
        listener.close();  // ends what the driver waits for
        return {};
    });
}

TEST_P(OdbcFault, DAT_5_a_server_that_is_killed_is_an_error_and_the_pool_recovers) {
    if (is(OdbcPlace::Sqlite)) return;
    run([&]() -> Result<void> {
        Database db = WEFT_TRY(open({.pool = {.connections_max = 2}}));
        Cursor cursor =
            WEFT_TRY(db.query_cursor(Statement(numbers(5'000'000)), {.batch_rows = 10}));
        EXPECT_EQ(WEFT_TRY(cursor.next()).size(), 10U);
        // Connected before, so that it cannot find the server that comes after.
        EXPECT_EQ(value_of(db, "select 1"), Value(1));
        auto query = spawn([&] { return db.query(Statement(endless())); });
        EXPECT_TRUE(eventually([&] { return db.stats().in_use == 2; }));
        WEFT_TRY(is(OdbcPlace::Postgres)  ? PostgresServer::get().tell("restart")
                 : is(OdbcPlace::MariaDb) ? mariadb_server().tell("restart")
                                          : tds_server().tell("restart"));
        EXPECT_EQ(cause_of(query.join().error()), Cause::Connection);
        cursor.close();
        EXPECT_EQ(db.stats().in_use, 0U);
        // A connection that was idle may still have to be found out as lost.
        EXPECT_TRUE(eventually([&] { return value_of(db, "select 7") == Value(7); }));
        return {};
    });
}

// A backend that is frozen answers neither its statement nor a cancel.
TEST_P(OdbcFault, DAT_4_a_driver_that_does_not_come_back_is_given_up_with_its_connection) {
    if (!is(OdbcPlace::Postgres)) return;
    run([&]() -> Result<void> {
        Database db = WEFT_TRY(open_one());
        auto backend =
            static_cast<pid_t>(WEFT_TRY(value_of(db, "select pg_backend_pid()")).integer());
        EXPECT_EQ(::kill(backend, SIGSTOP), 0);
        Instant begun = Clock::now();
        Result<Rows> late = db.query("select 1", {.timeout = milliseconds(50)});
        EXPECT_EQ(late.error().kind(), ErrorKind::TimedOut);
        EXPECT_LT(Clock::now() - begun, kTidyTimeout + std::chrono::seconds(10));
        EXPECT_EQ(db.stats().closed_broken, 1U);
        EXPECT_EQ(value_of(db, "select 7"), Value(7));
        EXPECT_EQ(::kill(backend, SIGCONT), 0);
        return {};
    });
}

}  // namespace
}  // namespace weft::data::testing
