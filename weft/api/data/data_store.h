// DataStore: the databases, transactions and cursors that the scripts of an application hold, known
// to them by numbers, which are tickets.
//
// A transaction or cursor belongs to the request that began it: when the request is over, the
// transaction is rolled back and the cursor closed, whatever the script does. It also belongs to
// the open() of the script through which it came, and ends when that is closed. A database of the
// configuration is opened once per application, however often scripts open and close it, and is
// closed with the application.
//
// Owning worker only: its loop and its fibers.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/api/host.h"
#include "weft/base/result.h"
#include "weft/base/ticket.h"
#include "weft/data/database.h"
#include "weft/fiber/cancel.h"
#include "weft/sync/event.h"

namespace weft::api {

class TransactionUse;

// What a number refers to. Its owners are the table, the tasks that use it, and the fiber that
// watches its request.
struct DataHandle {
    std::optional<data::Database> database;
    std::optional<data::Transaction> transaction;
    std::optional<data::Cursor> cursor;
    // Of a transaction or cursor: cancels its operations and those of everything begun inside it.
    std::optional<CancelSource> stop;
    double opening = 0;  // of a transaction or cursor: the number of its open()
    Event ended;         // the watching fiber may end
    Event begun;         // the watching fiber has started, or could not be started
    bool is_watched = false;
    std::deque<TransactionUse*> uses;  // of a transaction: the current one, then those that wait

    // Cancels, closes or rolls back a transaction or cursor that nobody may use any more.
    void abandon();
};

// One use of a transaction. Uses are served in the order in which scripts asked for them, so
// statements that a script starts without awaiting them run in the order in which they are written.
class TransactionUse {
public:
    explicit TransactionUse(std::shared_ptr<DataHandle> handle);
    TransactionUse(const TransactionUse&) = delete;
    TransactionUse& operator=(const TransactionUse&) = delete;
    ~TransactionUse() { end(); }

    // Waits for the uses before this one. TimedOut, Cancelled.
    Result<void> wait(Deadline deadline) { return granted_.wait_until(deadline); }
    void end();

private:
    std::shared_ptr<DataHandle> handle_;  // null once it has ended
    Event granted_;
};

class DataStore {
public:
    explicit DataStore(const ApplicationOptions& options) : options_(options) {}

    // A database of the configuration, opened on first use.
    Result<double> find_configured(const std::string& token);
    // A database that the script names itself.
    Result<data::Database> open(const DataSource& source);

    Result<double> keep(std::shared_ptr<DataHandle> handle);
    std::shared_ptr<DataHandle> find(double number);
    void drop(double number);
    // Ends the transaction or cursor when the request ends. OutOfMemory: no fiber could be started,
    // so nothing will end it.
    Result<void> watch(double number, const CancelToken& request);
    // Ends the transactions and cursors that came through this open().
    void end_all_of(double opening);
    // Whether the number refers to a database of the configuration.
    bool is_configured(double number) const;
    void close();

private:
    static constexpr std::size_t kHandlesMax = 64 * 1024;

    const ApplicationOptions& options_;
    TicketTable<std::shared_ptr<DataHandle>> handles_{kHandlesMax};
    std::map<std::string, double, std::less<>> configured_;
};

}  // namespace weft::api
