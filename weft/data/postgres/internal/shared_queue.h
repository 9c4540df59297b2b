// SharedQueue: sends the statements of several callers over few connections. It holds the waiting
// statements and the pipelines that carry them.
//
// A pipeline is a fiber that holds a connection of the pool in libpq's pipeline mode. Each
// statement is followed by its own sync, so that an error affects only its statement. Only known
// statements are carried: those that have run before, quickly, and that leave no session state
// behind. So none has to be described first, and none delays the others for long.
//
// A caller that stops waiting is settled at once, and the server's answer is dropped. The server is
// asked to stop only when nobody waits for anything on that pipeline, because a cancel hits
// whatever runs at that moment.
//
// A pipeline returns its connection when nothing is left to do, when others wait for one, and at
// intervals; see has_to_yield().
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/base/time.h"
#include "weft/data/pool.h"
#include "weft/data/postgres/internal/statement_cache.h"
#include "weft/data/provider.h"
#include "weft/data/rows.h"
#include "weft/sync/event.h"

namespace weft::data::postgres {

// At most this many statements are sent over a pipeline before the first of them is answered.
inline constexpr std::size_t kPipelineDepthMax = 32;
// Another pipeline is started when each would have to carry more statements than this.
inline constexpr std::size_t kPipelineLoad = 8;
// A statement becomes known when it took no longer than kQuick, and is forgotten when it took
// longer than kSlow; it then leases a connection of its own.
inline constexpr Nanoseconds kQuick = std::chrono::milliseconds(20);
inline constexpr Nanoseconds kSlow = std::chrono::milliseconds(100);

// The description of a statement that has run before.
using KnownStatement = std::shared_ptr<const Prepared>;

// A statement to be carried. Owners: its caller, who may leave, and the queue or its pipeline.
struct Request {
    enum class Phase : std::uint8_t { Waiting, Settled, Abandoned };

    std::string text;
    std::string key;
    std::vector<Value> values;
    RowLimit limit;
    KnownStatement known;

    Event done;
    std::optional<Result<Outcome>> outcome;  // written before phase becomes Settled
    bool stale = false;                      // the server has refused it: to be prepared anew
    Atomic<Phase> phase{Phase::Waiting};

    bool is_wanted() const { return phase.load(std::memory_order_acquire) == Phase::Waiting; }
    // Called by its carrier. Only the first call has an effect, and none if the caller has left.
    void settle(Result<Outcome> result);
    // Called by its caller. False: it was settled before.
    bool abandon();
};
using RequestPointer = std::shared_ptr<Request>;

class SharedPipeline;

// Any fiber. Owners: PostgresShared and the pipelines.
class SharedQueue : public std::enable_shared_from_this<SharedQueue> {
public:
    explicit SharedQueue(std::shared_ptr<Pool> pool) : pool_(std::move(pool)) {}
    ~SharedQueue();
    SharedQueue(const SharedQueue&) = delete;
    SharedQueue& operator=(const SharedQueue&) = delete;

    // The description of a known statement, else null.
    KnownStatement find(const std::string& key) const;
    void learn(const std::string& key, KnownStatement known);
    void forget(const std::string& key);

    // Queues the statement and waits for its outcome until the ambient deadline. Empty: it was not
    // accepted, or has to be prepared anew; the caller runs it over a connection of its own.
    std::optional<Result<Outcome>> carry(const RequestPointer& request);
    // Refuses further statements and makes the pipelines end.
    void close();
    std::uint64_t count() const { return carried_.load(std::memory_order_relaxed); }

    // ---- for the pipelines

    // Removes and returns the next statement; null if there is none.
    RequestPointer take();
    bool is_empty() const;
    void join(SharedPipeline& pipeline);
    void leave(SharedPipeline& pipeline);
    // Whether the pipeline has to return its connection as soon as it can.
    bool has_to_yield() const;
    Result<Lease> acquire();
    // Called by a pipeline without a connection. True: it has to continue; false: it is no longer
    // counted and ends.
    bool try_continue();
    void give_up(const Error& error);

private:
    bool start_pipeline();
    bool push(const RequestPointer& request);
    bool withdraw(const RequestPointer& request);
    Result<void> wait_for(const RequestPointer& request);
    void wake_pipelines();
    Error too_late() const;

    const std::shared_ptr<Pool> pool_;
    mutable SpinLock lock_;  // protects everything up to closed_
    std::deque<RequestPointer> waiting_;
    std::unordered_map<std::string, KnownStatement> known_;
    std::vector<SharedPipeline*> serving_;  // those that have a connection
    std::size_t pipelines_ = 0;
    bool closed_ = false;
    Atomic<std::size_t> acquiring_{0};
    Atomic<std::uint64_t> carried_{0};
};

}  // namespace weft::data::postgres
