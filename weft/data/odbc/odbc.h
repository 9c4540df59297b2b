// ODBC: any database that has a driver for unixODBC. SQL Server by FreeTDS or Microsoft's driver,
// MariaDB and MySQL, and others.
//
//     Database db = WEFT_TRY(open_odbc({.connection_string =
//         "Driver=FreeTDS;Server=db;Port=1433;Database=shop;UID=shop;PWD=..."}));
//
// Drivers block. So each call runs on the blocking pool (fiber/blocking.h), one at a time for each
// connection, while the calling fiber parks. When a call times out or is cancelled, a thread of the
// provider cancels the statement (SQLCancel) until it has ended; a cancel never reaches the
// statement after it. If the driver does not return within kTidyTimeout, the call returns all the
// same and its connection is broken: the hanging driver call owns everything that it uses, and
// closes it when it returns. Until then it holds a thread of the pool, and the end of the runtime
// waits for it. For a plain thread, a thread that is started for the call does the same.
//
// Drivers differ in what they support and do not always report it truthfully. What was set is read
// back, and OdbcFacts says what was found. Parameters are ? in all of them. Types, and what each
// driver needs: docs/data/odbc.md. Any fiber, any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/data/database.h"
#include "weft/data/options.h"
#include "weft/data/provider.h"

namespace weft::data {

struct OdbcOptions {
    // "Driver=...;Server=...;UID=...;PWD=..." or "DSN=...". Secret: it is shown nowhere.
    std::string connection_string = {};
    // The time limit of a connect, unless the call ends sooner. A driver cannot cancel a connect.
    Nanoseconds login_timeout = std::chrono::seconds(15);
    // The driver's own time limit of each statement, in whole seconds, in addition to the deadlines
    // of Weft: makes a server stop a statement whose client is gone. Zero: none.
    std::chrono::seconds statement_timeout = {};
    std::size_t statements_cached = 32;  // prepared, per connection
};

// The SQL dialect of the database.
enum class OdbcDialect : std::uint8_t { Other, Postgres, MariaDb, Sqlite, SqlServer };
std::string_view to_string(OdbcDialect dialect) noexcept;

// What a connection found out about its driver by asking, and by reading back what it set.
struct OdbcFacts {
    OdbcDialect dialect = OdbcDialect::Other;
    std::string database;  // "PostgreSQL 15.0.18"
    std::string driver;    // "psqlodbcw.so 13.02.0000"
    // The driver keeps SQL_ATTR_ASYNC_ENABLE and reports a matching SQL_ASYNC_MODE. Weft makes no
    // asynchronous calls: there is no driver to test them with.
    bool has_async_statements = false;
    // OdbcOptions::statement_timeout is set and the driver kept it.
    bool has_statement_timeout = false;
    bool has_transactions = false;
    bool enforces_read_only = false;  // by the database, for Access::Read
};

// Misuse for a connection string that cannot be valid. Does not connect.
Result<std::unique_ptr<Provider>> odbc_provider(OdbcOptions options,
                                                Access access = Access::ReadWrite);
Result<Database> open_odbc(OdbcOptions options, DatabaseOptions database = {});

// The facts of one connection of this database, which is opened if there is none. Unsupported for a
// database of another provider.
Result<OdbcFacts> odbc_facts(Database& database, const CallOptions& options = {});

}  // namespace weft::data
