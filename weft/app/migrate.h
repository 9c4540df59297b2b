// weft migrate: applies the migrations in a folder to a database.
//
//     weft migrate new add_users       makes migrations/20261118092500_add_users.sql
//     weft migrate status              shows which were applied
//     weft migrate up                  applies those that are pending
//
// On a plain thread: starts a runtime and returns the exit status when it has ended.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "weft/app/command_line.h"
#include "weft/base/result.h"
#include "weft/data/migrations.h"
#include "weft/data/open.h"

namespace weft::app {

int migrate(const MigrateCommand& command);

// The *.sql files of a folder; their names without the ending are the names of the migrations.
Result<std::vector<data::Migration>> read_migrations(const std::string& folder);
// The database of the command, from its options or the configuration. The error is text for
// people.
std::expected<data::DatabasePlace, std::string> database_of(const MigrateCommand& command);

}  // namespace weft::app
