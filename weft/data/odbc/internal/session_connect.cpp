#include <algorithm>
#include <span>
#include <utility>

#include "weft/base/assert.h"
#include "weft/data/failure.h"
#include "weft/data/odbc/internal/session.h"
#include "weft/data/odbc/internal/wide.h"

namespace weft::data::odbc {
namespace {

constexpr SQLSMALLINT kInfoUnits = 256;
// An attribute of psqlodbc: it fetches rows by a cursor at the server, and not all at once.
constexpr SQLINTEGER kUseDeclareFetch = 65536 + 3;

SQLPOINTER as_pointer(SQLULEN value) { return reinterpret_cast<SQLPOINTER>(value); }

}  // namespace

Result<void> Session::connect() {
    WEFT_TRY(open_link());
    WEFT_TRY(ask_facts());
    // After a change of the table, SQLite's driver would still use the columns from the time of the
    // preparation.
    bool caches = facts_.dialect != OdbcDialect::Sqlite;
    cache_ = StatementCache(caches ? options_.statements_cached : 0);
    if (std::string_view text = session_number_text(facts_.dialect); !text.empty()) {
        std::optional<Value> number = WEFT_TRY(query_own(text));
        if (number && number->type() == Type::Integer) session_number_ = number->integer();
    }
    return prepare_session();
}

Result<void> Session::open_link() {
    WEFT_ASSERT(!is_connected_, "a session connects once");
    // Each connection has its own environment: some threading levels of the driver manager lock the
    // whole environment during a call.
    if (!environment_.allocate(nullptr))
        return Error(ErrorKind::OutOfMemory, "odbc: the driver manager gives no environment");
    SQLSetEnvAttr(environment_.get(), SQL_ATTR_ODBC_VERSION, as_pointer(SQL_OV_ODBC3), 0);
    if (!link_.allocate(environment_.get()))
        return Error(ErrorKind::OutOfMemory, "odbc: the driver manager gives no connection");
    auto seconds = std::chrono::ceil<std::chrono::seconds>(options_.login_timeout).count();
    SQLSetConnectAttr(link_.get(), SQL_ATTR_LOGIN_TIMEOUT,
                      as_pointer(static_cast<SQLULEN>(std::max<std::int64_t>(seconds, 1))), 0);
    Wide text = to_wide(options_.connection_string);
    SQLWCHAR completed[kInfoUnits] = {};
    SQLSMALLINT units = 0;
    SQLRETURN code =
        SQLDriverConnectW(link_.get(), nullptr, text.data(), static_cast<SQLSMALLINT>(text.size()),
                          completed, kInfoUnits, &units, SQL_DRIVER_NOPROMPT);
    std::ranges::fill(text, SQLWCHAR{0});
    std::ranges::fill(completed, SQLWCHAR{0});
    is_connected_ = SQL_SUCCEEDED(code);
    if (is_connected_) return {};
    return link_error(Phase::Connect);
}

std::string Session::info(SQLUSMALLINT kind) const {
    SQLWCHAR text[kInfoUnits] = {};
    SQLSMALLINT bytes = 0;
    if (!SQL_SUCCEEDED(SQLGetInfoW(link_.get(), kind, text, sizeof(text), &bytes))) return {};
    auto units = static_cast<std::size_t>(bytes) / sizeof(SQLWCHAR);
    return shown(std::span<const SQLWCHAR>(text).first(std::min<std::size_t>(units, kInfoUnits)));
}

Result<void> Session::ask_facts() {
    std::string database = info(SQL_DBMS_NAME);
    std::string driver = info(SQL_DRIVER_NAME);
    facts_.dialect = dialect_of(database);
    facts_.database = database + " " + info(SQL_DBMS_VER);
    facts_.driver = driver + " " + info(SQL_DRIVER_VER);
    is_psqlodbc_ = driver.find("psqlodbc") != std::string::npos;
    SQLUSMALLINT transactions = SQL_TC_NONE;
    SQLGetInfoW(link_.get(), SQL_TXN_CAPABLE, &transactions, sizeof(transactions), nullptr);
    facts_.has_transactions = transactions != SQL_TC_NONE;
    StatementHandle handle = WEFT_TRY(new_statement());
    SQLULEN seconds = 0;
    SQLGetStmtAttr(handle.get(), SQL_ATTR_QUERY_TIMEOUT, &seconds, 0, nullptr);
    facts_.has_statement_timeout =
        options_.statement_timeout.count() > 0 &&
        seconds == static_cast<SQLULEN>(options_.statement_timeout.count());
    facts_.has_async_statements = proves_async();
    return {};
}

// A driver that accepts the attribute may still block, so its reported mode is checked as well.
bool Session::proves_async() {
    SQLUINTEGER mode = SQL_AM_NONE;
    SQLGetInfoW(link_.get(), SQL_ASYNC_MODE, &mode, sizeof(mode), nullptr);
    StatementHandle handle;
    if (mode == SQL_AM_NONE || !handle.allocate(link_.get())) return false;
    SQLSetStmtAttr(handle.get(), SQL_ATTR_ASYNC_ENABLE, as_pointer(SQL_ASYNC_ENABLE_ON), 0);
    SQLULEN enabled = SQL_ASYNC_ENABLE_OFF;
    SQLGetStmtAttr(handle.get(), SQL_ATTR_ASYNC_ENABLE, &enabled, 0, nullptr);
    return enabled == SQL_ASYNC_ENABLE_ON;
}

Result<void> Session::prepare_session() {
    for (const std::string& text : session_texts(facts_.dialect, access_))
        WEFT_TRY(execute_own(text));
    if (access_ == Access::Read) return check_reads_only();
    return {};
}

// If the database can enforce read-only sessions, checks that the session is one.
Result<void> Session::check_reads_only() {
    std::string_view text = reads_only_text(facts_.dialect);
    if (text.empty()) return {};
    std::optional<Value> answer = WEFT_TRY(query_own(text));
    facts_.enforces_read_only = answer && (*answer == Value("on") || *answer == Value("1") ||
                                           *answer == Value(std::int64_t{1}));
    if (facts_.enforces_read_only) return {};
    return data::to_error(kName, "25006", "the session cannot be made to read only");
}

void Session::stream_rows(bool wanted) {
    if (!is_psqlodbc_ || streams_rows_ == wanted) return;
    if (SQL_SUCCEEDED(
            SQLSetConnectAttr(link_.get(), kUseDeclareFetch, as_pointer(wanted ? 1 : 0), 0)))
        streams_rows_ = wanted;
}

// Sets an attribute of the connection, and reads it back: true only if it has the new value.
bool Session::set_attribute(SQLINTEGER attribute, SQLULEN value) {
    if (!SQL_SUCCEEDED(SQLSetConnectAttr(link_.get(), attribute, as_pointer(value), 0)))
        return false;
    return attribute_of(attribute, value) == value;
}

SQLULEN Session::attribute_of(SQLINTEGER attribute, SQLULEN otherwise) const {
    // Some drivers write four bytes, some eight.
    SQLULEN value = 0;
    SQLRETURN code = SQLGetConnectAttr(link_.get(), attribute, &value, sizeof(value), nullptr);
    return SQL_SUCCEEDED(code) ? value & 0xffff'ffff : otherwise;
}

}  // namespace weft::data::odbc
