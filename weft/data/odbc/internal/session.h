// Session: a connection of a driver, as calls that block. See odbc.h.
//
// One thread at a time, but for stop(). The pieces of work that are done with it have numbers; what
// is to stop is named by its number, so that it cannot be the next.
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

    // Around each piece of work.
    void begin_work(std::uint64_t number);
    void end_work();
    // Cancels what this piece of work waits for in the driver, and lets it end before its next call
    // of it. What it does may come too early for the driver to notice, so it is done again until
    // the work has ended. Any thread; blocks as the driver does.
    void stop(std::uint64_t number);

    Result<void> connect();
    Result<Outcome> run(const Statement& statement, RowLimit limit);
    Result<std::vector<Outcome>> run_all(std::span<const Statement> statements, RowLimit limit,
                                         bool atomic);
    Result<void> run_script(const std::string& text);
    // One at a time.
    Result<Columns> open_rows(const Statement& statement);
    Result<Rows> fetch(std::size_t rows_max);
    void close_rows();
    Result<void> step(TransactionStep step, unsigned depth, const TransactionOptions& options);
    Result<void> validate();
    Result<void> reset();

    // Between pieces of work.
    ConnectionState state() const;
    const OdbcFacts& facts() const { return facts_; }
    bool is_dirty() const { return is_dirty_; }

private:
    // A statement that runs, and its rows.
    struct Active {
        StatementHandle handle;
        std::string key;  // in the cache; empty: it was not prepared
        Parameters parameters;
        Reader reader;
        std::uint64_t affected = 0;
        bool writes = false;
    };
    // The time of one call that may block.
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
    // A statement of our own.
    Result<void> tell(std::string_view text);
    Result<std::optional<Value>> ask(std::string_view text);
    void stream_rows(bool wanted);

    // Transactions.
    Result<void> begin(const TransactionOptions& options);
    Result<void> end(bool commit);
    Result<void> set_isolation(Isolation isolation);
    Result<void> set_autocommit(bool on);
    bool set_number(SQLINTEGER attribute, SQLULEN value);
    SQLULEN number_of(SQLINTEGER attribute, SQLULEN otherwise) const;

    Error link_error(Phase phase) const;
    Error statement_error(const StatementHandle& handle, Phase phase) const;
    // After a failure: what is left of the connection and its transaction.
    void note_failure(const Error& error);
    Error telling(const Error& error) const;  // what is known of it by then
    void settle_after_cancel();
    bool is_under_way(std::uint64_t number);
    void say(const std::string& text);  // whatever comes of it

    const OdbcOptions options_;
    const Access access_;
    OdbcFacts facts_;
    Environment environment_;
    Link link_;
    bool is_connected_ = false;
    bool is_psqlodbc_ = false;
    std::int64_t session_number_ = 0;  // at the server, where it is needed to stop a statement
    bool streams_rows_ = false;
    StatementCache cache_{0};
    std::optional<Active> cursor_;

    bool in_transaction_ = false;
    bool transaction_reads_ = false;
    bool transaction_failed_ = false;
    bool is_broken_ = false;
    bool is_dirty_ = false;
    std::optional<SQLULEN> isolation_before_;

    Mutex stop_mutex_;             // the rest
    std::uint64_t number_ = 0;     // of the work under way; zero: none
    std::uint64_t stopped_ = 0;    // of the work that is to stop
    SQLHANDLE waiting_ = nullptr;  // the statement in a call that may block
    bool was_cancelled_ = false;   // a cancel was sent since settle_after_cancel()
};

}  // namespace weft::data::odbc
