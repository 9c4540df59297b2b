#include "weft/data/sqlite/internal/connection.h"

#include <sqlite3.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "weft/base/assert.h"
#include "weft/data/failure.h"
#include "weft/data/internal/sql_words.h"
#include "weft/data/sqlite/internal/errors.h"
#include "weft/data/sqlite/internal/shared.h"
#include "weft/data/sqlite/internal/values.h"
#include "weft/fiber/cancel.h"

namespace weft::data::sqlite_internal {
namespace {

// Steps of SQLite's virtual machine between two checks for cancellation: about 20 microseconds.
constexpr int kStepsBetweenChecks = 1000;
constexpr int kPagesPerCopyStep = 256;
constexpr Nanoseconds kBusyPauseMax = std::chrono::milliseconds(10);

// True if the text contains only comments, blanks and semicolons.
bool is_blank(std::string_view text) {
    for (;;) {
        text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n\f;"), text.size()));
        if (text.empty()) return true;
        std::size_t length = comment_length(text, SqlSyntax());
        if (length == 0) return false;
        text.remove_prefix(length);
    }
}

}  // namespace

SqliteConnection::SqliteConnection(const SqliteOptions& options, Access access)
    : options_(options),
      access_(access),
      cache_(options.statements_cached),
      executor_(this, &SqliteConnection::cancel) {}

Result<std::unique_ptr<Connection>> SqliteConnection::open(const SqliteOptions& options,
                                                           Access access) {
    // tidy: allow new: the constructor is private
    std::unique_ptr<SqliteConnection> connection(new SqliteConnection(options, access));
    WEFT_TRY(connection->executor_.start());
    WEFT_TRY(connection->executor_.run<void>([&] { return connection->open_file(); }));
    return std::unique_ptr<Connection>(std::move(connection));
}

SqliteConnection::~SqliteConnection() {
    if (!executor_.is_started()) return;
    // The last connection of a file may have to write a checkpoint.
    shield(Deadline::never(), [&] {
        static_cast<void>(executor_.run<void>([&]() -> Result<void> {
            WEFT_ASSERT(running_ == 0, "no work is under way when the connection ends");
            cache_.clear();
            sqlite3_close_v2(database_);
            return {};
        }));
    });
}

Error SqliteConnection::error(int code, Phase phase) const {
    return error_of(database_, code, phase, options_.path);
}

Result<void> SqliteConnection::open_file() {
    bool writes = access_ != Access::Read || is_memory();
    int flags = writes ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
    flags |= SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    int code = sqlite3_open_v2(options_.path.c_str(), &database_, flags, nullptr);
    if (code != SQLITE_OK) return error(code, Phase::Open);
    sqlite3_busy_handler(database_, &SqliteConnection::on_busy, this);
    sqlite3_progress_handler(database_, kStepsBetweenChecks, &SqliteConnection::on_progress, this);
    sqlite3_set_authorizer(database_, &SqliteConnection::on_authorize, this);
    begin_work();
    Result<void> configured = configure();
    end_work();
    return configured;
}

Result<void> SqliteConnection::configure() {
    if (access_ != Access::Read) WEFT_TRY(use_wal());
    WEFT_TRY(execute(options_.full_durability ? "pragma synchronous = full"
                                              : "pragma synchronous = normal"));
    WEFT_TRY(
        execute(options_.foreign_keys ? "pragma foreign_keys = on" : "pragma foreign_keys = off"));
    if (access_ == Access::Read) WEFT_TRY(execute("pragma query_only = on"));
    // SQLite opens the file lazily; this forces it, so that an error is reported now and not at the
    // first statement.
    return execute("select count(*) from sqlite_schema");
}

// SQLite does not call the busy handler when another connection changes the mode at the same time.
Result<void> SqliteConnection::use_wal() {
    for (int attempts = 0;; ++attempts) {
        Result<void> done = execute("pragma journal_mode = wal");
        if (done || cause_of(done.error()) != Cause::Busy || !on_busy(this, attempts)) return done;
    }
}

Result<void> SqliteConnection::execute(const char* text) {
    bool is_own = std::exchange(is_own_statement_, true);
    int code = sqlite3_exec(database_, text, nullptr, nullptr, nullptr);
    is_own_statement_ = is_own;
    if (code != SQLITE_OK) return error(code, Phase::Open);
    return {};
}

void SqliteConnection::begin_work() {
    busy_until_ = Deadline::after(options_.busy_timeout).instant();
    SpinGuard guard(cancel_lock_);
    WEFT_ASSERT(running_ == 0, "one piece of work at a time");
    WEFT_ASSERT(executor_.number() != 0, "work runs on the executor's thread");
    running_ = executor_.number();
    cancel_requested_.reset();
}

void SqliteConnection::end_work() {
    {
        SpinGuard guard(cancel_lock_);
        WEFT_ASSERT(running_ == executor_.number(), "the work that ends is the one that began");
        running_ = 0;
    }
    note_state();
}

void SqliteConnection::note_state() {
    // Relaxed: the one user of the connection reads it after the work has ended, which publishes
    // it.
    in_transaction_.store(sqlite3_get_autocommit(database_) == 0, std::memory_order_relaxed);
    needs_reset_.store(session_changed_ || query_only_, std::memory_order_relaxed);
}

ConnectionState SqliteConnection::state() const {
    // Relaxed: see note_state().
    return in_transaction_.load(std::memory_order_relaxed) ? ConnectionState::Transaction
                                                           : ConnectionState::Idle;
}

// While the lock is held, the work under way cannot end and the next cannot begin, so the
// interruption hits only the work it is meant for. If it comes between the last step of a statement
// and the end of its work, it finds nothing to interrupt, and SQLite clears it when the next
// statement begins.
void SqliteConnection::cancel(void* self, std::uint64_t number) {
    WEFT_ASSERT(number != 0, "zero is the number of no work");
    auto& connection = *static_cast<SqliteConnection*>(self);
    SpinGuard guard(connection.cancel_lock_);
    // Relaxed: it is only compared with the number of the work; nothing is read through it.
    connection.cancelled_.store(number, std::memory_order_relaxed);
    if (connection.running_ != number) return;
    sqlite3_interrupt(connection.database_);
    connection.cancel_requested_.set();
}

bool SqliteConnection::is_cancelled() const {
    WEFT_DASSERT(executor_.number() != 0, "only work on the executor's thread asks");
    // Relaxed: see cancel().
    if (request_cancelled_ && request_cancelled_->load(std::memory_order_relaxed)) return true;
    // Relaxed: see cancel().
    return cancelled_.load(std::memory_order_relaxed) == executor_.number();
}

// The queue's lock is held, so the statement that this is meant for is the one that runs, or has
// just ended: see cancel().
void SqliteConnection::interrupt() {
    sqlite3_interrupt(database_);
    cancel_requested_.set();
}

void SqliteConnection::serve(SharedQueue& queue) {
    // An error says only that the wait was cancelled; the callers learn what became of each of
    // their statements.
    static_cast<void>(executor_.run<void>([&]() -> Result<void> {
        begin_work();
        serve_here(queue);
        end_work();
        return {};
    }));
}

// Ends early when a statement has left something to be restored before the next one.
void SqliteConnection::serve_here(SharedQueue& queue) {
    for (std::size_t taken = 0; !session_changed_ && sqlite3_get_autocommit(database_); ++taken) {
        // No statement is under way that a set event could be meant for, but the work may have been
        // cancelled: the number says that as well.
        cancel_requested_.reset();
        busy_until_ = Deadline::after(options_.busy_timeout).instant();
        Request* request = queue.take(*this, taken);
        if (!request) return;
        request_cancelled_ = &request->is_cancelled;
        Result<Outcome> outcome = run_here(request->statement, request->limit);
        request_cancelled_ = nullptr;
        queue.finish(*request, std::move(outcome));
    }
}

int SqliteConnection::on_progress(void* self) {
    return static_cast<SqliteConnection*>(self)->is_cancelled();
}

int SqliteConnection::on_busy(void* self, int attempts) {
    auto& connection = *static_cast<SqliteConnection*>(self);
    Instant now = Clock::now();
    if (connection.is_cancelled() || connection.busy_until_ <= now) return 0;
    Nanoseconds pause =
        std::min<Nanoseconds>(std::chrono::microseconds(100) * (attempts + 1), kBusyPauseMax);
    Deadline until = earlier(Deadline::after(pause, now), Deadline::at(connection.busy_until_));
    static_cast<void>(connection.cancel_requested_.wait_until(until));
    return 1;
}

Result<Prepared> SqliteConnection::prepare(const Statement& statement) {
    std::string text =
        statement.is_plain() ? statement.plain_text() : statement.text(Placeholders::Question);
    sqlite3_stmt* prepared = cache_.take(text);
    if (!prepared) {
        WEFT_TRY(check_text(kName, text));
        const char* tail = nullptr;
        int code = sqlite3_prepare_v3(database_, text.c_str(), static_cast<int>(text.size()) + 1,
                                      SQLITE_PREPARE_PERSISTENT, &prepared, &tail);
        if (code != SQLITE_OK) return error(code, Phase::Prepare);
        if (!prepared) return to_error(kName, "42000", "the statement is empty");
        WEFT_DASSERT(tail >= text.c_str() && tail <= text.c_str() + text.size(),
                     "the tail is a part of the text");
        if (!is_blank(tail)) {
            sqlite3_finalize(prepared);
            return to_error(kName, "42000", "more than one statement in a text");
        }
    }
    WEFT_ASSERT(sqlite3_stmt_busy(prepared) == 0, "a cached statement was reset");
    return Prepared(*this, std::move(text), prepared);
}

Result<void> SqliteConnection::bind_all(sqlite3_stmt* prepared, const Statement& statement,
                                        Binding binding) {
    int wanted = sqlite3_bind_parameter_count(prepared);
    if (static_cast<std::size_t>(wanted) != statement.parameters().size()) {
        return to_error(kName, "07001",
                        "the statement has " + std::to_string(wanted) + " parameters, and " +
                            std::to_string(statement.parameters().size()) + " values were given");
    }
    for (int position = 1; position <= wanted; ++position) {
        const Value& value = statement.parameters()[static_cast<std::size_t>(position) - 1];
        WEFT_TRY(bind(database_, prepared, position, value, binding));
    }
    return {};
}

void SqliteConnection::give_back(std::string text, sqlite3_stmt* statement) {
    sqlite3_reset(statement);
    // The bound values may be large, and no later user should keep them in memory.
    sqlite3_clear_bindings(statement);
    cache_.put(std::move(text), statement);
}

Result<bool> SqliteConnection::step_row(sqlite3_stmt* statement) {
    WEFT_ASSERT(running_ != 0, "a statement runs as a part of work");
    if (is_cancelled()) return ErrorKind::Cancelled;
    int code = sqlite3_step(statement);
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    return error(code, Phase::Step);
}

Result<Outcome> SqliteConnection::run_here(const Statement& statement, RowLimit limit) {
    Prepared prepared = WEFT_TRY(prepare(statement));
    return run_prepared(prepared.get(), statement, limit);
}

// The values are borrowed: the caller rewinds the statement before the values can end.
Result<Outcome> SqliteConnection::run_prepared(sqlite3_stmt* raw, const Statement& statement,
                                               RowLimit limit) {
    WEFT_TRY(bind_all(raw, statement, Binding::Borrowed));
    bool writes = sqlite3_stmt_readonly(raw) == 0;
    std::int64_t changes_before = writes ? sqlite3_total_changes64(database_) : 0;
    if (writes) sqlite3_set_last_insert_rowid(database_, 0);
    bool has_row = WEFT_TRY(step_row(raw));
    Reader reader(raw);
    Outcome outcome{.rows = reader.empty(), .affected_rows = 0, .last_insert_id = {}};
    while (has_row) {
        if (outcome.rows.size() == limit.rows_max) {
            if (limit.beyond == RowLimit::Beyond::Fail)
                return row_limit_error(kName, limit.rows_max);
        } else {
            WEFT_TRY(reader.read(outcome.rows));
        }
        // For Stop the wanted rows are complete. A statement that writes still runs to its end,
        // because only that tells whether it succeeded.
        bool stops = limit.beyond == RowLimit::Beyond::Stop && !writes;
        if (stops && outcome.rows.size() == limit.rows_max) break;
        has_row = WEFT_TRY(step_row(raw));
    }
    WEFT_ASSERT(outcome.rows.size() <= limit.rows_max, "the limit holds");
    if (writes && sqlite3_total_changes64(database_) != changes_before) {
        outcome.affected_rows = static_cast<std::uint64_t>(sqlite3_changes64(database_));
        std::int64_t id = sqlite3_last_insert_rowid(database_);
        if (id != 0) outcome.last_insert_id = id;
    }
    return outcome;
}

Result<Outcome> SqliteConnection::run(const Statement& statement, RowLimit limit) {
    return executor_.run<Outcome>([&] {
        begin_work();
        Result<Outcome> outcome = run_here(statement, limit);
        end_work();
        return outcome;
    });
}

Result<std::vector<Outcome>> SqliteConnection::run_all(std::span<const Statement> statements,
                                                       RowLimit limit, bool atomic) {
    using Outcomes = std::vector<Outcome>;
    Result<Outcomes> outcomes = executor_.run<Outcomes>([&] {
        begin_work();
        Result<Outcomes> all =
            atomic ? run_atomic_here(statements, limit) : run_each_here(statements, limit);
        end_work();
        return all;
    });
    if (atomic && !outcomes && state() == ConnectionState::Transaction) {
        static_cast<void>(shield(Deadline::after(kTidyTimeout),
                                 [&] { return step(TransactionStep::Rollback, 0, {}); }));
    }
    return outcomes;
}

// After an error the transaction may still be open; run_all() rolls it back, in work that the
// caller's cancellation does not reach.
Result<std::vector<Outcome>> SqliteConnection::run_atomic_here(
    std::span<const Statement> statements, RowLimit limit) {
    WEFT_TRY(run_here(Statement("begin immediate"), RowLimit{}));
    std::vector<Outcome> outcomes = WEFT_TRY(run_each_here(statements, limit));
    WEFT_TRY(run_here(Statement("commit"), RowLimit{}));
    return outcomes;
}

// A prepared statement is kept while the statements that follow have the same text.
Result<std::vector<Outcome>> SqliteConnection::run_each_here(std::span<const Statement> statements,
                                                             RowLimit limit) {
    std::vector<Outcome> outcomes;
    outcomes.reserve(statements.size());
    std::optional<Prepared> prepared;
    const Statement* before = nullptr;
    for (const Statement& statement : statements) {
        auto in_batch = [&](const Error& error) {
            return error.with_context("statement", std::to_string(outcomes.size() + 1));
        };
        if (!before || !statement.has_text_of(*before)) {
            prepared.reset();
            Result<Prepared> made = prepare(statement);
            if (!made) return in_batch(made.error());
            prepared.emplace(std::move(*made));
        }
        before = &statement;
        Result<Outcome> outcome = run_prepared(prepared->get(), statement, limit);
        if (!outcome) return in_batch(outcome.error());
        prepared->rewind();
        outcomes.push_back(std::move(*outcome));
    }
    WEFT_ASSERT(outcomes.size() == statements.size(), "every statement has an outcome");
    return outcomes;
}

Result<void> SqliteConnection::run_script(const std::string& text) {
    WEFT_TRY(check_text(kName, text));
    return executor_.run<void>([&]() -> Result<void> {
        begin_work();
        int code = sqlite3_exec(database_, text.c_str(), nullptr, nullptr, nullptr);
        // The text has no parameters, so SQLite's message can quote none.
        Result<void> done = code == SQLITE_OK ? Result<void>() : error(code, Phase::Prepare);
        end_work();
        return done;
    });
}

Result<void> SqliteConnection::step(TransactionStep step, unsigned depth,
                                    const TransactionOptions& options) {
    std::string text = transaction_text(step, depth);
    // A transaction that may write takes its lock at once: one that began by reading cannot always
    // upgrade.
    if (step == TransactionStep::Begin && !options.read_only) text = "begin immediate";
    return executor_.run<void>([&]() -> Result<void> {
        begin_work();
        Result<Outcome> outcome = run_here(Statement(text), RowLimit{});
        Result<void> done = outcome ? Result<void>() : outcome.error();
        WEFT_ASSERT(!done || step != TransactionStep::Begin || !sqlite3_get_autocommit(database_),
                    "a successful begin opens a transaction");
        bool begins = step == TransactionStep::Begin && options.read_only;
        if (done && begins && access_ != Access::Read) {
            done = execute("pragma query_only = on");
            query_only_ = true;
        } else if (sqlite3_get_autocommit(database_)) {
            Result<void> off = end_read_only();
            if (done) done = off;
        }
        end_work();
        return done;
    });
}

Result<void> SqliteConnection::validate() {
    Result<Outcome> outcome = run(Statement("select 1"), RowLimit{});
    if (!outcome) return outcome.error();
    return {};
}

Result<void> SqliteConnection::backup(const std::string& path) {
    return executor_.run<void>([&] {
        begin_work();
        Result<void> copied = copy_to(path);
        end_work();
        return copied;
    });
}

Result<void> SqliteConnection::copy_to(const std::string& path) {
    sqlite3* target = nullptr;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    int code = sqlite3_open_v2(path.c_str(), &target, flags, nullptr);
    sqlite3_backup* backup = nullptr;
    if (code == SQLITE_OK) backup = sqlite3_backup_init(target, "main", database_, "main");
    bool is_stopped = false;
    while (backup && code == SQLITE_OK && !is_stopped) {
        code = sqlite3_backup_step(backup, kPagesPerCopyStep);
        is_stopped = is_cancelled();
        bool busy = code == SQLITE_BUSY || code == SQLITE_LOCKED;
        if (busy && on_busy(this, 0)) code = SQLITE_OK;
    }
    if (backup) sqlite3_backup_finish(backup);
    Result<void> result;
    if (is_stopped) {
        result = ErrorKind::Cancelled;
    } else if (!backup || code != SQLITE_DONE) {
        int failed = code == SQLITE_OK ? sqlite3_extended_errcode(target) : code;
        result = error_of(target, failed, Phase::Open, path);
    }
    sqlite3_close_v2(target);
    return result;
}

}  // namespace weft::data::sqlite_internal
