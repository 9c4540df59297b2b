// weft migrate: the files of a folder that bring a database up to date.
//
//     weft migrate new add_users       makes migrations/20261118092500_add_users.sql
//     weft migrate status              which were applied
//     weft migrate up                  applies what is pending
//
// A plain thread: starts a runtime and returns when that has ended.
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

// The *.sql of a folder, by their names without that.
Result<std::vector<data::Migration>> read_migrations(const std::string& folder);
// The database that the command means: the error is a text for people.
std::expected<data::DatabasePlace, std::string> database_of(const MigrateCommand& command);

}  // namespace weft::app
