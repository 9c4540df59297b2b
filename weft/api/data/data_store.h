// DataStore: the databases, transactions and cursors that the scripts of an application hold, by
// numbers.
//
// A transaction or a cursor belongs to the request that began it: when that is over, the one is
// rolled back and the other closed, whatever became of the script. It belongs to an open() of the
// script as well, and ends when that is closed. What the configuration names is opened once for an
// application, whatever the script opens and closes of it, and closed with the application.
//
// Owner's thread only: its loop and its fibers.
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

class DataTurn;

// What a number stands for. Shared by its place in the table, the tasks that use it and the fiber
// that watches its request.
struct DataHandle {
    std::optional<data::Database> database;
    std::optional<data::Transaction> transaction;
    std::optional<data::Cursor> cursor;
    // Of a transaction or cursor: ends what is under way in it, and in what was begun inside of it.
    std::optional<CancelSource> stop;
    double opening = 0;  // of a transaction or cursor: the open() that it came by
    Event ended;         // it needs no watching any more
    Event begun;         // its watcher runs, or never will
    bool is_watched = false;
    std::deque<DataTurn*> turns;  // of a transaction: who uses it, and who is to use it after them

    // Of a transaction or a cursor that nobody is to use any more.
    void abandon();
};

// A place in the line of those who use a transaction, in the order in which they have asked: what a
// script asks for without waiting is done as it is written.
class DataTurn {
public:
    explicit DataTurn(std::shared_ptr<DataHandle> handle);
    DataTurn(const DataTurn&) = delete;
    DataTurn& operator=(const DataTurn&) = delete;
    ~DataTurn() { end(); }

    // For those before it. TimedOut, Cancelled.
    Result<void> wait(Deadline deadline) { return begun_.wait_until(deadline); }
    void end();

private:
    std::shared_ptr<DataHandle> handle_;  // null: it has ended
    Event begun_;
};

class DataStore {
public:
    explicit DataStore(const ApplicationOptions& options) : options_(options) {}

    // One that the configuration names; opened when it is first used.
    Result<double> find_configured(const std::string& token);
    // One that the script names itself.
    Result<data::Database> open(const DataSource& source);

    Result<double> keep(std::shared_ptr<DataHandle> handle);
    std::shared_ptr<DataHandle> find(double number);
    void drop(double number);
    // Ends a transaction or cursor together with its request. OutOfMemory: nothing will end it.
    Result<void> watch(double number, const CancelToken& request);
    // Ends the transactions and cursors that came by this open().
    void end_all_of(double opening);
    // Whether the configuration names it.
    bool is_configured(double number) const;
    void close();

private:
    static constexpr std::size_t kHandlesMax = 64 * 1024;

    const ApplicationOptions& options_;
    TicketTable<std::shared_ptr<DataHandle>> handles_{kHandlesMax};
    std::map<std::string, double, std::less<>> configured_;
};

}  // namespace weft::api
