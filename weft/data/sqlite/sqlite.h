// SQLite: the embedded database.
//
//     Database db = WEFT_TRY(open_sqlite({.path = "shop.db"}));
//     Database scratch = WEFT_TRY(open_sqlite({.path = ":memory:"}));
//
// Each connection has a thread of its own, on which everything of it happens; the fiber that asked
// parks. So a long scan, or the wait for a lock that another process holds, stops nobody else. A
// call that is cancelled or whose time is over stops the statement within a few thousand of its
// steps; that can never hit the statement after it.
//
// Files are in WAL mode, with foreign keys enforced. A handle with Access::Read opens the file for
// reading only. :memory: has one connection, and is gone with the last copy of the handle.
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
    std::string path;  // of the file, made if it is missing and may be written; or :memory:
    // How long a statement waits for a lock of another connection: Cause::Busy then.
    Nanoseconds busy_timeout = std::chrono::seconds(5);
    std::size_t statements_cached = 64;  // prepared, per connection
    bool foreign_keys = true;
    // Every commit reaches the disk before it returns (synchronous=full). Without it, a loss of
    // power may undo the last commits of a file in WAL mode, but never damages it.
    bool full_durability = false;
};

std::unique_ptr<Provider> sqlite_provider(SqliteOptions options, Access access);
Result<Database> open_sqlite(SqliteOptions sqlite, DatabaseOptions options = {});

// Copies the database into a file, of which nothing else is left, while others go on.
Result<void> backup_sqlite(Database& database, const std::string& path,
                           const CallOptions& options = {});

}  // namespace weft::data
