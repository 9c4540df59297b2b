// Migrations: texts of SQL that bring the schema of a database up to date, each once, in the order
// of their names.
//
//     std::vector<Migration> all{{"0001_users", "create table users (...)"}};
//     std::vector<std::string> done = WEFT_TRY(migrate_up(db, all));
//
// What was applied stands in the table weft_migrations, with the hash of its text. Each migration
// is applied and noted in one transaction, so that after a crash it was either done or not; and two
// who begin at once do not do it twice. A text that has changed since it was applied stops
// everything: the schema is then not what the files say. Any fiber, any thread.
//
// A database that commits at each change of the schema, as MariaDB does, cannot undo half of a
// migration: one that fails or crashes there stays noted as unfinished, until somebody has put the
// schema in order and deleted its row.
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
    std::string name;  // not empty; each is there once
    std::string text;  // statements, without begin and commit
};
// Of a text, as it is noted. Line ends do not count.
std::string migration_hash(std::string_view text);

enum class MigrationState : std::uint8_t {
    Applied,
    Pending,
    Changed,  // applied, and its text is another now
    Missing,  // applied, and not among the migrations any more
    // Begun, and neither finished nor undone. It may be under way at this moment.
    Unfinished,
};
std::string_view to_string(MigrationState state) noexcept;

struct MigrationStatus {
    std::string name;
    MigrationState state = MigrationState::Pending;
};

// In the order of names. Changes nothing.
Result<std::vector<MigrationStatus>> migration_status(Database& database,
                                                      std::span<const Migration> migrations);
// Applies what is pending; the names of what it has done. Nothing is done if something has changed
// is missing or unfinished; a migration that fails is undone, as far as the database can, named,
// and ends it.
Result<std::vector<std::string>> migrate_up(Database& database,
                                            std::span<const Migration> migrations);

}  // namespace weft::data
