// SQLite: the embedded database.
//
//     Database db = WEFT_TRY(open_sqlite({.path = "shop.db"}));
//     Database scratch = WEFT_TRY(open_sqlite({.path = ":memory:"}));
//
// Each connection has a thread of its own that makes all of its SQLite calls, while the calling
// fiber parks. So a long scan, or the wait for a lock that another process holds, blocks no worker.
// A call that is cancelled or times out stops its statement within a few thousand steps of SQLite's
// virtual machine, and can never hit the statement after it.
//
// Files are in WAL mode, with foreign keys enforced. A handle with Access::Read opens the file for
// reading only. A :memory: database has one connection, and ends with the last copy of the handle.
// Any fiber, any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/data/database.h"
#include "weft/data/options.h"
#include "weft/data/provider.h"

namespace weft::data {

struct SqliteOptions {
    std::string path;  // a file, created if missing and writable; or :memory:
    // How long a statement waits for a lock of another connection before it fails with Cause::Busy.
    Nanoseconds busy_timeout = std::chrono::seconds(5);
    std::size_t statements_cached = 64;  // prepared, per connection
    bool foreign_keys = true;
    // Every commit reaches the disk before it returns (synchronous=full). Without it, a power
    // failure may undo the last commits of a file in WAL mode, but never damages the file.
    bool full_durability = false;
};

std::unique_ptr<Provider> sqlite_provider(SqliteOptions options, Access access);
Result<Database> open_sqlite(SqliteOptions sqlite, DatabaseOptions options = {});

// Copies the database into a file and replaces its content; other connections go on meanwhile.
Result<void> backup_sqlite(Database& database, const std::string& path,
                           const CallOptions& options = {});

}  // namespace weft::data
