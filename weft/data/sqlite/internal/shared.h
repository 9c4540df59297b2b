// Runs single statements outside of transactions: over a leased connection while one is free.
// Otherwise they wait in a queue, from which the threads of the connections take one after the
// other, so that many statements cost one way to such a thread and back.
//
// A server is a fiber that leases a connection and lets its thread take statements until none is
// left, somebody else waits for a connection, or it has taken kStatementsPerLease. While statements
// wait, a server waits for a connection like any other caller, unless there are as many servers as
// connections. So a slow statement delays no other one while there is another connection.
//
// A statement that a caller does not wait for any longer is taken out of the queue, or stopped
// where it runs; then the caller waits until it has ended, as with a connection of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "weft/base/atomic.h"
#include "weft/base/intrusive_list.h"
#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/data/pool.h"
#include "weft/data/provider.h"
#include "weft/sync/event.h"

namespace weft::data::sqlite_internal {

class SqliteConnection;

inline constexpr std::size_t kStatementsPerLease = 256;

// A statement that waits or runs. It lies in the frame of its caller, which stays until the
// statement has been withdrawn or has ended.
struct Request {
    const Statement& statement;
    const RowLimit limit;
    std::optional<Result<Outcome>> outcome = std::nullopt;  // written before `done` is set
    Event done = Event();
    // Set under the queue's lock while the statement runs.
    SqliteConnection* carrier = nullptr;
    // Read by the carrier's thread while the statement runs.
    Atomic<bool> is_cancelled{false};
    ListLink link = {};
};

// Any fiber; take() and finish() are for the threads of connections. Owners: SqliteShared and the
// servers.
class SharedQueue : public std::enable_shared_from_this<SharedQueue> {
public:
    explicit SharedQueue(std::shared_ptr<Pool> pool) : pool_(std::move(pool)) {}
    ~SharedQueue();
    SharedQueue(const SharedQueue&) = delete;
    SharedQueue& operator=(const SharedQueue&) = delete;

    // Whether a new statement has to wait behind others, or for a connection.
    bool has_to_wait() const;
    // Waits for the outcome of a statement. Empty: it was not accepted, and the caller leases a
    // connection.
    std::optional<Result<Outcome>> carry(Request& request);
    std::uint64_t count() const { return carried_.load(std::memory_order_relaxed); }

    // The next statement, which this connection runs; null: it takes no more during this lease.
    Request* take(SqliteConnection& connection, std::size_t taken);
    // The last access to the request.
    void finish(Request& request, Result<Outcome> outcome);

private:
    bool push(Request& request);
    bool withdraw(Request& request);
    void stop(Request& request);
    Result<void> wait_for(Request& request);
    bool start_server();
    void serve();
    bool try_continue();
    void give_up(const Error& error);
    Request* pop();

    const std::shared_ptr<Pool> pool_;
    mutable SpinLock lock_;  // protects everything up to acquiring_
    IntrusiveList<Request, &Request::link> waiting_;
    std::size_t waiting_count_ = 0;
    std::size_t servers_ = 0;
    std::size_t acquiring_ = 0;  // servers that wait for a connection, or will at once
    Atomic<std::uint64_t> carried_{0};
};

class SqliteShared final : public SharedConnections {
public:
    explicit SqliteShared(const std::shared_ptr<Pool>& pool)
        : pool_(pool), queue_(std::make_shared<SharedQueue>(pool)) {}

    Result<Outcome> run(const Statement& statement, RowLimit limit,
                        std::string_view purpose) override;
    std::uint64_t count() const override { return queue_->count(); }

private:
    const std::shared_ptr<Pool> pool_;
    const std::shared_ptr<SharedQueue> queue_;
};

}  // namespace weft::data::sqlite_internal
