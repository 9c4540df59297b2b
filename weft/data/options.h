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

// What a handle may be used for. Checked before a connection is requested; a database that can
// enforce it is told as well, so that a write cannot hide in a query.
enum class Access : std::uint8_t { Read, Write, ReadWrite };

// The ambient token and deadline apply as well; whichever ends first ends the operation. An
// operation whose time is over before it begins never reaches the database.
struct CallOptions {
    Deadline deadline = Deadline::never();
    std::optional<Nanoseconds> timeout = std::nullopt;  // from now; zero has expired already
    CancelToken token = {};
};

struct QueryOptions {
    Deadline deadline = Deadline::never();
    std::optional<Nanoseconds> timeout = std::nullopt;
    CancelToken token = {};
    // One row more fails the query as soon as it is received (Cause::RowLimit); a result is never
    // truncated.
    std::uint32_t rows_max = kRowsMaxDefault;

    CallOptions call() const { return {deadline, timeout, token}; }
};

struct CursorOptions {
    Deadline deadline = Deadline::never();  // for the cursor's whole life
    std::optional<Nanoseconds> timeout = std::nullopt;
    CancelToken token = {};
    std::uint32_t rows_max = kRowsUnlimited;
    std::uint32_t batch_rows = kCursorBatchRowsDefault;  // rows fetched at a time

    CallOptions call() const { return {deadline, timeout, token}; }
};

enum class Isolation : std::uint8_t {
    Default,
    ReadCommitted,
    RepeatableRead,
    Serializable,
};

struct TransactionOptions {
    Deadline deadline = Deadline::never();  // then the whole transaction is rolled back
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
    // True: all or nothing, in a transaction of its own. False: each statement is committed by
    // itself, and the first that fails ends the batch.
    bool atomic = true;

    CallOptions call() const { return {deadline, timeout, token}; }
};

enum class WhenExhausted : std::uint8_t { Wait, Fail };

struct PoolOptions {
    std::size_t connections_max = 4;  // opened on demand; a provider may allow fewer
    std::size_t connections_min = 0;  // idle_timeout spares this many idle connections
    WhenExhausted when_exhausted = WhenExhausted::Wait;
    Nanoseconds acquire_timeout = std::chrono::seconds(5);  // for waiting and connecting
    std::size_t waiters_max = 256;                          // served in order of arrival
    Nanoseconds idle_timeout = std::chrono::minutes(1);     // zero: idle connections stay
    // Shortened at random by up to a tenth; zero: unlimited.
    Nanoseconds lifetime_max = std::chrono::minutes(30);
    // A connection that was idle longer is validated before it is handed out.
    Nanoseconds validate_after = std::chrono::seconds(30);
    // After a failed connect no further attempt is made for this long. The pause doubles with each
    // failure up to backoff_max; half of it is random.
    Nanoseconds backoff_initial = std::chrono::milliseconds(50);
    Nanoseconds backoff_max = std::chrono::seconds(5);
    // A holder that keeps a connection longer is logged once, as a suspected leak. Zero: never.
    Nanoseconds leak_after = std::chrono::minutes(1);
};

struct DatabaseOptions {
    std::string name = "main";  // for logs and metrics
    Access access = Access::ReadWrite;
    PoolOptions pool = {};
    // A statement that takes longer is logged: its text, never its values. Zero: none is logged.
    Nanoseconds slow_after = {};
};

// Momentary values, and totals since the pool was opened.
struct PoolStats {
    std::size_t connections_max = 0;
    std::size_t connections = 0;  // idle, in use and being opened
    std::size_t idle = 0;
    std::size_t in_use = 0;
    std::size_t waiting = 0;
    std::uint64_t acquired = 0;
    std::uint64_t waited = 0;  // those of `acquired` and the failed that had to wait
    Nanoseconds wait_time = {};
    std::uint64_t timed_out = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t refused = 0;  // the queue was full, or WhenExhausted::Fail
    std::uint64_t opened = 0;
    std::uint64_t open_failures = 0;
    std::uint64_t closed_idle = 0;
    std::uint64_t closed_old = 0;
    std::uint64_t closed_broken = 0;  // lost, dirty beyond repair, or failed its validation
    std::uint64_t leaks_suspected = 0;
    std::uint64_t statements_shared = 0;  // sent over a connection shared with other callers
};

}  // namespace weft::data
