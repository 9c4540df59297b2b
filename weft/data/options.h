// How the operations of a database are bounded: per call, per transaction, per pool.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/time.h"
#include "weft/fiber/cancel.h"

namespace weft::data {

inline constexpr std::uint32_t kRowsMaxDefault = 128;
inline constexpr std::uint32_t kRowsUnlimited = 0xffff'ffff;
inline constexpr std::uint32_t kCursorBatchRowsDefault = 256;
inline constexpr std::uint32_t kCursorBatchRowsMax = 4096;
inline constexpr unsigned kSavepointsDeepMax = 32;
inline constexpr std::size_t kBatchStatementsMax = 4096;

// What a handle may be used for. Checked before anything is asked of the pool; where the database
// can, it is told as well, so that a write cannot slip through a query.
enum class Access : std::uint8_t { Read, Write, ReadWrite };

// The ambient token and deadline count as well; the earliest ends the operation. One that is over
// before it began never reaches the database.
struct CallOptions {
    Deadline deadline = Deadline::never();
    std::optional<Nanoseconds> timeout = std::nullopt;  // from now; zero is over at once
    CancelToken token = {};
};

struct QueryOptions {
    Deadline deadline = Deadline::never();
    std::optional<Nanoseconds> timeout = std::nullopt;
    CancelToken token = {};
    // One more fails the query while it is received (Cause::RowLimit); nothing is cut off.
    std::uint32_t rows_max = kRowsMaxDefault;

    CallOptions call() const { return {deadline, timeout, token}; }
};

struct CursorOptions {
    Deadline deadline = Deadline::never();  // of the whole life of the cursor
    std::optional<Nanoseconds> timeout = std::nullopt;
    CancelToken token = {};
    std::uint32_t rows_max = kRowsUnlimited;
    std::uint32_t batch_rows = kCursorBatchRowsDefault;  // how many are fetched at a time

    CallOptions call() const { return {deadline, timeout, token}; }
};

enum class Isolation : std::uint8_t {
    Default,
    ReadCommitted,
    RepeatableRead,
    Serializable,
};

struct TransactionOptions {
    Deadline deadline = Deadline::never();  // of the whole transaction; it is rolled back then
    std::optional<Nanoseconds> timeout = std::nullopt;
    CancelToken token = {};
    Isolation isolation = Isolation::Default;
    bool read_only = false;

    CallOptions call() const { return {deadline, timeout, token}; }
};

struct BatchOptions {
    Deadline deadline = Deadline::never();
    std::optional<Nanoseconds> timeout = std::nullopt;
    CancelToken token = {};
    std::uint32_t rows_max = kRowsMaxDefault;  // of each statement
    // All of it or nothing: in a transaction of its own. Otherwise each statement is its own, and
    // the first that fails ends the batch.
    bool atomic = true;

    CallOptions call() const { return {deadline, timeout, token}; }
};

enum class WhenExhausted : std::uint8_t { Wait, Fail };

struct PoolOptions {
    std::size_t connections_max = 4;  // opened as they are needed; a provider may allow fewer
    std::size_t connections_min = 0;  // that many idle ones are not pruned
    WhenExhausted when_exhausted = WhenExhausted::Wait;
    Nanoseconds acquire_timeout = std::chrono::seconds(5);  // waiting and connecting together
    std::size_t waiters_max = 256;                          // served in the order they came
    Nanoseconds idle_timeout = std::chrono::minutes(1);     // zero: never pruned
    Nanoseconds lifetime_max = std::chrono::minutes(30);  // at most; up to a tenth less. 0: no end
    // One that has idled longer is asked whether it still works before it is handed out.
    Nanoseconds validate_after = std::chrono::seconds(30);
    // After a failed connect nobody tries again before; doubles with each, by half at random.
    Nanoseconds backoff_initial = std::chrono::milliseconds(50);
    Nanoseconds backoff_max = std::chrono::seconds(5);
    // Who holds a connection longer is warned about in the log, once. Zero: nobody.
    Nanoseconds leak_after = std::chrono::minutes(1);
};

struct DatabaseOptions {
    std::string name = "main";  // for logs and metrics
    Access access = Access::ReadWrite;
    PoolOptions pool = {};
    // A statement that took longer is logged: its text, never its values. Zero: none.
    Nanoseconds slow_after = {};
};

// Moments' values, and sums since the pool was opened.
struct PoolStats {
    std::size_t connections_max = 0;
    std::size_t connections = 0;  // idle, in use and being opened
    std::size_t idle = 0;
    std::size_t in_use = 0;
    std::size_t waiting = 0;
    std::uint64_t acquired = 0;
    std::uint64_t waited = 0;  // of these, had to wait
    Nanoseconds wait_time = {};
    std::uint64_t timed_out = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t refused = 0;  // full, or fail-fast
    std::uint64_t opened = 0;
    std::uint64_t open_failures = 0;
    std::uint64_t closed_idle = 0;
    std::uint64_t closed_old = 0;
    std::uint64_t closed_broken = 0;  // lost, dirty beyond repair, or failed its validation
    std::uint64_t leaks_suspected = 0;
    std::uint64_t statements_shared = 0;  // over a connection beside those of others
};

}  // namespace weft::data
