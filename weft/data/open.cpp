#include "weft/data/open.h"

#include <algorithm>
#include <iterator>
#include <string_view>
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

// The text before the first "=", in lower case; empty if there is no "=".
std::string first_key(std::string_view text) {
    std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) return {};
    std::string key(text.substr(0, equals));
    while (key.ends_with(' ')) key.pop_back();
    for (char& c : key)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return key;
}

bool is_odbc_key(std::string_view key) { return key == "driver" || key == "dsn"; }

// The keywords that a connection string for libpq may begin with. SQLite would create a file of
// that name, with the password in it.
bool is_postgres_key(std::string_view key) {
    constexpr std::string_view kKeys[] = {"host",     "hostaddr", "port",    "dbname", "user",
                                          "password", "sslmode",  "service", "options"};
    return std::ranges::find(kKeys, key) != std::end(kKeys);
}

}  // namespace

std::span<const std::string_view> provider_names() { return kNames; }

DatabasePlace place_of(std::string text) {
    bool is_address = text.starts_with("postgres://") || text.starts_with("postgresql://");
    std::string key = first_key(text);
    if (is_address || is_postgres_key(key)) return {std::string(kPostgres), std::move(text)};
    return {std::string(is_odbc_key(key) ? kOdbc : kSqlite), std::move(text)};
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
