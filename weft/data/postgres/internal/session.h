// Session: runs statements over one link, caches their preparation and reads their results. A layer
// below Connection, so that cursors, copies and shared connections can use it too. One fiber at a
// time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"
#include "weft/data/options.h"
#include "weft/data/postgres/internal/link.h"
#include "weft/data/postgres/internal/statement_cache.h"
#include "weft/data/provider.h"
#include "weft/data/rows.h"
#include "weft/data/statement.h"

namespace weft::data::postgres {

struct SessionOptions {
    bool prepare = true;
    std::size_t statements_max = 0;
    bool read_only = false;  // Access::Read
};

// How to decode the rows of a running statement. If the statement was not prepared, the columns are
// null until the first result arrives.
struct RowForm {
    Columns columns;
    std::vector<Oid> types;
    int format = kTextFormat;

    void take_from(const PGresult* result);
    Result<void> append(const PGresult* result, int row, Rows& rows) const;
    // Whether the columns of the result have these types.
    bool fits(const PGresult* result) const;
};

// The text of a statement with PostgreSQL's placeholders, and its key in the caches.
struct KeyedText {
    std::string text;
    std::string key;
};

class Session {
public:
    Session(std::unique_ptr<Link> link, const SessionOptions& options);

    Link& link() const { return *link_; }
    bool is_in_transaction() const;

    // Checks before sending that the session can run the statement. Errors: Closed, Cancelled,
    // TimedOut, Permission, Misuse.
    Result<void> check(const Statement& statement) const;
    // Prepares a statement if necessary and sends it completely; the caller reads its results next.
    Result<RowForm> start(const Statement& statement);
    // Queues a statement in a pipeline; prepare() was called for it before, and `prepared` is what
    // prepared() gives for it.
    Result<RowForm> queue(const Statement& statement, const Prepared* prepared);
    // Null if it is not prepared. Valid until another statement is prepared or forgotten.
    const Prepared* prepared(const Statement& statement);
    Result<void> prepare(const Statement& statement);
    bool can_queue(const Statement& statement) const;
    bool can_prepare(const Statement& statement) const;
    // Queues a command of Weft itself in a pipeline.
    Result<void> queue_command(const char* text);
    // Whether the statement is prepared and returns no rows.
    bool has_no_rows(const Statement& statement);
    // Judges by the first word; a function that the statement calls may still write.
    static bool only_reads(const Statement& statement);
    static bool may_have_effects(const Statement& statement);
    static KeyedText keyed_text_of(const Statement& statement);
    // The description that other sessions need for queue_known(); null if the statement cannot be
    // run on a shared connection.
    std::shared_ptr<const Prepared> description_of(const KeyedText& keyed);
    struct Queued {
        RowForm form;
        unsigned before = 0;  // number of results that precede its own
    };
    // Queues a statement in a pipeline that another session has described, and prepares it first if
    // the session has not. The caller that sees that preparation fail calls forget().
    Result<Queued> queue_known(const std::string& key, const std::string& text,
                               const std::vector<Value>& values, const Prepared& known);
    void forget(const std::string& key) { cache_.drop(key); }
    // How many different statements stay prepared at the same time.
    std::size_t pipeline_max() const {
        return options_.prepare ? options_.statements_max : kBatchStatementsMax;
    }

    // Reads the results of one statement up to the null that ends them. One row more than the limit
    // ends the reading early: with an error, or with `stopped` set while the statement still runs.
    // A statement with effects is read to its end instead, and its further rows are dropped:
    // stopping it would undo the effects.
    Result<Outcome> collect(RowForm form, const Statement& statement, RowLimit limit,
                            bool& stopped);
    // Runs commands of Weft itself without parameters, separated by semicolons. Returns the tag of
    // the last.
    Result<std::string> command(const std::string& text);

    // True if the error says that the preparation is stale. It is then forgotten, and the statement
    // may be tried once more.
    bool forget_if_stale(const std::string& key, const Error& error);
    // Called after each exchange; checks what it has done to the session.
    void note_end();
    // Whether session state was changed that the next user would see.
    bool is_dirty() const { return dirty_; }
    void set_dirty() { dirty_ = true; }
    Result<void> discard();
    // Evaluates the server's command tag: affected rows, forgotten preparations.
    void note_tag(const PGresult* result, Outcome& outcome);

private:
    Result<const Prepared*> find_or_prepare(const Statement& statement, const KeyedText& keyed);
    Result<Prepared> prepare_now(const std::string& text, const std::vector<Value>& values);
    Result<ResultPointer> describe(const std::string& name, const std::string& text,
                                   const std::vector<Oid>& types, const std::string& forget);
    Result<RowForm> send(const std::string& text, const std::vector<Value>& values,
                         const Prepared* prepared);

    std::unique_ptr<Link> link_;
    SessionOptions options_;
    StatementCache cache_;
    bool dirty_ = false;
};

// Asks libpq to deliver rows as they arrive: one by one, or in chunks where it can.
void request_rows_singly(PGconn* pg);

}  // namespace weft::data::postgres
