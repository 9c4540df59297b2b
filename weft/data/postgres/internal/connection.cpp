#include "weft/data/postgres/internal/connection.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "weft/base/assert.h"
#include "weft/data/failure.h"
#include "weft/data/postgres/internal/row_source.h"
#include "weft/fiber/cancel.h"

namespace weft::data::postgres {
namespace {

constexpr std::string_view kSavepoint = "weft_rows";

std::string begin_text(const TransactionOptions& options) {
    std::string text = "begin";
    switch (options.isolation) {
    case Isolation::Default: break;
    case Isolation::ReadCommitted: text.append(" isolation level read committed"); break;
    case Isolation::RepeatableRead: text.append(" isolation level repeatable read"); break;
    case Isolation::Serializable: text.append(" isolation level serializable"); break;
    }
    if (options.read_only) text.append(" read only");
    return text;
}

}  // namespace

// ---------------------------------------------------------------- single statements

void PostgresConnection::end_exchange() {
    Link& link = session_.link();
    bool in_pipeline = PQpipelineStatus(link.pg()) != PQ_PIPELINE_OFF;
    if (!link.is_broken() && (link.is_busy() || in_pipeline)) link.tidy();
    session_.note_end();
    WEFT_ASSERT(link.is_broken() || !link.is_busy(), "no exchange goes on");
    if (!session_.is_in_transaction()) has_savepoint_ = false;
}

Result<Outcome> PostgresConnection::run(const Statement& statement, RowLimit limit) {
    WEFT_TRY(session_.check(statement));
    bool was_in_transaction = session_.is_in_transaction();
    bool may_stop = limit.beyond == RowLimit::Beyond::Stop;
    if (may_stop && was_in_transaction && !Session::may_have_effects(statement))
        WEFT_TRY(set_savepoint());
    bool stopped = false;
    Result<Outcome> outcome = run_once(statement, limit, stopped);
    if (outcome && stopped) {
        stop();
        return outcome;
    }
    end_exchange();
    if (outcome) return outcome;
    if (!session_.forget_if_stale(Session::keyed_text_of(statement).key, outcome.error()))
        return outcome;
    // The server has refused the statement before it began, so it can be repeated.
    if (was_in_transaction || session_.link().is_broken()) return outcome;
    outcome = run_once(statement, limit, stopped);
    if (outcome && stopped) {
        stop();
    } else {
        end_exchange();
    }
    return outcome;
}

Result<void> PostgresConnection::run_script(const std::string& text) {
    WEFT_TRY(session_.check(Statement(text)));
    session_.set_dirty();
    Result<std::string> done = session_.command(text);
    end_exchange();
    if (!done) return done.error();
    return {};
}

Result<Outcome> PostgresConnection::run_once(const Statement& statement, RowLimit limit,
                                             bool& stopped) {
    RowForm form = WEFT_TRY(session_.start(statement));
    return session_.collect(std::move(form), statement, limit, stopped);
}

Result<std::pair<RowForm, ResultPointer>> PostgresConnection::start(const Statement& statement) {
    WEFT_TRY(session_.check(statement));
    WEFT_TRY(set_savepoint());
    bool was_in_transaction = session_.is_in_transaction();
    for (bool again = true;; again = false) {
        Result<RowForm> form = session_.start(statement);
        Result<ResultPointer> first = ErrorKind::Other;
        if (form) first = session_.link().next();
        std::optional<Error> failure;
        if (!form) {
            failure = form.error();
        } else if (!first) {
            failure = first.error();
        } else if (PQresultStatus(first->get()) == PGRES_FATAL_ERROR) {
            failure = to_error(first->get());
        }
        if (!failure) return std::pair(std::move(*form), std::move(*first));
        end_exchange();
        bool stale = session_.forget_if_stale(Session::keyed_text_of(statement).key, *failure);
        if (!again || !stale || was_in_transaction || session_.link().is_broken()) return *failure;
    }
}

// ---------------------------------------------------------------- giving up statements

Result<void> PostgresConnection::set_savepoint() {
    if (session_.link().status() != PQTRANS_INTRANS) return {};
    std::string text;
    if (has_savepoint_) text.append("release savepoint ").append(kSavepoint).append(";");
    text.append("savepoint ").append(kSavepoint);
    Result<std::string> set = session_.command(text);
    end_exchange();
    if (!set) return set.error();
    has_savepoint_ = true;
    return {};
}

void PostgresConnection::stop() {
    end_exchange();
    if (session_.link().status() != PQTRANS_INERROR || !has_savepoint_) return;
    std::string text = "rollback to savepoint ";
    text.append(kSavepoint).append(";release savepoint ").append(kSavepoint);
    Result<std::string> undone =
        shield(Deadline::after(kTidyTimeout), [&] { return session_.command(text); });
    has_savepoint_ = false;
    if (!undone) session_.link().set_broken();
}

Result<std::unique_ptr<RowSource>> PostgresConnection::open_rows(const Statement& statement) {
    auto [form, first] = WEFT_TRY(start(statement));
    return PostgresRows::open(*this, std::move(form), std::move(first));
}

// ---------------------------------------------------------------- batches

// Whether both have the same text and types of values, and so the same key. Arrays are not
// compared.
bool PostgresConnection::repeats(const Statement& statement, const Statement& before) {
    auto is_like = [](const Value& one, const Value& other) {
        return one.type() == other.type() && one.type() != Type::Array;
    };
    return std::ranges::equal(statement.parameters(), before.parameters(), is_like) &&
           statement.has_text_of(before);
}

// The statements without those that repeat the one before, about which there is nothing to find
// out.
std::vector<const Statement*> PostgresConnection::different(std::span<const Statement> statements) {
    std::vector<const Statement*> all;
    for (const Statement& statement : statements) {
        if (all.empty() || !repeats(statement, *all.back())) all.push_back(&statement);
    }
    return all;
}

bool PostgresConnection::can_pipeline(std::span<const Statement* const> different) const {
    // All statements have to stay prepared until they have run.
    std::set<std::string> keys;
    for (const Statement* statement : different) {
        if (!session_.can_queue(*statement)) return false;
        keys.insert(Session::keyed_text_of(*statement).key);
    }
    return keys.size() <= session_.pipeline_max();
}

// The server makes one transaction of everything before a sync, and commits it before the client
// has seen a row too many. So a single sync suffices only where no rows are returned or nothing
// needs to be undone.
PostgresConnection::BatchForm PostgresConnection::form_of(
    std::span<const Statement* const> different) {
    if (session_.is_in_transaction()) return BatchForm::Plain;
    if (std::ranges::all_of(different, [&](auto* one) { return session_.has_no_rows(*one); }))
        return BatchForm::Plain;
    if (std::ranges::all_of(different, [](auto* one) { return Session::only_reads(*one); }))
        return BatchForm::ReadOnly;
    return BatchForm::ToCommit;
}

Result<std::vector<Outcome>> PostgresConnection::run_all(std::span<const Statement> statements,
                                                         RowLimit limit, bool atomic) {
    bool in_transaction = session_.is_in_transaction();
    bool is_one = statements.size() < 2;
    atomic = atomic && !in_transaction && !is_one;
    // Without a transaction each statement is committed by itself, and none may run after one that
    // failed.
    if (is_one || (!atomic && !in_transaction))
        return Connection::run_all(statements, limit, atomic);
    std::vector<const Statement*> all_different = different(statements);
    if (!can_pipeline(all_different)) return Connection::run_all(statements, limit, atomic);
    for (const Statement* statement : all_different) {
        WEFT_TRY(session_.check(*statement));
        Result<void> prepared = session_.prepare(*statement);
        end_exchange();
        if (prepared) continue;
        // It may depend on an earlier statement of the batch; otherwise it fails again when it is
        // run.
        if (session_.link().is_broken() || in_transaction) return prepared.error();
        return Connection::run_all(statements, limit, atomic);
    }
    BatchForm form = form_of(all_different);
    Result<std::vector<Outcome>> outcomes = run_pipelined(statements, limit, form);
    if (form == BatchForm::ReadOnly && !outcomes && sqlstate_of(outcomes.error()) == "25006")
        outcomes = run_pipelined(statements, limit, BatchForm::ToCommit);
    return outcomes;
}

Result<std::vector<Outcome>> PostgresConnection::run_pipelined(
    std::span<const Statement> statements, RowLimit limit, BatchForm form) {
    bool was_in_transaction = session_.is_in_transaction();
    Result<std::vector<Outcome>> outcomes = send_all(statements, limit, form);
    end_exchange();
    if (was_in_transaction || session_.link().is_broken() || !session_.is_in_transaction())
        return outcomes;
    Result<void> ended = shield(Deadline::after(kTidyTimeout), [&] {
        return step(outcomes ? TransactionStep::Commit : TransactionStep::Rollback, 0, {});
    });
    if (outcomes && !ended) return ended.error();
    return outcomes;
}

Result<std::vector<Outcome>> PostgresConnection::send_all(std::span<const Statement> statements,
                                                          RowLimit limit, BatchForm form) {
    Link& link = session_.link();
    bool is_implicit = form == BatchForm::Plain && !session_.is_in_transaction();
    WEFT_TRY(link.enter_pipeline());
    std::vector<RowForm> forms;
    if (form != BatchForm::Plain)
        WEFT_TRY(session_.queue_command(form == BatchForm::ReadOnly ? "begin read only" : "begin"));
    const Prepared* known = nullptr;  // of the statement before
    for (std::size_t at = 0; at < statements.size(); ++at) {
        bool is_again = known && repeats(statements[at], statements[at - 1]);
        if (!is_again) known = session_.prepared(statements[at]);
        Result<RowForm> queued = session_.queue(statements[at], known);
        if (!queued) {
            // The statements queued before it must be answered but not committed: a command that
            // fails ensures that.
            if (is_implicit) WEFT_TRY(session_.queue_command("rollback to savepoint weft_none"));
            WEFT_TRY(link.sync());
            return queued.error().with_context("statement", std::to_string(at + 1));
        }
        forms.push_back(std::move(*queued));
    }
    if (form == BatchForm::ReadOnly) WEFT_TRY(session_.queue_command("commit"));
    WEFT_TRY(link.sync());
    WEFT_TRY(link.flush());
    if (form != BatchForm::Plain) {
        bool stopped = false;
        WEFT_TRY(session_.collect(RowForm(), "begin", limit, stopped));
    }
    return collect_all(statements, std::move(forms), limit);
}

Result<std::vector<Outcome>> PostgresConnection::collect_all(std::span<const Statement> statements,
                                                             std::vector<RowForm> forms,
                                                             RowLimit limit) {
    Link& link = session_.link();
    WEFT_ASSERT(forms.size() == statements.size(), "every statement was queued");
    std::vector<Outcome> outcomes;
    std::optional<Error> failure;
    for (std::size_t at = 0; at < forms.size(); ++at) {
        request_rows_singly(link.pg());
        bool stopped = false;
        Result<Outcome> outcome =
            session_.collect(std::move(forms[at]), statements[at], limit, stopped);
        if (outcome && !stopped) {
            outcomes.push_back(std::move(*outcome));
            continue;
        }
        if (stopped && outcome) return row_limit_error("postgres", limit.rows_max);
        // The later ones were only skipped.
        failure = outcome.error().with_context("statement", std::to_string(at + 1));
        session_.forget_if_stale(Session::keyed_text_of(statements[at]).key, outcome.error());
        if (stopped || link.is_broken()) return *failure;
        break;
    }
    // The remaining results of a failed pipeline have been sent already.
    Result<void> drained = link.drain(Deadline::never());
    if (failure) return *failure;
    WEFT_TRY(std::move(drained));
    WEFT_ASSERT(outcomes.size() == statements.size(), "every statement was answered");
    return outcomes;
}

// ---------------------------------------------------------------- transactions and sessions

Result<void> PostgresConnection::step(TransactionStep step, unsigned depth,
                                      const TransactionOptions& options) {
    if (session_.link().is_broken()) return connection_lost();
    if (session_.link().is_busy())
        return Error(ErrorKind::Misuse, "postgres: a cursor or a copy is still open");
    WEFT_TRY(CancelToken::current().check());
    std::string text =
        step == TransactionStep::Begin ? begin_text(options) : transaction_text(step, depth);
    WEFT_ASSERT(!has_savepoint_ || session_.is_in_transaction(), "a savepoint is in a transaction");
    bool released = step == TransactionStep::Savepoint && has_savepoint_;
    if (released) text = "release savepoint " + std::string(kSavepoint) + ";" + text;
    // All steps but Begin undo the savepoint with their own, or end the transaction.
    has_savepoint_ = has_savepoint_ && step == TransactionStep::Begin;
    Result<std::string> tag = session_.command(text);
    end_exchange();
    if (!tag) return tag.error();
    if (step == TransactionStep::Commit && *tag == "ROLLBACK")
        return data::to_error("postgres", "25P02",
                              "a statement had failed, so everything was rolled back");
    return {};
}

ConnectionState PostgresConnection::state() const {
    if (session_.link().is_broken()) return ConnectionState::Broken;
    switch (session_.link().status()) {
    case PQTRANS_IDLE: return ConnectionState::Idle;
    case PQTRANS_INTRANS: return ConnectionState::Transaction;
    case PQTRANS_INERROR: return ConnectionState::Failed;
    default: return ConnectionState::Broken;
    }
}

Result<void> PostgresConnection::validate() {
    Result<std::string> answered = session_.command("");
    end_exchange();
    if (!answered) return answered.error();
    return {};
}

Result<void> PostgresConnection::reset() {
    if (!session_.is_dirty()) return {};
    Result<void> discarded = session_.discard();
    end_exchange();
    return discarded;
}

}  // namespace weft::data::postgres
