// Session: one connection of a driver, by calls that block (odbc.h).
//
// One thread at a time, except for cancel(). Each piece of work has a number, and cancel() names
// the work by it, so that it can never hit the next. Owners: the executor, the work under way and
// the cancel thread. The destructor rolls back and disconnects, which may block.
#pragma once

#include <sql.h>
#include <sqlext.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"
#include "weft/data/odbc/internal/dialect.h"
#include "weft/data/odbc/internal/errors.h"
#include "weft/data/odbc/internal/handle.h"
#include "weft/data/odbc/internal/parameters.h"
#include "weft/data/odbc/internal/reader.h"
#include "weft/data/odbc/internal/statement_cache.h"
#include "weft/data/odbc/odbc.h"
#include "weft/data/provider.h"
#include "weft/sync/mutex.h"

namespace weft::data::odbc {

class Session {
public:
    Session(OdbcOptions options, Access access) : options_(std::move(options)), access_(access) {}
    ~Session();  // disconnects
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    // Enclose each piece of work.
    void begin_work(std::uint64_t number);
    void end_work();
    // Cancels the driver call of this piece of work, and makes the work end before its next one. A
    // cancel may come too early for the driver to notice it, so cancel() is called again until the
    // work has ended. Any thread; blocks as the driver does.
    void cancel(std::uint64_t number);

    Result<void> connect();
    Result<Outcome> run(const Statement& statement, RowLimit limit);
    Result<std::vector<Outcome>> run_all(std::span<const Statement> statements, RowLimit limit,
                                         bool atomic);
    Result<void> run_script(const std::string& text);
    // At most one cursor is open.
    Result<Columns> open_rows(const Statement& statement);
    Result<Rows> fetch(std::size_t rows_max);
    void close_rows();
    Result<void> step(TransactionStep step, unsigned depth, const TransactionOptions& options);
    Result<void> validate();
    Result<void> reset();

    // Only between pieces of work.
    ConnectionState state() const;
    const OdbcFacts& facts() const { return facts_; }
    bool is_dirty() const { return is_dirty_; }

private:
    // A running statement and its rows.
    struct Active {
        StatementHandle handle;
        std::string key;  // in the cache; empty if it was not prepared
        Parameters parameters;
        Reader reader;
        std::uint64_t affected = 0;
        bool writes = false;
    };
    // Marks one driver call that may block and can be cancelled.
    class Call;

    // connect()
    Result<void> open_link();
    Result<void> ask_facts();
    bool proves_async();
    Result<void> prepare_session();
    Result<void> check_reads_only();
    std::string info(SQLUSMALLINT kind) const;

    Result<StatementHandle> new_statement();
    Result<Active> execute(const Statement& statement);
    Result<Active> execute_direct(const std::string& text);
    Result<Active> execute_prepared(const std::string& text, const std::vector<Value>& values);
    Result<StatementHandle> prepare(const std::string& text, std::size_t parameters_given);
    Result<void> find_rows(Active& active, SQLRETURN code);
    Result<bool> next_row(Active& active);
    Result<bool> next_result(Active& active);
    void release(Active active);
    Result<Outcome> collect(Active& active, RowLimit limit);
    Result<Outcome> run_once(const Statement& statement, RowLimit limit);
    // Run a statement of Weft itself; query_own() returns its first value.
    Result<void> execute_own(std::string_view text);
    Result<std::optional<Value>> query_own(std::string_view text);
    void stream_rows(bool wanted);

    // Transactions.
    Result<void> begin(const TransactionOptions& options);
    Result<void> end(bool commit);
    Result<void> set_isolation(Isolation isolation);
    void restore_isolation();
    Result<void> set_autocommit(bool on);
    bool set_attribute(SQLINTEGER attribute, SQLULEN value);
    SQLULEN attribute_of(SQLINTEGER attribute, SQLULEN otherwise) const;

    Error link_error(Phase phase) const;
    Error statement_error(const StatementHandle& handle, Phase phase) const;
    // Called after a failure: finds out whether the connection and its transaction are still
    // usable.
    void note_failure(const Error& error);
    // Replaces an error that says nothing about a lost connection.
    Error clarified(const Error& error) const;
    void absorb_late_cancel();
    bool is_under_way(std::uint64_t number);
    void execute_quietly(const std::string& text);  // ignores errors

    const OdbcOptions options_;
    const Access access_;
    OdbcFacts facts_;
    Environment environment_;
    Link link_;
    bool is_connected_ = false;
    bool is_psqlodbc_ = false;
    std::int64_t session_number_ = 0;  // on the server; used to stop a statement
    bool streams_rows_ = false;
    StatementCache cache_{0};
    std::optional<Active> cursor_;

    bool in_transaction_ = false;
    bool transaction_reads_ = false;
    bool transaction_failed_ = false;
    bool is_broken_ = false;
    bool is_dirty_ = false;
    std::optional<SQLULEN> isolation_before_;

    Mutex cancel_mutex_;           // protects the members below
    std::uint64_t number_ = 0;     // of the work under way; zero: none
    std::uint64_t cancelled_ = 0;  // of the work to be cancelled
    SQLHANDLE waiting_ = nullptr;  // the statement in a driver call that may block
    bool cancel_sent_ = false;     // a cancel was sent since the last absorb_late_cancel()
};

}  // namespace weft::data::odbc
