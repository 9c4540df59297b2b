// Migrations: SQL scripts that bring the schema of a database up to date. Each is applied once, in
// the order of their names.
//
//     std::vector<Migration> all{{"0001_users", "create table users (...)"}};
//     std::vector<std::string> done = WEFT_TRY(migrate_up(db, all));
//
// The table weft_migrations records what was applied, with a hash of its text. Each migration is
// applied and recorded in one transaction, so that after a crash it was either done or not, and two
// processes that start at once do not apply it twice. If the text of an applied migration has
// changed, nothing is applied: the schema is no longer what the files say. Any fiber, any thread.
//
// A database that commits at each change of the schema, as MariaDB does, cannot undo half of a
// migration. One that fails or crashes there stays recorded as unfinished until somebody has
// repaired the schema and deleted its row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"
#include "weft/data/database.h"

namespace weft::data {

struct Migration {
    std::string name;  // not empty, unique
    std::string text;  // statements, without begin and commit
};
// The hash that is recorded for a text. Carriage returns are ignored.
std::string migration_hash(std::string_view text);

enum class MigrationState : std::uint8_t {
    Applied,
    Pending,
    Changed,  // applied, but the text has changed since
    Missing,  // applied, but no longer among the migrations
    // Begun, but neither finished nor undone; it may be running at this moment.
    Unfinished,
};
std::string_view to_string(MigrationState state) noexcept;

struct MigrationStatus {
    std::string name;
    MigrationState state = MigrationState::Pending;
};

// The status of each, in the order of names. Changes nothing.
Result<std::vector<MigrationStatus>> migration_status(Database& database,
                                                      std::span<const Migration> migrations);
// Applies the pending migrations and returns their names. Applies none if one is changed, missing
// or unfinished. A migration that fails is undone as far as the database can; the error names it,
// and no further one is applied.
Result<std::vector<std::string>> migrate_up(Database& database,
                                            std::span<const Migration> migrations);

}  // namespace weft::data
