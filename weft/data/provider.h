// What a provider supplies: connections, and what is true of all of them. Pool, transactions,
// cursors, limits and metrics are written once, over this (database.h).
//
// Rules for an implementation:
//   - One user at a time calls a Connection and its RowSource; the pool sees to that. Not always
//     from the same thread: a fiber may change its worker.
//   - Every call waits as a fiber waits and honours the ambient token and its deadline: at their
//     end it stops the work in the database and returns Cancelled or TimedOut. It returns only when
//     nothing of the call can reach the connection any more (a cancel that is under way included);
//     where that cannot be had in time, state() is Broken from then on. What tidies up may take
//     kTidyTimeout in a shield().
//   - The access of the handle is enforced by the database itself, if it has a way.
//   - Errors are made by to_error() (failure.h). None holds a value or a connection string.
//   - Rows own what they hold. Text is checked to be UTF-8.
//   - A Connection may be destroyed in any state and at any time when no call is under way; that
//     may wait, for no longer than kTidyTimeout.
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
    Failed,       // inside one in which nothing but a rollback is possible
    Broken,       // nothing; to be closed
};

// The steps of transactions. Those with a depth are for savepoints; the outermost has depth 1.
enum class TransactionStep : std::uint8_t {
    Begin,
    Commit,
    Rollback,
    Savepoint,
    ReleaseSavepoint,
    RollbackToSavepoint,
};
// In the words of the standard: "begin", "savepoint weft_1", ... without options.
std::string transaction_text(TransactionStep step, unsigned depth);

// How many rows are received, and what one more means: an error (row_limit_error()), made as soon
// as it comes, or nothing. The rest is not received in either case. Stop is a success, so what the
// statement has done must last: one that may write comes to its end.
struct RowLimit {
    enum class Beyond : std::uint8_t { Fail, Stop };

    std::uint32_t rows_max = kRowsMaxDefault;
    Beyond beyond = Beyond::Fail;
};
Error row_limit_error(std::string_view provider, std::uint32_t rows_max);

// The rows of one statement, as they come. Destroying or closing it ends the statement; until then
// its connection does nothing else.
class RowSource {
public:
    virtual ~RowSource() = default;

    virtual const Columns& columns() const = 0;
    // Waits for at least one row unless there is none, and gives at most so many, without waiting
    // for more than came with it. None: the end.
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
    // The same for several, in as few round trips as there can be; if atomic, in a transaction of
    // their own. Ends with the first that fails, whose error says which it was ("statement 3").
    // Without an override: one after the other.
    virtual Result<std::vector<Outcome>> run_all(std::span<const Statement> statements,
                                                 RowLimit limit, bool atomic);
    // Several statements in one text, without parameters, whose rows nobody wants: for migrations.
    virtual Result<void> run_script(const std::string& text) = 0;
    virtual Result<std::unique_ptr<RowSource>> open_rows(const Statement& statement) = 0;

    // The options are those of Begin.
    virtual Result<void> step(TransactionStep step, unsigned depth,
                              const TransactionOptions& options) = 0;

    virtual ConnectionState state() const = 0;
    // Whether the database has closed it meanwhile, as far as can be told without a wait. Asked
    // each time before another gets it, when state() is Idle; so it costs next to nothing.
    virtual bool is_lost() { return false; }
    // Asks the database whether it still answers.
    virtual Result<void> validate() = 0;
    // Makes it as good as new before another gets it: called when state() is Idle. An error closes
    // the connection.
    virtual Result<void> reset() { return {}; }
};

class Pool;

// How single statements outside of transactions get to a connection of the pool, where one
// connection can carry those of several callers at once. Cancelling one settles its caller and
// never reaches another's. Any fiber, any thread.
class SharedConnections {
public:
    virtual ~SharedConnections() = default;

    // The purpose is that of Pool::acquire().
    virtual Result<Outcome> run(const Statement& statement, RowLimit limit,
                                std::string_view purpose) = 0;
    // How many statements went over a connection beside others.
    virtual std::uint64_t count() const = 0;
};

class Provider {
public:
    virtual ~Provider() = default;

    virtual std::string_view name() const = 0;  // "sqlite", "postgres"
    // How calls are carried out, for metrics: "serialized thread", "reactor", "blocking pool".
    virtual std::string_view mode() const = 0;
    virtual Placeholders placeholders() const = 0;
    // The most connections that make sense at once, whatever the pool is told.
    virtual std::size_t connections_max() const { return SIZE_MAX; }
    // A connection is the database itself: never closed while the pool is open.
    virtual bool is_permanent() const { return false; }
    // One more connection, ready for use, with its own limits on names, connect and login all
    // within the ambient deadline. Any fiber; several at once.
    virtual Result<std::unique_ptr<Connection>> connect() = 0;
    // For single statements, over the connections of this pool; null if each of them takes one.
    virtual std::unique_ptr<SharedConnections> share(const std::shared_ptr<Pool>&) { return {}; }
};

}  // namespace weft::data
