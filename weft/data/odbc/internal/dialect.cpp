#include "weft/data/odbc/internal/dialect.h"

#include <algorithm>
#include <array>
#include <utility>

#include "weft/data/odbc/internal/script.h"

namespace weft::data {

std::string_view to_string(OdbcDialect dialect) noexcept {
    switch (dialect) {
    case OdbcDialect::Other: return "other";
    case OdbcDialect::Postgres: return "postgres";
    case OdbcDialect::MariaDb: return "mariadb";
    case OdbcDialect::Sqlite: return "sqlite";
    case OdbcDialect::SqlServer: return "sqlserver";
    }
    return "?";
}

namespace odbc {

OdbcDialect dialect_of(std::string_view name) {
    constexpr std::array<std::pair<std::string_view, OdbcDialect>, 5> kNames{{
        {"PostgreSQL", OdbcDialect::Postgres},
        {"MariaDB", OdbcDialect::MariaDb},
        {"MySQL", OdbcDialect::MariaDb},
        {"SQLite", OdbcDialect::Sqlite},
        {"Microsoft SQL Server", OdbcDialect::SqlServer},
    }};
    auto found = std::ranges::find(kNames, name, &decltype(kNames)::value_type::first);
    return found == kNames.end() ? OdbcDialect::Other : found->second;
}

std::vector<std::string> session_texts(OdbcDialect dialect, Access access) {
    std::vector<std::string> texts;
    bool reads = access == Access::Read;
    switch (dialect) {
    case OdbcDialect::Postgres:
        // The driver's own words among them, which `discard all` forgets.
        texts.emplace_back("set time zone 'UTC'");
        texts.emplace_back("set datestyle to 'ISO'");
        if (reads) texts.emplace_back("set default_transaction_read_only = on");
        break;
    case OdbcDialect::MariaDb:
        texts.emplace_back(
            "set session sql_mode = concat(@@sql_mode, ',ANSI_QUOTES'),"
            " time_zone = '+00:00'");
        if (reads) texts.emplace_back("set session transaction read only");
        break;
    case OdbcDialect::Sqlite:
        texts.emplace_back("pragma foreign_keys = on");
        if (reads) texts.emplace_back("pragma query_only = on");
        break;
    default: break;
    }
    return texts;
}

std::string_view reads_only_text(OdbcDialect dialect) {
    switch (dialect) {
    case OdbcDialect::Postgres: return "select current_setting('default_transaction_read_only')";
    case OdbcDialect::MariaDb: return "select @@session.tx_read_only";
    case OdbcDialect::Sqlite: return "pragma query_only";
    default: return {};
    }
}

std::vector<std::string> begin_texts(OdbcDialect dialect, bool read_only) {
    switch (dialect) {
    case OdbcDialect::Postgres:
        if (read_only) return {"set transaction read only"};
        return {};
    // Without it, whether there is one cannot be asked for before the first table is touched.
    case OdbcDialect::MariaDb:
        return {read_only ? "start transaction read only" : "start transaction"};
    case OdbcDialect::Sqlite:
        if (read_only) return {"pragma query_only = on"};
        return {};
    default: return {};
    }
}

std::string_view end_text(OdbcDialect dialect, bool read_only) {
    return read_only && dialect == OdbcDialect::Sqlite ? "pragma query_only = off" : "";
}

std::string savepoint_text(OdbcDialect dialect, TransactionStep step, unsigned depth) {
    if (dialect != OdbcDialect::SqlServer) return transaction_text(step, depth);
    std::string name = "weft_" + std::to_string(depth);
    if (step == TransactionStep::Savepoint) return "save transaction " + name;
    if (step == TransactionStep::RollbackToSavepoint) return "rollback transaction " + name;
    return {};  // savepoints end with their transaction there
}

std::string_view alive_text(OdbcDialect dialect) {
    switch (dialect) {
    case OdbcDialect::Postgres: return "select 1";
    case OdbcDialect::MariaDb: return "select @@in_transaction";
    case OdbcDialect::SqlServer: return "select @@trancount";
    default: return {};
    }
}

// MariaDB's driver closes the statement where it finds that nothing runs, also under the hands of
// the thread that is about to.
std::string_view session_number_text(OdbcDialect dialect) {
    return dialect == OdbcDialect::MariaDb ? "select connection_id()" : "";
}

std::string kill_text(std::int64_t session_number) {
    return "kill query " + std::to_string(session_number);
}

std::string_view reset_text(OdbcDialect dialect) {
    return dialect == OdbcDialect::Postgres ? "discard all" : "";
}

bool takes_scripts(OdbcDialect dialect) {
    return dialect == OdbcDialect::Postgres || dialect == OdbcDialect::SqlServer;
}

bool may_change_session(std::string_view text) {
    std::string word = first_word(text);
    constexpr std::array<std::string_view, 14> kHarmless = {
        "select", "insert", "update", "delete",   "with",  "values", "table",
        "merge",  "create", "drop",   "truncate", "alter", "show",   "waitfor"};
    if (std::ranges::find(kHarmless, word) == kHarmless.end()) return true;
    std::string all = lower_text(text);
    constexpr std::array<std::string_view, 7> kMarks = {
        "temp", "set_config", "lock", "alter session", ":=", "into @", "#"};
    return std::ranges::any_of(
        kMarks, [&](std::string_view mark) { return all.find(mark) != std::string::npos; });
}

bool may_allow_writes(std::string_view text) {
    constexpr std::array<std::string_view, 5> kReading = {"select", "with", "values", "table",
                                                          "show"};
    if (std::ranges::find(kReading, first_word(text)) == kReading.end()) return true;
    return split_script(text).size() > 1;
}

bool is_write(std::string_view text) {
    constexpr std::array<std::string_view, 5> kWords = {"insert", "update", "delete", "merge",
                                                        "replace"};
    return std::ranges::find(kWords, first_word(text)) != kWords.end();
}

}  // namespace odbc
}  // namespace weft::data
