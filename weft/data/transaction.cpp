#include <mutex>
#include <string>
#include <utility>

#include "weft/base/assert.h"
#include "weft/data/database.h"
#include "weft/data/internal/core.h"

namespace weft::data {
namespace database_internal {
namespace {

// A commit is not cancelled with its caller: the outcome would be unknown.
constexpr Nanoseconds kCommitTimeout = std::chrono::seconds(30);

}  // namespace

TransactionState::TransactionState(std::shared_ptr<Core> core, Lease lease,
                                   const TransactionOptions& options)
    : core_(std::move(core)),
      lease_(std::move(lease)),
      source_(CancelSource::detached(deadline_of(options.call()))) {
    link_.join(options.token, source_);
}

TransactionState::~TransactionState() {
    WEFT_ASSERT(ended_, "the destructor of the outermost handle has ended the transaction");
    WEFT_ASSERT(cursor_.expired(), "an open cursor keeps its transaction");
}

void TransactionState::add_cursor(std::weak_ptr<CursorState> cursor) {
    SpinGuard guard(cursor_lock_);
    WEFT_ASSERT(cursor_.expired(), "a transaction has at most one open cursor");
    cursor_ = std::move(cursor);
}

void TransactionState::remove_cursor() {
    SpinGuard guard(cursor_lock_);
    cursor_.reset();
}

std::shared_ptr<CursorState> TransactionState::open_cursor() {
    SpinGuard guard(cursor_lock_);
    return cursor_.lock();
}

Error TransactionState::not_open() const {
    return to_error(
        core_->provider().name(), "25000",
        ended_ ? "the transaction has ended" : "the transaction is not the innermost that is open");
}

Error TransactionState::rolled_back() const {
    return to_error(
        core_->provider().name(), "25P02",
        "a statement of the transaction failed or ended it, so what is open of it is undone");
}

Result<std::unique_lock<Mutex>> TransactionState::enter(unsigned depth) {
    WEFT_TRY(mutex_.lock_cancellable());
    std::unique_lock<Mutex> lock(mutex_, std::adopt_lock);
    if (ended_ || depth != innermost_) return not_open();
    WEFT_ASSERT(innermost_ <= kSavepointsDeepMax, "the depth of savepoints is bounded");
    if (open_cursor())
        return Error(ErrorKind::Misuse, "a cursor of the transaction is open; close it first");
    // The database has ended the transaction; a statement now would run outside of it.
    if (connection().state() == ConnectionState::Idle) return rolled_back();
    return lock;
}

bool TransactionState::is_open(unsigned depth) const { return !ended_ && depth <= innermost_; }

Result<unsigned> TransactionState::begin_savepoint() {
    if (innermost_ + 1 > kSavepointsDeepMax)
        return Error::limit("transactions are nested deeper than", kSavepointsDeepMax,
                            "kSavepointsDeepMax");
    unsigned depth = innermost_ + 1;
    WEFT_TRY(connection().step(TransactionStep::Savepoint, depth, {}));
    WEFT_ASSERT(innermost_ + 1 == depth, "the caller holds the lock during the step");
    return ++innermost_;
}

Result<void> TransactionState::finish(unsigned depth, bool commit) {
    // Not cancellable: a transaction that has begun must be ended.
    std::unique_lock<Mutex> lock(mutex_);
    if (ended_ || depth > innermost_) return not_open();
    if (commit && depth != innermost_) return not_open();
    std::shared_ptr<CursorState> cursor = open_cursor();
    if (commit && cursor)
        return Error(ErrorKind::Misuse, "a cursor of the transaction is open; close it first");
    if (cursor) cursor->close();
    WEFT_ASSERT(!open_cursor(), "a closed cursor has left its transaction");
    return depth == 0 ? finish_outermost(commit) : finish_savepoint(depth, commit);
}

Result<void> TransactionState::finish_outermost(bool commit) {
    WEFT_ASSERT(!ended_, "a transaction ends once");
    ended_ = true;
    Result<void> live = commit ? source_.token().check() : Result<void>();
    if (commit && live) live = CancelToken::current().check();
    if (commit && live && connection().state() != ConnectionState::Transaction)
        live = rolled_back();
    bool commits = commit && live.has_value();
    Nanoseconds patience = commits ? kCommitTimeout : kTidyTimeout;
    Result<void> ended = shield(Deadline::after(patience), [&]() -> Result<void> {
        if (connection().state() == ConnectionState::Idle) return {};
        return connection().step(commits ? TransactionStep::Commit : TransactionStep::Rollback, 0,
                                 {});
    });
    // If the transaction is still open or the connection is broken, the pool rolls back or closes
    // it.
    lease_.give_back();
    return live ? ended : live;
}

Result<void> TransactionState::finish_savepoint(unsigned depth, bool commit) {
    WEFT_ASSERT(depth > 0 && depth <= innermost_, "the savepoint is open");
    Result<void> live;
    if (commit && connection().state() != ConnectionState::Transaction) live = rolled_back();
    innermost_ = depth - 1;
    bool commits = commit && live.has_value();
    Result<void> ended = shield(Deadline::after(kTidyTimeout), [&]() -> Result<void> {
        if (connection().state() == ConnectionState::Idle) return {};
        if (!commits) WEFT_TRY(connection().step(TransactionStep::RollbackToSavepoint, depth, {}));
        return connection().step(TransactionStep::ReleaseSavepoint, depth, {});
    });
    return live ? ended : live;
}

}  // namespace database_internal

using database_internal::CallScope;
using database_internal::Need;

Transaction::Transaction(std::shared_ptr<State> state, unsigned depth)
    : state_(std::move(state)), depth_(depth) {}

Transaction::Transaction(Transaction&& other) noexcept
    : state_(std::move(other.state_)),
      depth_(other.depth_),
      ended_(std::exchange(other.ended_, true)) {}

Transaction& Transaction::operator=(Transaction&& other) noexcept {
    if (this != &other) {
        if (!ended_) static_cast<void>(rollback());
        state_ = std::move(other.state_);
        depth_ = other.depth_;
        ended_ = std::exchange(other.ended_, true);
    }
    return *this;
}

Transaction::~Transaction() {
    if (!ended_) static_cast<void>(rollback());
}

bool Transaction::is_open() const { return !ended_ && state_->is_open(depth_); }
unsigned Transaction::depth() const { return depth_; }

Result<Outcome> Transaction::run(const Statement& statement, RowLimit limit,
                                 const CallOptions& options) {
    if (ended_) return to_error("data", "25000", "the transaction has ended");
    CallScope scope(options, state_->token());
    WEFT_TRY(scope.check());
    std::unique_lock<Mutex> lock = WEFT_TRY(state_->enter(depth_));
    auto run_now = [&] { return state_->connection().run(statement, limit); };
    Result<Outcome> outcome = state_->core().timed(statement, run_now);
    WEFT_ASSERT(!outcome || outcome->rows.size() <= limit.rows_max, "the provider's limit holds");
    return outcome;
}

Result<Rows> Transaction::query(const Statement& statement, const QueryOptions& options) {
    if (!ended_) WEFT_TRY(state_->core().check_access(Need::Read, "query"));
    if (options.rows_max == 0) return Error(ErrorKind::Misuse, "rows_max is 0; at least one row");
    Outcome outcome = WEFT_TRY(run(statement, {.rows_max = options.rows_max}, options.call()));
    return std::move(outcome.rows);
}

Result<std::optional<Rows>> Transaction::query_one(const Statement& statement,
                                                   const QueryOptions& options) {
    if (!ended_) WEFT_TRY(state_->core().check_access(Need::Read, "query_one"));
    RowLimit limit{.rows_max = 1, .beyond = RowLimit::Beyond::Stop};
    Outcome outcome = WEFT_TRY(run(statement, limit, options.call()));
    if (outcome.rows.empty()) return std::optional<Rows>();
    return std::optional<Rows>(std::move(outcome.rows));
}

Result<Outcome> Transaction::exec(const Statement& statement, const CallOptions& options) {
    if (!ended_) WEFT_TRY(state_->core().check_access(Need::Write, "exec"));
    return run(statement, RowLimit{}, options);
}

Result<std::vector<Outcome>> Transaction::batch(std::span<const Statement> statements,
                                                const BatchOptions& options) {
    if (ended_) return to_error("data", "25000", "the transaction has ended");
    WEFT_TRY(state_->core().check_access(Need::Write, "batch"));
    CallScope scope(options.call(), state_->token());
    WEFT_TRY(scope.check());
    std::unique_lock<Mutex> lock = WEFT_TRY(state_->enter(depth_));
    return state_->connection().run_all(statements, {.rows_max = options.rows_max}, false);
}

Result<void> Transaction::run_script(const std::string& text, const CallOptions& options) {
    if (ended_) return to_error("data", "25000", "the transaction has ended");
    WEFT_TRY(state_->core().check_access(Need::Write, "run_script"));
    CallScope scope(options, state_->token());
    WEFT_TRY(scope.check());
    std::unique_lock<Mutex> lock = WEFT_TRY(state_->enter(depth_));
    return state_->connection().run_script(text);
}

Result<Cursor> Transaction::query_cursor(const Statement& statement, const CursorOptions& options) {
    if (ended_) return to_error("data", "25000", "the transaction has ended");
    WEFT_TRY(state_->core().check_access(Need::Read, "query_cursor"));
    auto cursor = std::make_shared<database_internal::CursorState>(state_->shared_core(), options);
    WEFT_TRY(cursor->open_in(state_, depth_, statement));
    return Cursor(std::move(cursor));
}

Result<Transaction> Transaction::begin() {
    if (ended_) return to_error("data", "25000", "the transaction has ended");
    CallScope scope({}, state_->token());
    WEFT_TRY(scope.check());
    std::unique_lock<Mutex> lock = WEFT_TRY(state_->enter(depth_));
    unsigned depth = WEFT_TRY(state_->begin_savepoint());
    return Transaction(state_, depth);
}

Result<void> Transaction::commit() {
    if (std::exchange(ended_, true)) return to_error("data", "25000", "the transaction has ended");
    Result<void> committed = state_->finish(depth_, true);
    // It failed because of an open cursor or inner transaction: this one can still be ended.
    if (!committed && state_->is_open(depth_)) ended_ = false;
    return committed;
}

Result<void> Transaction::rollback() {
    if (std::exchange(ended_, true)) return to_error("data", "25000", "the transaction has ended");
    return state_->finish(depth_, false);
}

}  // namespace weft::data
