#include "weft/data/database.h"

#include <string>

#include "weft/base/assert.h"
#include "weft/base/log.h"
#include "weft/data/internal/core.h"

namespace weft::data {
namespace database_internal {
namespace {

// The logged text of a slow statement is truncated to this many bytes.
constexpr std::size_t kLoggedTextMax = 400;

}  // namespace

Deadline deadline_of(const CallOptions& options) {
    if (!options.timeout) return options.deadline;
    return earlier(options.deadline, Deadline::after(*options.timeout));
}

CallScope::CallScope(const CallOptions& options, const CancelToken& also) {
    Deadline deadline = deadline_of(options);
    if (deadline.is_never() && !options.token.state() && !also.state()) return;
    source_.emplace(CancelToken::current(), deadline);
    own_.join(options.token, *source_);
    also_.join(also, *source_);
    if (deadline.expired(Clock::now())) source_->cancel(CancelReason::DeadlineExceeded);
    scope_.emplace(source_->token());
}

Result<void> Core::check_access(Need need, std::string_view operation) const {
    Access access = options_.access;
    bool allowed = access == Access::ReadWrite || need == Need::Either ||
                   (access == Access::Read) == (need == Need::Read);
    if (allowed) return {};
    std::string text(operation);
    text.append(access == Access::Read ? " is not for a handle that may only read"
                                       : " is not for a handle that may only write");
    return to_error(provider().name(), kAccessState, text);
}

void Core::log_if_slow(const Statement& statement, Instant begun) const {
    Nanoseconds took = Clock::now() - begun;
    if (took < options_.slow_after) return;
    std::string text = statement.text(provider().placeholders()).substr(0, kLoggedTextMax);
    for (char& c : text) c = static_cast<unsigned char>(c) < 32 ? ' ' : c;
    log(LogLevel::Warn, "data {}: a statement took {} ms: {}", options_.name,
        took.count() / 1'000'000, text);
}

}  // namespace database_internal

using database_internal::CallScope;
using database_internal::Core;
using database_internal::Need;

namespace {

Result<Outcome> run_unchecked(Core& core, const Statement& statement, RowLimit limit,
                              std::string_view purpose) {
    if (SharedConnections* shared = core.shared()) return shared->run(statement, limit, purpose);
    Lease lease = WEFT_TRY(core.pool().acquire(purpose));
    return lease->run(statement, limit);
}

Result<Outcome> run(Core& core, const Statement& statement, RowLimit limit,
                    std::string_view purpose) {
    WEFT_ASSERT(limit.rows_max > 0, "check_limit() refuses a limit without rows");
    Result<Outcome> outcome = run_unchecked(core, statement, limit, purpose);
    WEFT_ASSERT(!outcome || outcome->rows.size() <= limit.rows_max, "the provider's limit holds");
    return outcome;
}

Result<void> check_limit(std::uint32_t rows_max) {
    if (rows_max == 0) return Error(ErrorKind::Misuse, "rows_max is 0; at least one row");
    return {};
}

std::optional<Rows> first_of(Outcome outcome) {
    if (outcome.rows.empty()) return std::nullopt;
    return std::move(outcome.rows);
}

}  // namespace

Result<Database> Database::open(std::unique_ptr<Provider> provider, DatabaseOptions options) {
    if (options.pool.connections_max == 0)
        return Error(ErrorKind::Misuse, "a pool has at least one connection (connections_max)");
    return Database(std::make_shared<Core>(std::move(provider), std::move(options)));
}

Result<Rows> Database::query(const Statement& statement, const QueryOptions& options) {
    WEFT_TRY(core_->check_access(Need::Read, "query"));
    WEFT_TRY(check_limit(options.rows_max));
    CallScope scope(options.call());
    WEFT_TRY(scope.check());
    Outcome outcome = WEFT_TRY(core_->timed(statement, [&] {
        return run(*core_, statement, {.rows_max = options.rows_max}, "query");
    }));
    return std::move(outcome.rows);
}

Result<std::optional<Rows>> Database::query_one(const Statement& statement,
                                                const QueryOptions& options) {
    WEFT_TRY(core_->check_access(Need::Read, "query_one"));
    CallScope scope(options.call());
    WEFT_TRY(scope.check());
    RowLimit limit{.rows_max = 1, .beyond = RowLimit::Beyond::Stop};
    Outcome outcome = WEFT_TRY(
        core_->timed(statement, [&] { return run(*core_, statement, limit, "query_one"); }));
    return first_of(std::move(outcome));
}

Result<Outcome> Database::exec(const Statement& statement, const CallOptions& options) {
    WEFT_TRY(core_->check_access(Need::Write, "exec"));
    CallScope scope(options);
    WEFT_TRY(scope.check());
    return core_->timed(statement, [&] { return run(*core_, statement, RowLimit{}, "exec"); });
}

Result<std::vector<Outcome>> Database::batch(std::span<const Statement> statements,
                                             const BatchOptions& options) {
    WEFT_TRY(core_->check_access(Need::Write, "batch"));
    WEFT_TRY(check_limit(options.rows_max));
    if (statements.size() > kBatchStatementsMax)
        return Error::limit("a batch has more statements than", kBatchStatementsMax,
                            "kBatchStatementsMax");
    CallScope scope(options.call());
    WEFT_TRY(scope.check());
    if (statements.empty()) return std::vector<Outcome>();
    Lease lease = WEFT_TRY(core_->pool().acquire("batch"));
    Result<std::vector<Outcome>> outcomes =
        lease->run_all(statements, {.rows_max = options.rows_max}, options.atomic);
    WEFT_ASSERT(!outcomes || outcomes->size() == statements.size(), "one outcome per statement");
    return outcomes;
}

Result<Cursor> Database::query_cursor(const Statement& statement, const CursorOptions& options) {
    WEFT_TRY(core_->check_access(Need::Read, "query_cursor"));
    WEFT_TRY(check_limit(options.rows_max));
    auto state = std::make_shared<database_internal::CursorState>(core_, options);
    WEFT_TRY(state->open_alone(statement));
    return Cursor(std::move(state));
}

Result<Transaction> Database::begin(const TransactionOptions& options) {
    CallScope scope(options.call());
    WEFT_TRY(scope.check());
    TransactionOptions allowed = options;
    allowed.read_only = options.read_only || core_->options().access == Access::Read;
    Lease lease = WEFT_TRY(core_->pool().acquire("transaction"));
    // If Begin fails, the destructor of the lease returns the connection, and the pool checks its
    // state.
    WEFT_TRY(lease->step(TransactionStep::Begin, 0, allowed));
    return Transaction(
        std::make_shared<database_internal::TransactionState>(core_, std::move(lease), options), 0);
}

Result<Lease> Database::reserve(const CallOptions& options) {
    CallScope scope(options);
    WEFT_TRY(scope.check());
    return core_->pool().acquire("reservation");
}

Result<void> Database::check(const CallOptions& options) {
    CallScope scope(options);
    WEFT_TRY(scope.check());
    Lease lease = WEFT_TRY(core_->pool().acquire("check"));
    return lease->validate();
}

Result<void> Database::close(Deadline deadline) { return core_->pool().close(deadline); }
bool Database::is_closed() const { return core_->pool().is_closed(); }
PoolStats Database::stats() const {
    PoolStats stats = core_->pool().stats();
    if (core_->shared()) stats.statements_shared = core_->shared()->count();
    return stats;
}
Provider& Database::provider() const { return core_->provider(); }
std::string_view Database::name() const { return core_->options().name; }
Access Database::access() const { return core_->options().access; }

}  // namespace weft::data
