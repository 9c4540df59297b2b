// ODBC: any database that has a driver for unixODBC. SQL Server by FreeTDS or Microsoft's driver,
// MariaDB and MySQL, and others.
//
//     Database db = WEFT_TRY(open_odbc({.connection_string =
//         "Driver=FreeTDS;Server=db;Port=1433;Database=shop;UID=shop;PWD=..."}));
//
// Drivers block. So each call is carried out on the blocking pool (fiber/blocking.h), one
// connection by one call at a time, and the fiber that asked parks. When the time of a call is
// over, or its token is cancelled, a thread of the provider's own cancels the statement (SQLCancel)
// until that has ended; a cancel never reaches the statement after it. Where the driver does not
// come back within kTidyTimeout the call returns all the same and its connection is broken: what
// hangs owns everything that it uses, and closes it when it returns. Until then it holds a thread
// of the pool, and the end of the runtime waits for it. On a plain thread the same is done by a
// thread that is started for the call.
//
// Drivers differ in what they can and do not always tell the truth. What was set is read back, and
// what was found out is in OdbcFacts. Parameters are ? in all of them. Types, and what each driver
// needs: docs/data/odbc.md.
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
    // Of a connect, where nothing ends it before. A driver cannot be told to stop connecting.
    Nanoseconds login_timeout = std::chrono::seconds(15);
    // The driver's own limit of each statement, in whole seconds, behind the deadlines of Weft: for
    // a server that is to stop a statement whose client is gone. Zero: none.
    std::chrono::seconds statement_timeout = {};
    std::size_t statements_cached = 32;  // prepared, per connection
};

// Whose SQL is spoken on the other side.
enum class OdbcDialect : std::uint8_t { Other, Postgres, MariaDb, Sqlite, SqlServer };
std::string_view to_string(OdbcDialect dialect) noexcept;

// What a connection found out about its driver by asking and, where it was set, by reading back.
struct OdbcFacts {
    OdbcDialect dialect = OdbcDialect::Other;
    std::string database;  // "PostgreSQL 15.0.18"
    std::string driver;    // "psqlodbcw.so 13.02.0000"
    // SQL_ATTR_ASYNC_ENABLE is taken and stays, and SQL_ASYNC_MODE agrees. No call is made in this
    // way: there is no driver to prove it with.
    bool has_async_statements = false;
    bool has_statement_timeout = false;  // OdbcOptions::statement_timeout was asked for and stays
    bool has_transactions = false;
    bool enforces_read_only = false;  // by the database, for Access::Read
};

// Misuse for a connection string that cannot be one; it is not connected to yet.
Result<std::unique_ptr<Provider>> odbc_provider(OdbcOptions options,
                                                Access access = Access::ReadWrite);
Result<Database> open_odbc(OdbcOptions options, DatabaseOptions database = {});

// Of a connection of this database, which is made if there is none. Unsupported for a database of
// another provider.
Result<OdbcFacts> odbc_facts(Database& database, const CallOptions& options = {});

}  // namespace weft::data
