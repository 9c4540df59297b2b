#include "weft/data/open.h"

#include <utility>

#include "weft/data/odbc/odbc.h"
#include "weft/data/postgres/postgres.h"
#include "weft/data/sqlite/sqlite.h"

namespace weft::data {
namespace {

constexpr std::string_view kSqlite = "sqlite";
constexpr std::string_view kPostgres = "postgres";
constexpr std::string_view kOdbc = "odbc";
constexpr std::string_view kNames[] = {kSqlite, kPostgres, kOdbc};

// "Driver=...;..." or "DSN=...;...", in any case of the letters.
bool is_odbc(std::string_view text) {
    std::string key(text.substr(0, text.find('=')));
    for (char& c : key)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return key.size() < text.size() && (key == "driver" || key == "dsn");
}

}  // namespace

std::span<const std::string_view> provider_names() { return kNames; }

DatabasePlace place_of(std::string text) {
    bool is_address = text.starts_with("postgres://") || text.starts_with("postgresql://");
    if (is_address) return {std::string(kPostgres), std::move(text)};
    return {std::string(is_odbc(text) ? kOdbc : kSqlite), std::move(text)};
}

Result<Database> open_database(const DatabasePlace& place, DatabaseOptions options) {
    if (place.provider == kSqlite) return open_sqlite({.path = place.place}, std::move(options));
    if (place.provider == kPostgres)
        return open_postgres({.connection_string = place.place}, std::move(options));
    if (place.provider == kOdbc)
        return open_odbc({.connection_string = place.place}, std::move(options));
    return Error(ErrorKind::Unavailable, "no such provider: " + place.provider);
}

}  // namespace weft::data
