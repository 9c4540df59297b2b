// What the handles of a database share, and how a call is bounded. Core: any fiber, any thread.
// TransactionState and CursorState serialize their callers by a mutex.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/atomic.h"
#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/base/time.h"
#include "weft/data/database.h"
#include "weft/data/options.h"
#include "weft/data/pool.h"
#include "weft/fiber/cancel.h"
#include "weft/sync/mutex.h"

namespace weft::data::database_internal {

// Cancels a source when a token is cancelled.
class TokenLink : CancelListener {
public:
    TokenLink() : CancelListener(pass_on) {}
    void join(const CancelToken& token, CancelSource& source) {
        WEFT_ASSERT(!source_, "a link joins one token");
        source_ = &source;
        if (token.state()) listen(token.state());
    }

private:
    static void pass_on(CancelListener& listener, CancelReason reason) {
        static_cast<TokenLink&>(listener).source_->cancel(reason);
    }

    CancelSource* source_ = nullptr;
};

// Makes the options of a call the ambient token for the lifetime of the scope. Costs nothing
// without options.
class CallScope {
public:
    // `also` ends the call as well: the token of the transaction or cursor it belongs to.
    explicit CallScope(const CallOptions& options, const CancelToken& also = {});
    CallScope(const CallScope&) = delete;
    CallScope& operator=(const CallScope&) = delete;

    // Cancelled or TimedOut if the call has ended before it began.
    static Result<void> check() { return CancelToken::current().check(); }

private:
    std::optional<CancelSource> source_;
    TokenLink own_;
    TokenLink also_;
    std::optional<CancelScope> scope_;
};

// The earlier of the deadline and the timeout of the options.
Deadline deadline_of(const CallOptions& options);

enum class Need : std::uint8_t { Read, Write, Either };

class Core {
public:
    Core(std::unique_ptr<Provider> provider, DatabaseOptions options)
        : options_(std::move(options)),
          pool_(std::make_shared<Pool>(std::move(provider), options_.pool, options_.name)),
          shared_(pool_->provider().share(pool_)) {}

    // Closed explicitly, because SharedConnections may keep the pool alive longer.
    ~Core() { static_cast<void>(pool_->close(Deadline::at(Instant::min()))); }
    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;

    Result<void> check_access(Need need, std::string_view operation) const;
    // Calls the function and logs the statement if it was slow.
    template <class Function>
    auto timed(const Statement& statement, Function&& function) {
        Instant begun = options_.slow_after > Nanoseconds::zero() ? Clock::now() : Instant();
        auto result = function();
        if (options_.slow_after > Nanoseconds::zero()) log_if_slow(statement, begun);
        return result;
    }

    Pool& pool() { return *pool_; }
    SharedConnections* shared() const { return shared_.get(); }
    Provider& provider() const { return pool_->provider(); }
    const DatabaseOptions& options() const { return options_; }

private:
    void log_if_slow(const Statement& statement, Instant begun) const;

    const DatabaseOptions options_;
    const std::shared_ptr<Pool> pool_;                 // owners: this and shared_
    const std::unique_ptr<SharedConnections> shared_;  // null: each statement takes a connection
};

// The outermost transaction, its savepoints and its cursors.
class TransactionState {
public:
    TransactionState(std::shared_ptr<Core> core, Lease lease, const TransactionOptions& options);
    ~TransactionState();
    TransactionState(const TransactionState&) = delete;
    TransactionState& operator=(const TransactionState&) = delete;

    // Locks the transaction for one statement at this depth. TransactionState (the cause) if it has
    // ended or the depth is not the innermost, Misuse while a cursor is open. Several fibers may
    // call; they run one after the other.
    Result<std::unique_lock<Mutex>> enter(unsigned depth);
    Result<void> finish(unsigned depth, bool commit);
    bool is_open(unsigned depth) const;

    Core& core() const { return *core_; }
    const std::shared_ptr<Core>& shared_core() const { return core_; }
    Connection& connection() const { return *lease_; }
    CancelToken token() const { return source_.token(); }
    unsigned innermost() const { return innermost_; }
    Result<unsigned> begin_savepoint();
    // For the cursor: it is open from here on, and has ended. It ends under its own lock, which
    // finish() waits for while it holds mutex_; so this takes neither.
    void add_cursor(std::weak_ptr<CursorState> cursor);
    void remove_cursor();

private:
    // Null: none is open. The caller owns the cursor while it closes it.
    std::shared_ptr<CursorState> open_cursor();
    Result<void> finish_outermost(bool commit);
    Result<void> finish_savepoint(unsigned depth, bool commit);
    Error not_open() const;
    Error rolled_back() const;

    Mutex mutex_;
    std::shared_ptr<Core> core_;
    Lease lease_;
    CancelSource source_;  // cancelled by the transaction's deadline or token
    TokenLink link_;
    unsigned innermost_ = 0;
    bool ended_ = false;
    SpinLock cursor_lock_;  // protects cursor_
    // A cursor removes itself before its owner lets go of it, so this has not expired.
    std::weak_ptr<CursorState> cursor_;
};

// Owners: the Cursor, and a transaction that closes it.
class CursorState : public std::enable_shared_from_this<CursorState> {
public:
    CursorState(std::shared_ptr<Core> core, const CursorOptions& options);
    ~CursorState() { close(); }
    CursorState(const CursorState&) = delete;
    CursorState& operator=(const CursorState&) = delete;

    // Exactly one of these is called, once.
    Result<void> open_alone(const Statement& statement);
    Result<void> open_in(const std::shared_ptr<TransactionState>& transaction, unsigned depth,
                         const Statement& statement);
    Result<Rows> next();
    void close();
    // Relaxed: another fiber may end the cursor with its transaction; nothing is read through it.
    bool is_closed() const { return ended_.load(std::memory_order_relaxed); }
    const Columns& columns() const { return columns_; }
    std::string_view provider() const { return core_->provider().name(); }

private:
    void end();

    Mutex mutex_;  // a close() waits for the fetch under way
    std::shared_ptr<Core> core_;
    CallOptions call_;  // its timeout is converted to a deadline
    const std::uint32_t rows_max_;
    const std::uint32_t batch_rows_;
    std::optional<Lease> lease_;
    std::shared_ptr<TransactionState> transaction_;
    std::unique_ptr<RowSource> source_;
    Columns columns_;
    std::uint64_t received_ = 0;
    Atomic<bool> ended_{false};  // written under mutex_
    bool closed_ = false;
};

}  // namespace weft::data::database_internal
