#include "weft/data/odbc/internal/dialect.h"

#include <algorithm>
#include <array>
#include <utility>

#include "weft/data/postgres/internal/words.h"

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
        // Also what the driver has set itself, because `discard all` resets it.
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
    // Without it @@in_transaction is 0 until the first table is used.
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

// SQLCancel of MariaDB's driver closes the statement if it finds nothing running, even if another
// thread is about to use it.
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

const SqlSyntax& syntax_of(OdbcDialect dialect) {
    static constexpr SqlSyntax kMariaDb{
        .backticks = true, .backslashes = true, .mariadb_comments = true, .marks = "@"};
    static constexpr SqlSyntax kSqlite{.brackets = true, .backticks = true};
    static constexpr SqlSyntax kSqlServer{.brackets = true, .nested_comments = true, .marks = "@#"};
    static constexpr SqlSyntax kOther{.brackets = true, .backticks = true, .marks = "@#"};
    switch (dialect) {
    case OdbcDialect::Postgres: return kPostgresSyntax;
    case OdbcDialect::MariaDb: return kMariaDb;
    case OdbcDialect::Sqlite: return kSqlite;
    case OdbcDialect::SqlServer: return kSqlServer;
    default: return kOther;
    }
}

namespace {

template <std::size_t Count>
bool contains(const std::array<std::string_view, Count>& words, std::string_view word) {
    return std::ranges::find(words, word) != words.end();
}

template <std::size_t Count>
bool has_keyword(const SqlWords& words, const std::array<std::string_view, Count>& keywords) {
    return std::ranges::any_of(words, [&](const SqlWord& word) {
        return !word.is_quoted && contains(keywords, word.text);
    });
}

// Assignments to variables, and temporary tables by their names (#name).
bool has_marks(const SqlWords& words) {
    for (std::size_t at = 0; at < words.size(); ++at) {
        const SqlWord& word = words[at];
        if (word.is(":=") || (word.text.size() > 1 && word.text.front() == '#')) return true;
        if (at > 0 && words[at - 1].is("into") && word.text.starts_with('@')) return true;
    }
    return false;
}

// Statements of SQL Server need no semicolon between them, and "set" is also part of an update and
// of a foreign key, so each "set" is matched with an "update".
bool sets_option(const SqlWords& words) {
    std::size_t updates = 0;
    for (std::size_t at = 0; at < words.size(); ++at) {
        auto is_next = [&](std::string_view word) {
            return at + 1 < words.size() && words[at + 1].is(word);
        };
        if (words[at].is("update")) {
            bool is_other = is_next("statistics") || (at > 0 && words[at - 1].is("on"));
            if (!is_other) ++updates;
        } else if (words[at].is("set") && !is_next("null") && !is_next("default")) {
            if (updates == 0) return true;
            --updates;
        }
    }
    return false;
}

bool may_change_session(const SqlWords& words, OdbcDialect dialect) {
    constexpr std::array<std::string_view, 14> kHarmless = {
        "select", "insert", "update", "delete",   "with",  "values", "table",
        "merge",  "create", "drop",   "truncate", "alter", "show",   "waitfor"};
    if (!contains(kHarmless, first_word(words))) return true;
    if (postgres::makes_temporary(words) || has_marks(words)) return true;
    constexpr std::array<std::string_view, 14> kSqlServer = {
        "begin", "commit",  "rollback",   "save",   "exec",    "execute", "use",
        "open",  "declare", "deallocate", "revert", "setuser", "dbcc",    "kill"};
    constexpr std::array<std::string_view, 1> kMariaDb = {"get_lock"};
    switch (dialect) {
    case OdbcDialect::Postgres: return postgres::calls_for_session(words);
    case OdbcDialect::MariaDb: return has_keyword(words, kMariaDb);
    case OdbcDialect::Sqlite: return false;
    case OdbcDialect::SqlServer: return has_keyword(words, kSqlServer) || sets_option(words);
    default:
        return postgres::calls_for_session(words) || has_keyword(words, kMariaDb) ||
               (words.size() > 1 && words[0].is("alter") && words[1].is("session"));
    }
}

// All of these are reserved words of SQL Server, so an unquoted column cannot have such a name.
bool may_write(const SqlWords& words) {
    constexpr std::array<std::string_view, 30> kWriting = {
        "insert", "update",  "delete",    "into",       "truncate",    "drop",
        "create", "alter",   "exec",      "execute",    "begin",       "commit",
        "save",   "set",     "use",       "grant",      "revoke",      "deny",
        "bulk",   "dbcc",    "kill",      "backup",     "restore",     "shutdown",
        "revert", "setuser", "openquery", "openrowset", "reconfigure", "rollback"};
    for (std::size_t at = 0; at < words.size(); ++at) {
        if (words[at].is_quoted) continue;
        if (contains(kWriting, words[at].text)) return true;
        // "merge join" and "merge union" are hints.
        bool is_hint =
            at + 1 < words.size() && (words[at + 1].is("join") || words[at + 1].is("union"));
        if (words[at].text == "merge" && !is_hint) return true;
    }
    return false;
}

}  // namespace

bool may_change_session(std::string_view text, OdbcDialect dialect) {
    return std::ranges::any_of(
        words_of_statements(text, syntax_of(dialect)),
        [&](const SqlWords& words) { return may_change_session(words, dialect); });
}

bool may_allow_writes(std::string_view text, OdbcDialect dialect) {
    constexpr std::array<std::string_view, 5> kReading = {"select", "with", "values", "table",
                                                          "show"};
    std::vector<SqlWords> statements = words_of_statements(text, syntax_of(dialect));
    if (statements.size() != 1 || !contains(kReading, first_word(statements.front()))) return true;
    return reads_only_text(dialect).empty() && may_write(statements.front());
}

bool is_write(std::string_view text, OdbcDialect dialect) {
    constexpr std::array<std::string_view, 5> kWords = {"insert", "update", "delete", "merge",
                                                        "replace"};
    return contains(kWords, first_word(text, syntax_of(dialect)));
}

}  // namespace odbc
}  // namespace weft::data
