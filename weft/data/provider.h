// What a provider supplies: connections, and the facts that hold for all of them. Pool,
// transactions, cursors, limits and metrics are implemented once, on top of this (database.h).
//
// Rules for an implementation:
//   - A Connection and its RowSource are called by one user at a time; the pool ensures that. The
//     calls may come from different threads: a fiber may change its worker.
//   - Every call parks the fiber and honours the ambient token and its deadline: when they end, it
//     stops the work in the database and returns Cancelled or TimedOut. It returns only when
//     nothing of the call can reach the connection any more, a cancel request under way included;
//     where that cannot be achieved in time, state() is Broken from then on. Tidying up may take
//     kTidyTimeout in a shield().
//   - The access of the handle is enforced by the database itself, if it has a way.
//   - Errors are made by to_error() (failure.h). None contains a value or a connection string.
//   - Rows own their content. Text is checked to be UTF-8.
//   - A Connection may be destroyed in any state whenever no call is under way; that may wait, for
//     at most kTidyTimeout.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"
#include "weft/data/options.h"
#include "weft/data/rows.h"
#include "weft/data/statement.h"

namespace weft::data {

inline constexpr Nanoseconds kTidyTimeout = std::chrono::seconds(2);

// What the connection can be used for next.
enum class ConnectionState : std::uint8_t {
    Idle,         // outside a transaction
    Transaction,  // inside one
    Failed,       // inside one that can only be rolled back
    Broken,       // nothing; it must be closed
};

// The steps of transactions. The depth counts savepoints; the first savepoint has depth 1. Begin,
// Commit and Rollback ignore it.
enum class TransactionStep : std::uint8_t {
    Begin,
    Commit,
    Rollback,
    Savepoint,
    ReleaseSavepoint,
    RollbackToSavepoint,
};
// The statement of standard SQL without options: "begin", "savepoint weft_1", ...
std::string transaction_text(TransactionStep step, unsigned depth);

// How many rows are received, and what happens at one row more. Fail: row_limit_error() as soon as
// it arrives. Stop: success; no further row is received. Because Stop is a success, the effects of
// the statement must last: a statement that may write runs to its end.
struct RowLimit {
    enum class Beyond : std::uint8_t { Fail, Stop };

    std::uint32_t rows_max = kRowsMaxDefault;
    Beyond beyond = Beyond::Fail;
};
Error row_limit_error(std::string_view provider, std::uint32_t rows_max);

// Misuse if the text of a statement or script has a NUL, where a driver would end it unnoticed.
Result<void> check_text(std::string_view provider, std::string_view text);

// The rows of one statement, as they arrive. Closing or destroying it ends the statement; until
// then its connection takes no other call.
class RowSource {
public:
    virtual ~RowSource() = default;

    virtual const Columns& columns() const = 0;
    // Waits for at least one row, and returns up to rows_max (at least 1) without waiting for more
    // than arrived with it. Empty: the end.
    virtual Result<Rows> fetch(std::size_t rows_max) = 0;
    // Ends the statement early; afterwards the connection is idle, in its transaction, or broken.
    // Idempotent.
    virtual void close() = 0;
};

class Connection {
public:
    virtual ~Connection() = default;

    // Runs a statement and receives its rows, within the limit.
    virtual Result<Outcome> run(const Statement& statement, RowLimit limit) = 0;
    // Runs several statements in as few round trips as possible; if atomic, in a transaction of
    // their own. Ends at the first that fails; its error says which it was ("statement 3"). The
    // default runs them one after the other.
    virtual Result<std::vector<Outcome>> run_all(std::span<const Statement> statements,
                                                 RowLimit limit, bool atomic);
    // Runs a text of several statements without parameters and discards their rows; for migrations.
    virtual Result<void> run_script(const std::string& text) = 0;
    virtual Result<std::unique_ptr<RowSource>> open_rows(const Statement& statement) = 0;

    // Only Begin uses the options.
    virtual Result<void> step(TransactionStep step, unsigned depth,
                              const TransactionOptions& options) = 0;

    virtual ConnectionState state() const = 0;
    // Whether the database has closed the connection, as far as can be told without waiting. Called
    // when state() is Idle, each time before the connection is handed out, so it must be cheap.
    virtual bool is_lost() { return false; }
    // Checks by a round trip that the database still answers.
    virtual Result<void> validate() = 0;
    // Restores the session to that of a new connection before the next user gets it. Called when
    // state() is Idle. An error closes the connection.
    virtual Result<void> reset() { return {}; }
};

class Pool;

// Runs single statements outside of transactions, for providers in which one connection can carry
// the statements of several callers at once. Cancelling one ends only its own caller's wait and
// never reaches another's statement. Any fiber, any thread.
class SharedConnections {
public:
    virtual ~SharedConnections() = default;

    // For the purpose see Pool::acquire().
    virtual Result<Outcome> run(const Statement& statement, RowLimit limit,
                                std::string_view purpose) = 0;
    // How many statements were sent over a connection shared with other callers.
    virtual std::uint64_t count() const = 0;
};

class Provider {
public:
    virtual ~Provider() = default;

    virtual std::string_view name() const = 0;  // "sqlite", "postgres"
    // How calls are executed, for metrics: "serialized thread", "reactor", "blocking pool".
    virtual std::string_view mode() const = 0;
    virtual Placeholders placeholders() const = 0;
    // The most connections that make sense at once, at least one; the pool opens no more.
    virtual std::size_t connections_max() const { return SIZE_MAX; }
    // The connection is the database itself (in memory), so it is not closed while the pool is
    // open.
    virtual bool is_permanent() const { return false; }
    // Opens one more connection, ready for use. Name lookup, connect and login together stay within
    // the ambient deadline. Any fiber; several calls may run at once.
    virtual Result<std::unique_ptr<Connection>> connect() = 0;
    // Runs single statements over the connections of this pool; null if each statement leases a
    // connection of its own.
    virtual std::unique_ptr<SharedConnections> share(const std::shared_ptr<Pool>&) { return {}; }
};

}  // namespace weft::data
