// What databases behind ODBC do in ways of their own: ODBC has calls for commit and rollback, and
// none for savepoints, sessions that only read, or whether a transaction still goes on.
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

// Makes a new session the way the contract wants it: names in double quotes, times in UTC; and
// reading only, if that is all the handle may do.
std::vector<std::string> session_texts(OdbcDialect dialect, Access access);
// A query whose answer is "on" or 1 if the session reads only; empty where none can be made to.
std::string_view reads_only_text(OdbcDialect dialect);

// The texts of a transaction that begins, after autocommit was switched off.
std::vector<std::string> begin_texts(OdbcDialect dialect, bool read_only);
// What is said when a transaction that only reads has ended.
std::string_view end_text(OdbcDialect dialect, bool read_only);
// Of savepoints; empty where nothing has to be said.
std::string savepoint_text(OdbcDialect dialect, TransactionStep step, unsigned depth);
// A query that tells whether the transaction still goes on: it fails, or gives 0, if not. Empty
// where only the error tells.
std::string_view alive_text(OdbcDialect dialect);
// Where SQLCancel is not safe beside a call that has just ended: a query for the number of the
// session, and what another session says to end its statement. Empty where SQLCancel is.
std::string_view session_number_text(OdbcDialect dialect);
std::string kill_text(std::int64_t session_number);
// Makes a session as good as new; empty where only a new one is.
std::string_view reset_text(OdbcDialect dialect);
// Whether a text with several statements can be given whole.
bool takes_scripts(OdbcDialect dialect);

// How its texts are written.
const SqlSyntax& syntax_of(OdbcDialect dialect);
// Whether one of the statements of a text may leave something in the session that the next user
// would see. Rather yes than no, but for tables: they are everybody's anyway.
bool may_change_session(std::string_view text, OdbcDialect dialect);
// Whether it could let a session write which only reads; where sessions cannot be told to, whether
// it could write.
bool may_allow_writes(std::string_view text, OdbcDialect dialect);
// insert, update, delete, merge: rows that it gives are those it changed.
bool is_write(std::string_view text, OdbcDialect dialect);

}  // namespace weft::data::odbc
