// Opens a database by the name of its provider, for programs whose configuration names both. Any
// fiber, any thread.
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
    std::string place;     // SQLite: a file or :memory:; else a connection string, which is secret
};

std::span<const std::string_view> provider_names();
// The provider is "postgres" for a URL ("postgres://...") or a string that begins with a keyword of
// libpq ("host=...", "dbname=..."), "odbc" for a string that begins with "Driver=" or "DSN=", else
// "sqlite".
DatabasePlace place_of(std::string text);

// Unavailable for an unknown provider.
Result<Database> open_database(const DatabasePlace& place, DatabaseOptions options = {});

}  // namespace weft::data
