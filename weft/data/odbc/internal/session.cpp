#include "weft/data/odbc/internal/session.h"

#include <mutex>
#include <utility>

#include "weft/base/assert.h"
#include "weft/data/failure.h"
#include "weft/data/odbc/internal/call.h"
#include "weft/data/odbc/internal/script.h"
#include "weft/data/odbc/internal/wide.h"

namespace weft::data::odbc {
namespace {

// A late cancel may still hit the next statement, and hardly more than two of them.
constexpr int kAbsorbAttemptsMax = 3;

bool is_done(SQLRETURN code) { return SQL_SUCCEEDED(code) || code == SQL_NO_DATA; }

bool is_stale(const Error& error) {
    std::string state = sqlstate_of(error);
    return state == "0A000" || state == "26000";
}

}  // namespace

Session::~Session() {
    WEFT_ASSERT(number_ == 0 && !waiting_, "no work is under way when the session ends");
    cursor_.reset();
    cache_.clear();
    // A driver refuses to disconnect in the middle of a transaction.
    if (is_connected_ && in_transaction_) SQLEndTran(SQL_HANDLE_DBC, link_.get(), SQL_ROLLBACK);
    if (is_connected_) SQLDisconnect(link_.get());
}

void Session::begin_work(std::uint64_t number) {
    {
        std::lock_guard guard(cancel_mutex_);
        WEFT_ASSERT(number != 0, "zero is the number of no work");
        WEFT_ASSERT(number_ == 0, "one piece of work at a time");
        number_ = number;
    }
    if (!cursor_) absorb_late_cancel();
}

void Session::end_work() {
    std::lock_guard guard(cancel_mutex_);
    WEFT_ASSERT(number_ != 0, "the work has begun");
    WEFT_ASSERT(!waiting_, "no driver call goes on when the work ends");
    number_ = 0;
}

// Runs harmless statements that absorb a late cancel. Their driver calls are made without Call,
// because the work must not count as cancelled.
void Session::absorb_late_cancel() {
    {
        std::lock_guard guard(cancel_mutex_);
        if (!std::exchange(cancel_sent_, false)) return;
    }
    if (facts_.dialect == OdbcDialect::Other) {
        is_broken_ = true;
        return;
    }
    Wide text = to_wide("select 1");
    for (int attempts = 0; attempts < kAbsorbAttemptsMax; ++attempts) {
        StatementHandle handle;
        if (!handle.allocate(link_.get())) break;
        SQLRETURN code =
            SQLExecDirectW(handle.get(), text.data(), static_cast<SQLINTEGER>(text.size()));
        // Read to the end: an unfinished result would have to be cancelled again.
        while (SQL_SUCCEEDED(code)) code = SQLFetch(handle.get());
        if (code == SQL_NO_DATA) return;
        Error error = statement_error(handle, Phase::WithoutValues);
        // A failed transaction refuses every statement; nothing was cancelled.
        if (cause_of(error) != Cause::Cancelled) return note_failure(error);
    }
    is_broken_ = true;
}

ConnectionState Session::state() const {
    WEFT_ASSERT(in_transaction_ || !transaction_failed_, "only a transaction can have failed");
    if (is_broken_) return ConnectionState::Broken;
    if (!in_transaction_) return ConnectionState::Idle;
    return transaction_failed_ ? ConnectionState::Failed : ConnectionState::Transaction;
}

Error Session::link_error(Phase phase) const {
    return to_error(diagnose(SQL_HANDLE_DBC, link_.get()), facts_.dialect, phase);
}

Error Session::statement_error(const StatementHandle& handle, Phase phase) const {
    return to_error(diagnose(SQL_HANDLE_STMT, handle.get()), facts_.dialect, phase);
}

void Session::note_failure(const Error& error) {
    bool is_dead = attribute_of(SQL_ATTR_CONNECTION_DEAD, SQL_CD_FALSE) == SQL_CD_TRUE;
    if (is_dead || is_connection_lost(error)) {
        is_broken_ = true;
        return;
    }
    if (!in_transaction_ || cursor_ || transaction_failed_) return;
    std::string_view text = alive_text(facts_.dialect);
    if (text.empty()) {
        // SQLite itself rolls back after an interrupted write or a full disk, and other databases
        // after a deadlock.
        Cause cause = cause_of(error);
        transaction_failed_ = cause == Cause::Cancelled || cause == Cause::Resources ||
                              cause == Cause::Serialization || error.kind() == ErrorKind::Cancelled;
        return;
    }
    // The work may be cancelled already; this query is run all the same, without Call.
    Wide wide = to_wide(text);
    StatementHandle handle;
    std::int64_t alive = 0;
    SQLLEN length = 0;
    transaction_failed_ = !handle.allocate(link_.get()) ||
                          !SQL_SUCCEEDED(SQLExecDirectW(handle.get(), wide.data(),
                                                        static_cast<SQLINTEGER>(wide.size()))) ||
                          !SQL_SUCCEEDED(SQLFetch(handle.get())) ||
                          !SQL_SUCCEEDED(SQLGetData(handle.get(), 1, SQL_C_SBIGINT, &alive,
                                                    sizeof(alive), &length)) ||
                          alive == 0;
}

// For a lost connection a driver may report only a general error.
Error Session::clarified(const Error& error) const {
    bool says_nothing = is_broken_ && cause_of(error) == Cause::Other;
    return says_nothing ? data::to_error(kName, "08S01", "the connection was lost") : error;
}

Result<StatementHandle> Session::new_statement() {
    StatementHandle handle;
    if (!handle.allocate(link_.get())) return link_error(Phase::WithoutValues);
    if (options_.statement_timeout.count() > 0) {
        auto seconds = static_cast<SQLULEN>(options_.statement_timeout.count());
        SQLSetStmtAttr(handle.get(), SQL_ATTR_QUERY_TIMEOUT, reinterpret_cast<SQLPOINTER>(seconds),
                       0);
    }
    return handle;
}

Result<Session::Active> Session::execute(const Statement& statement) {
    if (is_broken_) return data::to_error(kName, "08003", "the connection was lost");
    std::string text =
        statement.is_plain() ? statement.plain_text() : statement.text(Placeholders::Question);
    WEFT_TRY(check_text(kName, text));
    if (access_ == Access::Read && may_allow_writes(text, facts_.dialect))
        return data::to_error(kName, "25006", "the handle may only read");
    if (may_change_session(text, facts_.dialect)) is_dirty_ = true;
    stream_rows(first_word(text, syntax_of(facts_.dialect)) == "select");
    Result<Active> active = statement.parameters().empty()
                                ? execute_direct(text)
                                : execute_prepared(text, statement.parameters());
    if (active) active->writes = is_write(text, facts_.dialect);
    return active;
}

Result<Session::Active> Session::execute_direct(const std::string& text) {
    StatementHandle handle = WEFT_TRY(new_statement());
    Wide wide = to_wide(text);
    SQLRETURN code = SQL_ERROR;
    {
        Call call(*this, handle);
        WEFT_TRY(call.check());
        code = SQLExecDirectW(handle.get(), wide.data(), static_cast<SQLINTEGER>(wide.size()));
    }
    if (!is_done(code)) return statement_error(handle, Phase::WithoutValues);
    Parameters none = WEFT_TRY(Parameters::make({}, facts_.dialect));
    Reader reader = WEFT_TRY(Reader::make(handle.get(), facts_.dialect));
    Active active{std::move(handle), {}, std::move(none), std::move(reader)};
    WEFT_TRY(find_rows(active, code));
    return active;
}

Result<StatementHandle> Session::prepare(const std::string& text, std::size_t parameters_given) {
    StatementHandle handle = WEFT_TRY(new_statement());
    Wide wide = to_wide(text);
    SQLRETURN code = SQL_ERROR;
    {
        Call call(*this, handle);
        WEFT_TRY(call.check());
        code = SQLPrepareW(handle.get(), wide.data(), static_cast<SQLINTEGER>(wide.size()));
    }
    if (!SQL_SUCCEEDED(code)) return statement_error(handle, Phase::WithoutValues);
    SQLSMALLINT wanted = 0;
    code = SQLNumParams(handle.get(), &wanted);
    if (SQL_SUCCEEDED(code) && static_cast<std::size_t>(wanted) != parameters_given) {
        return data::to_error(kName, "07001",
                              "the statement has " + std::to_string(wanted) + " parameters, and " +
                                  std::to_string(parameters_given) + " values were given");
    }
    return handle;
}

Result<Session::Active> Session::execute_prepared(const std::string& text,
                                                  const std::vector<Value>& values) {
    std::string key = StatementCache::key_of(text, values);
    Parameters parameters = WEFT_TRY(Parameters::make(values, facts_.dialect));
    StatementHandle handle = cache_.take(key);
    for (bool is_kept = static_cast<bool>(handle);; is_kept = false) {
        if (!handle) handle = WEFT_TRY(prepare(text, values.size()));
        SQLRETURN code = parameters.bind(handle.get());
        if (SQL_SUCCEEDED(code)) {
            Call call(*this, handle);
            WEFT_TRY(call.check());
            code = SQLExecute(handle.get());
        }
        if (is_done(code)) {
            Reader reader = WEFT_TRY(Reader::make(handle.get(), facts_.dialect));
            Active active{std::move(handle), std::move(key), std::move(parameters),
                          std::move(reader)};
            WEFT_TRY(find_rows(active, code));
            return active;
        }
        Error error = statement_error(handle, Phase::WithValues);
        // A table has changed since the statement was prepared. A statement that only reads can be
        // repeated.
        bool repeats =
            is_kept && !in_transaction_ && !is_write(text, facts_.dialect) && is_stale(error);
        if (!repeats) return error;
        handle = StatementHandle();
    }
}

// Moves to the first result with columns, adding up the row counts of the results before it.
Result<void> Session::find_rows(Active& active, SQLRETURN code) {
    while (!active.reader.has_rows()) {
        SQLLEN count = 0;
        if (code != SQL_NO_DATA && SQL_SUCCEEDED(SQLRowCount(active.handle.get(), &count)) &&
            count > 0)
            active.affected += static_cast<std::uint64_t>(count);
        if (!WEFT_TRY(next_result(active))) return {};
        code = SQL_SUCCESS;
    }
    return {};
}

Result<bool> Session::next_result(Active& active) {
    SQLRETURN code = SQL_ERROR;
    {
        Call call(*this, active.handle);
        WEFT_TRY(call.check());
        code = SQLMoreResults(active.handle.get());
    }
    if (code == SQL_NO_DATA) return false;
    if (!SQL_SUCCEEDED(code)) return statement_error(active.handle, Phase::WithValues);
    active.reader = WEFT_TRY(Reader::make(active.handle.get(), facts_.dialect));
    return true;
}

Result<bool> Session::next_row(Active& active) {
    if (!active.reader.has_rows()) return false;
    SQLRETURN code = SQL_ERROR;
    {
        Call call(*this, active.handle);
        WEFT_TRY(call.check());
        code = SQLFetch(active.handle.get());
    }
    if (code == SQL_NO_DATA) return false;
    if (!SQL_SUCCEEDED(code)) return statement_error(active.handle, Phase::WithValues);
    return true;
}

// Closes the statement without reading its remaining results, and caches it.
void Session::release(Active active) {
    WEFT_ASSERT(active.handle, "a statement is released once");
    SQLRETURN closed = SQLFreeStmt(active.handle.get(), SQL_CLOSE);
    SQLFreeStmt(active.handle.get(), SQL_RESET_PARAMS);
    if (!active.key.empty() && SQL_SUCCEEDED(closed))
        cache_.put(std::move(active.key), std::move(active.handle));
}

Result<Outcome> Session::collect(Active& active, RowLimit limit) {
    Outcome outcome{
        .rows = Rows(active.reader.columns()), .affected_rows = 0, .last_insert_id = {}};
    bool stops = limit.beyond == RowLimit::Beyond::Stop;
    bool goes_on = !stops || active.writes;
    while (WEFT_TRY(next_row(active))) {
        if (outcome.rows.size() == limit.rows_max) {
            if (stops) break;
            return row_limit_error(kName, limit.rows_max);
        }
        WEFT_ASSERT(outcome.rows.size() < limit.rows_max, "the limit holds");
        WEFT_TRY(active.reader.read(outcome.rows));
        // For Stop the wanted rows are complete; a statement that writes is read to its end.
        if (!goes_on && outcome.rows.size() == limit.rows_max) break;
    }
    SQLLEN count = 0;
    if (active.reader.has_rows() && active.writes &&
        SQL_SUCCEEDED(SQLRowCount(active.handle.get(), &count)) && count > 0)
        active.affected += static_cast<std::uint64_t>(count);
    outcome.affected_rows = active.affected;
    // Errors after the first result are reported by the results that follow.
    while (goes_on && active.reader.has_rows()) {
        if (!WEFT_TRY(next_result(active))) break;
        while (!active.reader.has_rows()) {
            if (!WEFT_TRY(next_result(active))) return outcome;
        }
    }
    return outcome;
}

Result<Outcome> Session::run_once(const Statement& statement, RowLimit limit) {
    Result<Active> active = execute(statement);
    Result<Outcome> outcome = active ? collect(*active, limit) : Result<Outcome>(active.error());
    if (outcome) {
        release(std::move(*active));
        return outcome;
    }
    // Ended before the state of the transaction is queried: a driver may allow one statement at a
    // time.
    if (active) active->handle = StatementHandle();
    note_failure(outcome.error());
    return clarified(outcome.error());
}

Result<Outcome> Session::run(const Statement& statement, RowLimit limit) {
    return run_once(statement, limit);
}

Result<std::vector<Outcome>> Session::run_all(std::span<const Statement> statements, RowLimit limit,
                                              bool atomic) {
    if (atomic) WEFT_TRY(begin({}));
    std::vector<Outcome> outcomes;
    outcomes.reserve(statements.size());
    for (const Statement& statement : statements) {
        Result<Outcome> outcome = run_once(statement, limit);
        if (!outcome) {
            if (atomic) static_cast<void>(end(false));
            return outcome.error().with_context("statement", std::to_string(outcomes.size() + 1));
        }
        outcomes.push_back(std::move(*outcome));
    }
    WEFT_ASSERT(outcomes.size() == statements.size(), "every statement has an outcome");
    if (atomic) WEFT_TRY(end(true));
    return outcomes;
}

Result<void> Session::run_script(const std::string& text) {
    WEFT_TRY(check_text(kName, text));
    std::vector<std::string> statements;
    if (takes_scripts(facts_.dialect)) {
        statements.push_back(text);
    } else {
        statements = split_script(text, syntax_of(facts_.dialect));
    }
    for (const std::string& statement : statements) {
        Result<Active> active = execute(Statement(statement));
        Result<bool> more = active ? next_result(*active) : Result<bool>(active.error());
        while (more && *more) more = next_result(*active);
        if (more) continue;
        if (active) active->handle = StatementHandle();
        note_failure(more.error());
        return more.error();
    }
    return {};
}

Result<void> Session::execute_own(std::string_view text) {
    Active active = WEFT_TRY(execute_direct(std::string(text)));
    return {};
}

Result<std::optional<Value>> Session::query_own(std::string_view text) {
    Active active = WEFT_TRY(execute_direct(std::string(text)));
    Outcome outcome = WEFT_TRY(collect(active, {.rows_max = 1, .beyond = RowLimit::Beyond::Stop}));
    if (outcome.rows.empty() || outcome.rows.columns().empty()) return std::optional<Value>();
    return std::optional<Value>(outcome.rows[0][0]);
}

Result<Columns> Session::open_rows(const Statement& statement) {
    Result<Active> active = execute(statement);
    if (!active) {
        note_failure(active.error());
        return active.error();
    }
    cursor_.emplace(std::move(*active));
    return cursor_->reader.columns();
}

Result<Rows> Session::fetch(std::size_t rows_max) {
    if (!cursor_) return Rows();
    WEFT_DASSERT(rows_max > 0, "an empty batch would mean the end");
    Rows rows(cursor_->reader.columns());
    Result<void> failed;
    while (rows.size() < rows_max) {
        Result<bool> has_row = next_row(*cursor_);
        if (has_row && !*has_row) break;
        failed = has_row ? cursor_->reader.read(rows) : Result<void>(has_row.error());
        if (!failed) break;
    }
    WEFT_ASSERT(rows.size() <= rows_max, "a batch is bounded");
    if (failed) return rows;
    cursor_.reset();
    note_failure(failed.error());
    return clarified(failed.error());
}

void Session::close_rows() {
    if (!cursor_) return;
    release(std::move(*cursor_));
    cursor_.reset();
}

Result<void> Session::validate() {
    Result<void> answered = execute_own("select 1");
    if (!answered) note_failure(answered.error());
    return answered;
}

Result<void> Session::reset() {
    if (!std::exchange(is_dirty_, false)) return {};
    if (facts_.dialect == OdbcDialect::Sqlite) {
        // Ends a transaction that a statement began; otherwise the error only says that there was
        // none.
        static_cast<void>(execute_own("rollback"));
        return {};
    }
    std::string_view text = reset_text(facts_.dialect);
    if (text.empty()) return data::to_error(kName, "08003", "the session was changed");
    cache_.clear();
    WEFT_TRY(execute_own(text));
    return prepare_session();
}

}  // namespace weft::data::odbc
