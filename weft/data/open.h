// Opens a database by the name of its provider: for programs whose configuration names both.
//
//     Database db = WEFT_TRY(open_database({"postgres", "postgres://shop@db/shop"}));
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "weft/base/result.h"
#include "weft/data/database.h"
#include "weft/data/options.h"

namespace weft::data {

struct DatabasePlace {
    std::string provider;  // one of provider_names()
    std::string place;  // a file or :memory: of SQLite; else a connection string, which is secret
};

std::span<const std::string_view> provider_names();
// "postgres" if the place is an address of one ("postgres://...") or begins as its keywords do
// ("host=...", "dbname=..."), "odbc" if it begins as its connection strings do ("Driver=...",
// "DSN=..."); else "sqlite".
DatabasePlace place_of(std::string text);

// Unavailable for a provider that is not there.
Result<Database> open_database(const DatabasePlace& place, DatabaseOptions options = {});

}  // namespace weft::data
