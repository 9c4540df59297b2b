#include <algorithm>
#include <mutex>
#include <utility>

#include "weft/base/assert.h"
#include "weft/data/database.h"
#include "weft/data/internal/core.h"

namespace weft::data {
namespace database_internal {

CursorState::CursorState(std::shared_ptr<Core> core, const CursorOptions& options)
    : core_(std::move(core)),
      call_{deadline_of(options.call()), std::nullopt, options.token},
      rows_max_(options.rows_max),
      batch_rows_(std::clamp(options.batch_rows, 1U, kCursorBatchRowsMax)) {}

Result<void> CursorState::open_alone(const Statement& statement) {
    WEFT_ASSERT(!source_ && !lease_, "a cursor is opened once");
    CallScope scope(call_);
    WEFT_TRY(scope.check());
    lease_.emplace(WEFT_TRY(core_->pool().acquire("cursor")));
    source_ = WEFT_TRY((*lease_)->open_rows(statement));
    WEFT_ASSERT(source_ && source_->columns(), "open_rows() returns rows with columns or an error");
    columns_ = source_->columns();
    return {};
}

Result<void> CursorState::open_in(const std::shared_ptr<TransactionState>& transaction,
                                  unsigned depth, const Statement& statement) {
    WEFT_ASSERT(!source_ && !transaction_, "a cursor is opened once");
    CallScope scope(call_, transaction->token());
    WEFT_TRY(scope.check());
    std::unique_lock<Mutex> lock = WEFT_TRY(transaction->enter(depth));
    source_ = WEFT_TRY(transaction->connection().open_rows(statement));
    WEFT_ASSERT(source_ && source_->columns(), "open_rows() returns rows with columns or an error");
    columns_ = source_->columns();
    transaction_ = transaction;
    transaction_->add_cursor(weak_from_this());
    return {};
}

Result<Rows> CursorState::next() {
    WEFT_TRY(mutex_.lock_cancellable());
    std::unique_lock<Mutex> lock(mutex_, std::adopt_lock);
    WEFT_ASSERT(received_ <= rows_max_, "the limit holds");
    if (closed_) return to_error(provider(), kClosedState, "the cursor is closed");
    if (is_closed()) return Rows(columns_);
    WEFT_ASSERT(source_, "a cursor that has not ended has a row source");
    CallScope scope(call_, transaction_ ? transaction_->token() : CancelToken());
    Result<void> live = scope.check();
    Result<Rows> rows = live ? source_->fetch(batch_rows_) : Result<Rows>(live.error());
    WEFT_ASSERT(!rows || rows->size() <= batch_rows_, "a provider keeps to the size of a batch");
    if (rows && received_ + rows->size() > rows_max_) rows = row_limit_error(provider(), rows_max_);
    if (!rows || rows->empty()) end();
    if (rows) received_ += rows->size();
    return rows;
}

void CursorState::close() {
    std::unique_lock<Mutex> lock(mutex_);
    if (!std::exchange(closed_, true)) end();
}

// The only way a cursor ends, whatever the reason.
void CursorState::end() {
    // Relaxed: see is_closed().
    ended_.store(true, std::memory_order_relaxed);
    if (!source_) return;
    WEFT_ASSERT(lease_.has_value() != (transaction_ != nullptr),
                "a cursor has a connection of its own or that of a transaction");
    shield(Deadline::after(kTidyTimeout), [&] { source_->close(); });
    source_.reset();
    if (transaction_) transaction_->remove_cursor();
    transaction_.reset();
    lease_.reset();
}

}  // namespace database_internal

Cursor::Cursor(std::shared_ptr<database_internal::CursorState> state) : state_(std::move(state)) {}
Cursor::Cursor(Cursor&& other) noexcept = default;
Cursor& Cursor::operator=(Cursor&& other) noexcept {
    if (this == &other) return *this;
    if (state_) state_->close();
    state_ = std::move(other.state_);
    return *this;
}
Cursor::~Cursor() {
    if (state_) state_->close();
}

const std::vector<Column>& Cursor::columns() const { return *state_->columns(); }
std::string_view Cursor::provider() const { return state_->provider(); }
Result<Rows> Cursor::next() {
    WEFT_ASSERT(state_, "a moved-from cursor is not used");
    return state_->next();
}
void Cursor::close() { state_->close(); }
bool Cursor::is_closed() const { return state_->is_closed(); }

}  // namespace weft::data
