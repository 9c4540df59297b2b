// The session state that statements change besides the data: pragmas, attached files, temporary
// tables. None of it may reach the next user of the connection.
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/base/assert.h"
#include "weft/data/failure.h"
#include "weft/data/sqlite/internal/connection.h"
#include "weft/data/sqlite/internal/errors.h"

namespace weft::data::sqlite_internal {
namespace {

// These only report something about the value they take, or set what is stored in the file.
constexpr std::array kLastingPragmas{
    "application_id",     "auto_vacuum", "encoding",     "foreign_key_check", "foreign_key_list",
    "incremental_vacuum", "index_info",  "index_list",   "index_xinfo",       "integrity_check",
    "optimize",           "page_size",   "quick_check",  "schema_version",    "table_info",
    "table_list",         "table_xinfo", "user_version", "wal_checkpoint",
};

// These change how the connection works. NB: max_page_count is not among them; it is a limit of the
// in-memory database, which lives as long as its connection.
constexpr std::array kSessionPragmas{
    "query_only",
    "analysis_limit",
    "automatic_index",
    "cache_size",
    "cache_spill",
    "cell_size_check",
    "checkpoint_fullfsync",
    "count_changes",
    "defer_foreign_keys",
    "empty_result_callbacks",
    "full_column_names",
    "fullfsync",
    "ignore_check_constraints",
    "journal_mode",
    "journal_size_limit",
    "legacy_alter_table",
    "locking_mode",
    "read_uncommitted",
    "recursive_triggers",
    "reverse_unordered_selects",
    "secure_delete",
    "short_column_names",
    "temp_store",
    "threads",
    "trusted_schema",
    "writable_schema",
};

bool is_named(const char* name, const char* wanted) { return sqlite3_stricmp(name, wanted) == 0; }

std::string quoted_name(std::string_view name) {
    std::string text = "\"";
    for (char c : name) text.append(c == '"' ? 2 : 1, c);
    return text + '"';
}

struct CloseDatabase {
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
struct FinalizeStatement {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

// The text in this column of every row.
Result<std::vector<std::string>> texts_of(sqlite3* database, const char* text, int column) {
    sqlite3_stmt* prepared = nullptr;
    int code = sqlite3_prepare_v2(database, text, -1, &prepared, nullptr);
    if (code != SQLITE_OK) return error_of(database, code, Phase::Prepare);
    std::unique_ptr<sqlite3_stmt, FinalizeStatement> statement(prepared);
    std::vector<std::string> texts;
    while ((code = sqlite3_step(prepared)) == SQLITE_ROW) {
        WEFT_ASSERT(column < sqlite3_column_count(prepared), "a row has this column");
        const unsigned char* bytes = sqlite3_column_text(prepared, column);
        texts.emplace_back(bytes ? reinterpret_cast<const char*>(bytes) : "");
    }
    if (code != SQLITE_DONE) return error_of(database, code, Phase::Step);
    return texts;
}

}  // namespace

// SQLite calls this while it prepares a statement, which is also when some pragmas take effect.
int SqliteConnection::on_authorize(void* self, int action, const char* name, const char* value,
                                   const char* database, const char*) {
    auto& connection = *static_cast<SqliteConnection*>(self);
    if (connection.is_own_statement_) return SQLITE_OK;
    switch (action) {
    case SQLITE_PRAGMA:
        // Without a value the pragma only reports one.
        if (!value || std::ranges::any_of(kLastingPragmas, [&](const char* lasting) {
                return is_named(name, lasting);
            }))
            return SQLITE_OK;
        if (is_named(name, "query_only") && connection.may_only_read()) return SQLITE_DENY;
        break;
    case SQLITE_CREATE_VTABLE:
        if (!is_named(database, "temp")) return SQLITE_OK;
        break;
    case SQLITE_ATTACH:
    case SQLITE_CREATE_TEMP_INDEX:
    case SQLITE_CREATE_TEMP_TABLE:
    case SQLITE_CREATE_TEMP_TRIGGER:
    case SQLITE_CREATE_TEMP_VIEW: break;
    default: return SQLITE_OK;
    }
    connection.session_changed_ = true;
    return SQLITE_OK;
}

bool SqliteConnection::may_only_read() const { return query_only_ || access_ == Access::Read; }

Result<void> SqliteConnection::reset() {
    WEFT_DASSERT(state() == ConnectionState::Idle, "the pool resets only idle connections");
    // Relaxed: see note_state().
    if (!needs_reset_.load(std::memory_order_relaxed)) return {};
    return executor_.run<void>([&]() -> Result<void> {
        // Opening a new connection costs less than finding out what was changed; the error makes
        // the pool close this one.
        if (session_changed_ && !is_memory())
            return Error(ErrorKind::Other, "a statement changed the session");
        begin_work();
        Result<void> restored = session_changed_ ? restore_session() : end_read_only();
        end_work();
        return restored;
    });
}

Result<void> SqliteConnection::end_read_only() {
    if (!std::exchange(query_only_, false)) return {};
    return execute("pragma query_only = off");
}

// For :memory: only. The connection is the database itself, so it cannot be replaced by a new one.
Result<void> SqliteConnection::restore_session() {
    WEFT_ASSERT(is_memory(), "a connection to a file is replaced by a new one");
    WEFT_ASSERT(!is_own_statement_, "no statement of Weft is running");
    // A cached statement would change the session again without a call of the authorizer.
    cache_.clear();
    query_only_ = false;
    WEFT_TRY(restore_pragmas());
    is_own_statement_ = true;
    Result<void> dropped = drop_session_objects();
    is_own_statement_ = false;
    WEFT_TRY(dropped);
    sqlite3_busy_handler(database_, &SqliteConnection::on_busy, this);
    WEFT_TRY(configure());
    session_changed_ = false;
    return {};
}

// Sets all session pragmas to the values of a new connection.
Result<void> SqliteConnection::restore_pragmas() {
    sqlite3* opened = nullptr;
    int code = sqlite3_open_v2(":memory:", &opened,
                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
                               nullptr);
    std::unique_ptr<sqlite3, CloseDatabase> fresh(opened);
    if (code != SQLITE_OK) return error_of(opened, code, Phase::Open);
    for (const char* name : kSessionPragmas) {
        std::string text = std::string("pragma ") + name;
        std::vector<std::string> values = WEFT_TRY(texts_of(opened, text.c_str(), 0));
        // This build of SQLite may not have the pragma.
        if (values.empty()) continue;
        WEFT_TRY(execute((text + " = " + values[0]).c_str()));
    }
    // This pragma cannot be read, so its default is set.
    WEFT_TRY(execute("pragma case_sensitive_like = off"));
    // So that temporary tables can be dropped in any order; configure() switches it on again.
    return execute("pragma foreign_keys = off");
}

Result<void> SqliteConnection::drop_session_objects() {
    std::vector<std::string> names = WEFT_TRY(texts_of(database_, "pragma database_list", 1));
    for (const std::string& name : names) {
        if (name == "main" || name == "temp") continue;
        WEFT_TRY(execute(("detach " + quoted_name(name)).c_str()));
    }
    // Virtual tables first: dropping one also drops the tables that store its content.
    constexpr const char* kDrops =
        "select 'drop ' || type || ' if exists temp.\"' || replace(name, '\"', '\"\"') || '\"'"
        " from sqlite_temp_schema where type in ('trigger', 'view', 'table')"
        " and name not like 'sqlite\\_%' escape '\\'"
        " order by type = 'table', sql not like 'create virtual %'";
    std::vector<std::string> drops = WEFT_TRY(texts_of(database_, kDrops, 0));
    for (const std::string& drop : drops) WEFT_TRY(execute(drop.c_str()));
    return {};
}

}  // namespace weft::data::sqlite_internal
