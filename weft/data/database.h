// Database: one contract for all providers.
//
//     Database db = WEFT_TRY(open_sqlite({.path = "shop.db"}));
//     WEFT_TRY(db.exec(sql("insert into users (name) values ({})", name)));
//     std::optional<Rows> one = WEFT_TRY(db.query_one(sql("select * from users where id = {}",
//     id))); Result<void> moved = db.transaction([&](Transaction& tx) -> Result<void> {
//         WEFT_TRY(tx.exec(sql("update accounts set cents = cents - {} where id = {}", n, from)));
//         WEFT_TRY(tx.exec(sql("update accounts set cents = cents + {} where id = {}", n, to)));
//         return {};
//     });
//
// Every call parks the fiber (or blocks a plain thread), honours the ambient token and the options,
// and returns its connection to the pool before it returns. Results are bounded: 128 rows unless
// the caller asks for more, and one row too many is an error; query_cursor() reads results of any
// length. Errors: failure.h. A row is addressed by name and by position, so there is no separate
// raw form.
//
// Database: a handle whose copies share one pool. Any fiber or thread may use it; destroying the
// last copy closes it. Transaction and Cursor: one fiber at a time. Each owns a connection until it
// ends, and keeps the pool alive.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/base/result.h"
#include "weft/data/failure.h"
#include "weft/data/options.h"
#include "weft/data/provider.h"
#include "weft/data/rows.h"
#include "weft/data/statement.h"
#include "weft/data/value.h"

namespace weft::data {

class Cursor;
class Lease;  // pool.h
class Transaction;

namespace database_internal {
class Core;
class TransactionState;
class CursorState;
}  // namespace database_internal

class Database {
public:
    static Result<Database> open(std::unique_ptr<Provider> provider, DatabaseOptions options = {});

    // The rows of the result; empty when the statement returns none.
    Result<Rows> query(const Statement& statement, const QueryOptions& options = {});
    // The first row, as Rows of size one; no further row is fetched. rows_max is ignored.
    Result<std::optional<Rows>> query_one(const Statement& statement,
                                          const QueryOptions& options = {});
    Result<Outcome> exec(const Statement& statement, const CallOptions& options = {});
    // Several statements in as few round trips as the provider can.
    Result<std::vector<Outcome>> batch(std::span<const Statement> statements,
                                       const BatchOptions& options = {});
    Result<Cursor> query_cursor(const Statement& statement, const CursorOptions& options = {});

    // Calls the function with a transaction, commits when it returns a value, and rolls back when
    // it returns an error or throws.
    template <class Function>
    auto transaction(Function&& function, const TransactionOptions& options = {})
        -> std::invoke_result_t<Function&, Transaction&>;
    // Begins a transaction that the caller ends: without a commit() it is rolled back.
    Result<Transaction> begin(const TransactionOptions& options = {});

    // Leases a connection, for operations that only its provider offers.
    Result<Lease> reserve(const CallOptions& options = {});

    // Checks that the database answers.
    Result<void> check(const CallOptions& options = {});
    // Refuses new operations, fails those that wait for a connection with Closed, and waits until
    // the deadline for the connections in use. TimedOut if some are still in use then. Idempotent.
    Result<void> close(Deadline deadline = Deadline::never());
    bool is_closed() const;

    PoolStats stats() const;
    Provider& provider() const;
    std::string_view name() const;  // from the options
    Access access() const;

private:
    friend class Transaction;
    explicit Database(std::shared_ptr<database_internal::Core> core) : core_(std::move(core)) {}

    // Owners: the copies of this handle, and the transactions and cursors made through it.
    std::shared_ptr<database_internal::Core> core_;
};

class Transaction {
public:
    Transaction(Transaction&& other) noexcept;
    Transaction& operator=(Transaction&& other) noexcept;
    ~Transaction();  // rolls back unless it has ended

    Result<Rows> query(const Statement& statement, const QueryOptions& options = {});
    Result<std::optional<Rows>> query_one(const Statement& statement,
                                          const QueryOptions& options = {});
    Result<Outcome> exec(const Statement& statement, const CallOptions& options = {});
    Result<std::vector<Outcome>> batch(std::span<const Statement> statements,
                                       const BatchOptions& options = {});
    // Several statements in one text, without parameters.
    Result<void> run_script(const std::string& text, const CallOptions& options = {});
    // The cursor must end before the transaction: commit() with an open cursor is Misuse.
    Result<Cursor> query_cursor(const Statement& statement, const CursorOptions& options = {});

    // Runs the function in a savepoint: when it fails, only what was done inside is undone. While
    // the savepoint is open, the outer transaction takes no statements.
    template <class Function>
    auto transaction(Function&& function) -> std::invoke_result_t<Function&, Transaction&>;
    Result<Transaction> begin();

    Result<void> commit();
    Result<void> rollback();
    bool is_open() const;
    unsigned depth() const;  // 0 for the outermost

private:
    friend class Database;
    using State = database_internal::TransactionState;
    explicit Transaction(std::shared_ptr<State> state, unsigned depth);
    Result<Outcome> run(const Statement& statement, RowLimit limit, const CallOptions& options);

    std::shared_ptr<State> state_;  // shared with its savepoints and cursors
    unsigned depth_ = 0;
    bool ended_ = false;
};

// Reads a result of any length, once and forwards; only one batch of rows is in memory.
class Cursor {
public:
    Cursor(Cursor&& other) noexcept;
    Cursor& operator=(Cursor&& other) noexcept;
    ~Cursor();  // closes it

    const std::vector<Column>& columns() const;
    std::string_view provider() const;
    // The next batch of rows. An empty batch means the end; the cursor has then released its
    // connection. After close() the error is Closed.
    Result<Rows> next();
    // Ends the statement and releases the connection. Idempotent.
    void close();
    bool is_closed() const;

private:
    friend class Database;
    friend class Transaction;
    explicit Cursor(std::shared_ptr<database_internal::CursorState> state);

    std::shared_ptr<database_internal::CursorState> state_;  // see there for its other owner
};

// ---------------------------------------------------------------- inline parts

namespace database_internal {

// Calls the function, then commits or rolls back according to its result.
template <class Function>
auto run_in(Transaction& transaction, Function& function)
    -> std::invoke_result_t<Function&, Transaction&> {
    auto result = function(transaction);
    if (!result) {
        static_cast<void>(transaction.rollback());
        return result;
    }
    if (transaction.is_open()) {
        Result<void> committed = transaction.commit();
        if (!committed) return committed.error();
    }
    return result;
}

}  // namespace database_internal

template <class Function>
auto Database::transaction(Function&& function, const TransactionOptions& options)
    -> std::invoke_result_t<Function&, Transaction&> {
    Transaction transaction = WEFT_TRY(begin(options));
    return database_internal::run_in(transaction, function);
}

template <class Function>
auto Transaction::transaction(Function&& function)
    -> std::invoke_result_t<Function&, Transaction&> {
    Transaction inner = WEFT_TRY(begin());
    return database_internal::run_in(inner, function);
}

}  // namespace weft::data
