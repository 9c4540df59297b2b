// SqliteConnection: one SQLite handle and the thread that uses it (sqlite.h). One fiber at a time
// calls it. The destructor closes the handle on the thread, then joins the thread.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/base/assert.h"
#include "weft/base/atomic.h"
#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/data/provider.h"
#include "weft/data/sqlite/internal/errors.h"
#include "weft/data/sqlite/internal/executor.h"
#include "weft/data/sqlite/internal/values.h"
#include "weft/data/sqlite/sqlite.h"

struct sqlite3;
struct sqlite3_stmt;

namespace weft::data::sqlite_internal {

class SharedQueue;
class SqliteConnection;

// A prepared statement in use; lives on the executor's thread. Its destructor resets the statement
// and returns it to the cache, which may finalize it.
class Prepared {
public:
    Prepared(SqliteConnection& connection, std::string text, sqlite3_stmt* statement)
        : connection_(&connection), text_(std::move(text)), statement_(statement) {}
    Prepared(Prepared&& other) noexcept
        : connection_(other.connection_),
          text_(std::move(other.text_)),
          statement_(std::exchange(other.statement_, nullptr)) {
        WEFT_ASSERT(statement_, "only a statement in use is moved");
    }
    Prepared& operator=(Prepared&& other) = delete;
    ~Prepared();

    sqlite3_stmt* get() const { return statement_; }
    // Makes it ready for its next run; no bound value is kept.
    void rewind();

private:
    SqliteConnection* connection_;
    std::string text_;
    sqlite3_stmt* statement_;
};

// Prepared statements by their text; the least recently used is evicted. It owns the statements
// that it holds. On the executor's thread only.
class StatementCache {
public:
    explicit StatementCache(std::size_t capacity) : capacity_(capacity) {}
    ~StatementCache() { clear(); }
    StatementCache(const StatementCache&) = delete;
    StatementCache& operator=(const StatementCache&) = delete;

    sqlite3_stmt* take(const std::string& text);  // null if there is none
    void put(std::string text, sqlite3_stmt* statement);
    void clear();

private:
    struct Entry {
        std::string text;
        sqlite3_stmt* statement;
    };
    const std::size_t capacity_;
    std::list<Entry> entries_;  // most recently used first
    std::unordered_map<std::string_view, std::list<Entry>::iterator> by_text_;
};

class SqliteConnection final : public Connection {
public:
    static Result<std::unique_ptr<Connection>> open(const SqliteOptions& options, Access access);
    ~SqliteConnection() override;

    Result<Outcome> run(const Statement& statement, RowLimit limit) override;
    Result<std::vector<Outcome>> run_all(std::span<const Statement> statements, RowLimit limit,
                                         bool atomic) override;
    Result<void> run_script(const std::string& text) override;
    Result<std::unique_ptr<RowSource>> open_rows(const Statement& statement) override;
    Result<void> step(TransactionStep step, unsigned depth,
                      const TransactionOptions& options) override;
    ConnectionState state() const override;
    Result<void> validate() override;
    Result<void> reset() override;
    Result<void> backup(const std::string& path);
    // Lets the thread take statements from the queue and run them. Returns when it takes no more.
    void serve(SharedQueue& queue);
    // Any thread, while the connection runs a statement of the queue: ends it, if it has set the
    // statement's `is_cancelled`.
    void interrupt();

    // For its statements and row sources. On the executor's thread only.
    void give_back(std::string text, sqlite3_stmt* statement);
    Error error(int code, Phase phase) const;
    Executor& executor() { return executor_; }
    // Makes one step. True: the statement stands on a row; false: it has ended. Waits for locks and
    // honours cancellation.
    Result<bool> step_row(sqlite3_stmt* statement);
    void note_state();

private:
    SqliteConnection(const SqliteOptions& options, Access access);

    // On the executor's thread only.
    Result<void> open_file();
    Result<void> configure();
    Result<void> use_wal();
    // Runs a statement of Weft itself, which the authorizer does not examine.
    Result<void> execute(const char* text);
    Result<Prepared> prepare(const Statement& statement);
    Result<void> bind_all(sqlite3_stmt* prepared, const Statement& statement, Binding binding);
    Result<Outcome> run_here(const Statement& statement, RowLimit limit);
    Result<Outcome> run_prepared(sqlite3_stmt* prepared, const Statement& statement,
                                 RowLimit limit);
    Result<std::vector<Outcome>> run_each_here(std::span<const Statement> statements,
                                               RowLimit limit);
    Result<std::vector<Outcome>> run_atomic_here(std::span<const Statement> statements,
                                                 RowLimit limit);
    Result<std::unique_ptr<RowSource>> open_rows_here(const Statement& statement);
    Result<void> copy_to(const std::string& path);
    Result<void> end_read_only();
    Result<void> restore_session();
    Result<void> restore_pragmas();
    Result<void> drop_session_objects();
    bool may_only_read() const;
    bool is_memory() const { return options_.path == ":memory:"; }
    void begin_work();
    void end_work();
    void serve_here(SharedQueue& queue);
    bool is_cancelled() const;

    static void cancel(void* self, std::uint64_t number);
    static int on_progress(void* self);
    static int on_busy(void* self, int attempts);
    static int on_authorize(void* self, int action, const char* name, const char* value,
                            const char* database, const char* trigger);

    const SqliteOptions options_;
    const Access access_;
    sqlite3* database_ = nullptr;
    StatementCache cache_;
    Instant busy_until_ = {};
    // The number of the work under way, zero for none. Protected by cancel_lock_, which is also
    // held during sqlite3_interrupt().
    std::uint64_t running_ = 0;
    SpinLock cancel_lock_;
    Atomic<std::uint64_t> cancelled_{0};  // the number of the work to be cancelled
    Event cancel_requested_;              // ends a wait for a lock of another connection
    Atomic<bool> in_transaction_{false};
    Atomic<bool> needs_reset_{false};
    // On the executor's thread only.
    const Atomic<bool>* request_cancelled_ = nullptr;  // of the queue's statement that runs
    bool query_only_ = false;                          // the transaction under way may only read
    bool session_changed_ = false;                     // a user's statement changed session state
    bool is_own_statement_ = false;                    // the running statement is Weft's own
    Executor executor_;                                // last: its thread uses everything above

    friend class SqliteRows;
};

}  // namespace weft::data::sqlite_internal
