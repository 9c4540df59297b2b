// How the databases behind ODBC differ. ODBC has calls for commit and rollback, but none for
// savepoints, for read-only sessions, or for asking whether a transaction is still open. Any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/data/internal/sql_words.h"
#include "weft/data/odbc/odbc.h"
#include "weft/data/provider.h"

namespace weft::data::odbc {

inline constexpr std::string_view kName = "odbc";

// By SQL_DBMS_NAME.
OdbcDialect dialect_of(std::string_view database_name);

// The statements that set up a new session: names in double quotes, times in UTC, and read-only for
// Access::Read.
std::vector<std::string> session_texts(OdbcDialect dialect, Access access);
// A query that returns "on" or 1 if the session is read-only; empty if the database has no
// read-only sessions.
std::string_view reads_only_text(OdbcDialect dialect);

// The statements that begin a transaction, after autocommit was switched off.
std::vector<std::string> begin_texts(OdbcDialect dialect, bool read_only);
// The statement that follows the end of a transaction; empty if none.
std::string_view end_text(OdbcDialect dialect, bool read_only);
// The statement for a step with savepoints; empty if none is needed.
std::string savepoint_text(OdbcDialect dialect, TransactionStep step, unsigned depth);
// A query that fails or returns 0 if the transaction is no longer open. Empty if only the error of
// the failed statement tells.
std::string_view alive_text(OdbcDialect dialect);
// A query for the number of the session, and the statement by which another session stops the one
// that runs there: for drivers whose SQLCancel is not safe beside a call that just ends. Empty
// where it is safe.
std::string_view session_number_text(OdbcDialect dialect);
std::string kill_text(std::int64_t session_number);
// The statement that resets a session; empty if only a new connection can.
std::string_view reset_text(OdbcDialect dialect);
// Whether a text of several statements can be executed as one.
bool takes_scripts(OdbcDialect dialect);

// The lexical syntax of the dialect.
const SqlSyntax& syntax_of(OdbcDialect dialect);
// Whether one of the statements may change session state that the next user would see. When in
// doubt, true; tables do not count, they are visible to all anyway.
bool may_change_session(std::string_view text, OdbcDialect dialect);
// Whether the text could let a read-only session write; where sessions cannot be made read-only,
// whether it could write.
bool may_allow_writes(std::string_view text, OdbcDialect dialect);
// insert, update, delete, merge, replace: the rows that these return are those they changed.
bool is_write(std::string_view text, OdbcDialect dialect);

}  // namespace weft::data::odbc
