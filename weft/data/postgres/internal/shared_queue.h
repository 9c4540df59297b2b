// Statements of several callers over few connections: what waits, and the lines that carry it.
//
// A line is a fiber that holds a connection of the pool in libpq's pipeline mode, and carries the
// statements of many, each with a sync of its own, so that an error stays with its statement. Only
// statements get here that are known: that have run before, quickly, and leave nothing behind in a
// session. So none has to be described first, and the one in front does not keep the others long.
//
// A caller who leaves early is settled at once, and what the server answers for it is dropped. The
// server is asked to stop only when nobody waits for anything on that line: a cancel reaches
// whatever runs at that moment.
//
// A line gives its connection back when nothing is left to do, when others wait for one, and now
// and then; see has_to_yield().
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

// So many statements are sent over a line before the first of them is answered.
inline constexpr std::size_t kLineDepthMax = 32;
// Another line is begun when so many statements are to be carried by each of those there are.
inline constexpr std::size_t kLineLoad = 8;
// What took longer has a connection of its own from then on, until it is quick again.
inline constexpr Nanoseconds kQuick = std::chrono::milliseconds(20);
inline constexpr Nanoseconds kSlow = std::chrono::milliseconds(100);

// What sessions have learned of a statement.
using Known = std::shared_ptr<const Prepared>;

// A statement on its way. Shared by its caller, who may leave, and by its line.
struct Request {
    enum class Phase : std::uint8_t { Waiting, Settled, Abandoned };

    std::string text;
    std::string key;
    std::vector<Value> values;
    RowLimit limit;
    Known known;

    Event done;
    std::optional<Result<Outcome>> outcome;  // written before it is settled
    bool stale = false;                      // the server has refused it: to be prepared anew
    Atomic<Phase> phase{Phase::Waiting};

    bool is_wanted() const { return phase.load(std::memory_order_acquire) == Phase::Waiting; }
    // By whoever carries it; does nothing if nobody waits any more.
    void settle(Result<Outcome> result);
    // By its caller. False: it is settled.
    bool abandon();
};
using RequestPointer = std::shared_ptr<Request>;

class SharedLine;

// Any fiber. Shared by its owner and by the lines.
class SharedQueue : public std::enable_shared_from_this<SharedQueue> {
public:
    explicit SharedQueue(std::shared_ptr<Pool> pool) : pool_(std::move(pool)) {}

    // What is known of the statement; null: it takes a connection of its own.
    Known find(const std::string& key) const;
    void learn(const std::string& key, Known known);
    void forget(const std::string& key);

    // Waits for its outcome, as a fiber, until the ambient deadline. Nothing: it was not taken, and
    // the caller has to do without.
    std::optional<Result<Outcome>> carry(const RequestPointer& request);
    // Nothing waits any more, and the lines end.
    void close();
    std::uint64_t count() const { return carried_.load(std::memory_order_relaxed); }

    // ---- for the lines

    // The next to be carried; null if there is none.
    RequestPointer take();
    bool is_empty() const;
    void join(SharedLine& line);
    void leave(SharedLine& line);
    // The line is to give its connection back as soon as it can.
    bool has_to_yield() const;
    Result<Lease> acquire();
    // Of a line without a connection. True: there is more to do.
    bool goes_on();
    void give_up(const Error& error);

private:
    bool start_line();
    bool push(const RequestPointer& request);
    bool withdraw(const RequestPointer& request);
    Result<void> wait_for(const RequestPointer& request);
    void wake_lines();
    Error too_late() const;

    const std::shared_ptr<Pool> pool_;
    mutable SpinLock lock_;  // from here to closed_
    std::deque<RequestPointer> waiting_;
    std::unordered_map<std::string, Known> known_;
    std::vector<SharedLine*> serving_;  // those that have a connection
    std::size_t lines_ = 0;
    bool closed_ = false;
    Atomic<std::size_t> acquiring_{0};
    Atomic<std::uint64_t> carried_{0};
};

}  // namespace weft::data::postgres
