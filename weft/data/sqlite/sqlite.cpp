#include "weft/data/sqlite/sqlite.h"

#include <utility>

#include "weft/data/failure.h"
#include "weft/data/internal/core.h"
#include "weft/data/pool.h"
#include "weft/data/sqlite/internal/connection.h"
#include "weft/data/sqlite/internal/errors.h"
#include "weft/data/sqlite/internal/shared.h"

namespace weft::data {
namespace {

class SqliteProvider final : public Provider {
public:
    SqliteProvider(SqliteOptions options, Access access)
        : options_(std::move(options)), access_(access) {}

    std::string_view name() const override { return sqlite_internal::kName; }
    std::string_view mode() const override { return "serialized thread"; }
    Placeholders placeholders() const override { return Placeholders::Question; }
    std::size_t connections_max() const override { return is_permanent() ? 1 : SIZE_MAX; }
    bool is_permanent() const override { return options_.path == ":memory:"; }
    Result<std::unique_ptr<Connection>> connect() override {
        return sqlite_internal::SqliteConnection::open(options_, access_);
    }
    std::unique_ptr<SharedConnections> share(const std::shared_ptr<Pool>& pool) override {
        return std::make_unique<sqlite_internal::SqliteShared>(pool);
    }

private:
    const SqliteOptions options_;
    const Access access_;
};

}  // namespace

std::unique_ptr<Provider> sqlite_provider(SqliteOptions options, Access access) {
    return std::make_unique<SqliteProvider>(std::move(options), access);
}

Result<Database> open_sqlite(SqliteOptions sqlite, DatabaseOptions options) {
    if (sqlite.path.empty()) return Error(ErrorKind::Misuse, "SQLite: the path is empty");
    if (sqlite.path.find('\0') != std::string::npos)
        return Error(ErrorKind::Misuse, "SQLite: the path has a NUL");
    Access access = options.access;
    Database database =
        WEFT_TRY(Database::open(sqlite_provider(std::move(sqlite), access), std::move(options)));
    // Opens a connection now, so that an unusable file is reported here and not at the first
    // statement.
    Lease lease = WEFT_TRY(database.reserve());
    return database;
}

Result<void> backup_sqlite(Database& database, const std::string& path,
                           const CallOptions& options) {
    if (database.provider().name() != sqlite_internal::kName)
        return to_error(database.provider().name(), kUnsupportedState, "no backup into a file");
    database_internal::CallScope scope(options);
    Lease lease = WEFT_TRY(database.reserve());
    return static_cast<sqlite_internal::SqliteConnection&>(*lease).backup(path);
}

}  // namespace weft::data
