// Session: statements over one link, prepared and cached, and their results. Below the contract of
// Connection, so that cursors, copies and shared connections use the same.
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
    bool read_only = false;  // by Access::Read
};

// How the rows of a statement that runs are to be read. The columns are null until the first result
// if the statement was not prepared.
struct RowForm {
    Columns columns;
    std::vector<Oid> types;
    int format = kTextFormat;

    void take_from(const PGresult* result);
    Result<void> append(const PGresult* result, int row, Rows& rows) const;
    // Whether the columns of the result are of these types.
    bool fits(const PGresult* result) const;
};

// A statement as PostgreSQL takes it, and what it is found by.
struct Phrase {
    std::string text;
    std::string key;
};

class Session {
public:
    Session(std::unique_ptr<Link> link, const SessionOptions& options);

    Link& link() const { return *link_; }
    bool is_in_transaction() const;

    // Before anything is sent: whether the session can take it. Closed, Cancelled, TimedOut,
    // Permission.
    Result<void> check(const Statement& statement) const;
    // Sends a statement, prepared if need be, up to its last byte; its results come next.
    Result<RowForm> start(const Statement& statement);
    // Queues one in a pipeline; it must have been prepared by prepare().
    Result<RowForm> queue(const Statement& statement);
    Result<void> prepare(const Statement& statement);
    bool can_queue(const Statement& statement) const;
    bool can_prepare(const Statement& statement) const;
    // A command of our own in a pipeline.
    Result<void> queue_command(const char* text);
    // Whether it is prepared, and gives no rows.
    bool has_no_rows(const Statement& statement);
    // By its first word. A function that it calls may write all the same.
    static bool only_reads(const Statement& statement);
    static bool may_have_effects(const Statement& statement);
    static Phrase phrase_of(const Statement& statement);
    // What other sessions need to know for queue_known(); null if the statement cannot be run
    // beside those of others.
    std::shared_ptr<const Prepared> description_of(const Phrase& phrase);
    struct Queued {
        RowForm form;
        unsigned before = 0;  // so many answers come before its own
    };
    // Queues one in a pipeline that another session has described, and prepares it first if need
    // be. Whoever sees that fail says so by forget().
    Result<Queued> queue_known(const std::string& key, const std::string& text,
                               const std::vector<Value>& values, const Prepared& known);
    void forget(const std::string& key) { cache_.drop(key); }
    // So many different ones at once stay prepared.
    std::size_t pipeline_max() const {
        return options_.prepare ? options_.statements_max : kBatchStatementsMax;
    }

    // The results of one statement, up to the null that ends them. A row too many ends it early: as
    // an error, or with `stopped` set, and the statement still runs. One with effects goes on to
    // its end instead, and its other rows are dropped: stopped, it would be undone.
    Result<Outcome> collect(RowForm form, const Statement& statement, RowLimit limit,
                            bool& stopped);
    // A command of our own without parameters; several are separated by semicolons. Gives the tag
    // of the last.
    Result<std::string> command(const std::string& text);

    // The statement failed so that it may be tried once more, as if it had never been prepared.
    bool forget_if_stale(const std::string& key, const Error& error);
    // After each exchange: what it has done to the session.
    void note_end();
    // Something was left behind that the next user would see.
    bool is_dirty() const { return dirty_; }
    void set_dirty() { dirty_ = true; }
    Result<void> discard();
    // What the server says that it has done.
    void note_tag(const PGresult* result, Outcome& outcome);

private:
    Result<const Prepared*> find_or_prepare(const Statement& statement, const Phrase& phrase);
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

// Rows one by one, or as many at a time as libpq can.
void request_rows_singly(PGconn* pg);

}  // namespace weft::data::postgres
