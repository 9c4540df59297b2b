#include "weft/api/data/data_store.h"

#include <algorithm>

#include "weft/base/assert.h"
#include "weft/base/on_end.h"
#include "weft/data/open.h"
#include "weft/fiber/fiber.h"
#include "weft/js/tasks.h"

namespace weft::api {
namespace {

constexpr std::chrono::seconds kCloseTimeout{5};

data::Access access_of(DataAccess access) {
    switch (access) {
    case DataAccess::Read: return data::Access::Read;
    case DataAccess::Write: return data::Access::Write;
    case DataAccess::ReadWrite: break;
    }
    return data::Access::ReadWrite;
}

}  // namespace

void DataHandle::abandon() {
    if (stop) stop->cancel();
    if (cursor) cursor->close();
    if (transaction && transaction->is_open()) static_cast<void>(transaction->rollback());
}

TransactionUse::TransactionUse(std::shared_ptr<DataHandle> handle) : handle_(std::move(handle)) {
    WEFT_ASSERT(handle_->transaction.has_value(), "only a transaction has an order of uses");
    handle_->uses.push_back(this);
    if (handle_->uses.front() == this) granted_.set();
}

void TransactionUse::end() {
    if (!handle_) return;
    std::deque<TransactionUse*>& uses = handle_->uses;
    std::size_t erased = std::erase(uses, this);
    WEFT_ASSERT(erased == 1, "a use is in the queue until it ends");
    if (!uses.empty()) uses.front()->granted_.set();
    handle_ = nullptr;
}

Result<data::Database> DataStore::open(const DataSource& source) {
    data::DatabaseOptions options;
    options.name = source.name;
    options.access = access_of(source.access);
    if (source.connections_max > 0) options.pool.connections_max = source.connections_max;
    return data::open_database({source.provider, source.place}, std::move(options));
}

Result<double> DataStore::find_configured(const std::string& token) {
    auto known = configured_.find(token);
    if (known != configured_.end()) return known->second;
    for (const DataSource& source : options_.data) {
        if (source.token != token) continue;
        auto handle = std::make_shared<DataHandle>();
        handle->database.emplace(WEFT_TRY(open(source)));
        double number = WEFT_TRY(keep(std::move(handle)));
        // Another fiber may have opened the database during the wait.
        auto [place, is_new] = configured_.emplace(token, number);
        if (!is_new) drop(number);
        return place->second;
    }
    return Error(ErrorKind::PermissionDenied,
                 "the application has no capability \"" + token + "\"");
}

Result<double> DataStore::keep(std::shared_ptr<DataHandle> handle) {
    return js::TaskTable::to_number(WEFT_TRY(handles_.insert(std::move(handle))));
}

std::shared_ptr<DataHandle> DataStore::find(double number) {
    std::shared_ptr<DataHandle>* found = handles_.find(js::TaskTable::to_ticket(number));
    return found ? *found : nullptr;
}

void DataStore::drop(double number) {
    std::optional<std::shared_ptr<DataHandle>> taken =
        handles_.take(js::TaskTable::to_ticket(number));
    if (taken) (*taken)->ended.set();
}

// The scope of the application waits for the fiber, so the fiber may refer to the store. A fiber
// gets its stack when it first runs, so this function waits for that to learn whether it has
// started.
Result<void> DataStore::watch(double number, const CancelToken& request) {
    std::shared_ptr<DataHandle> handle = find(number);
    WEFT_ASSERT(handle && !handle->is_watched, "a handle is watched once, right after keep()");
    static_cast<void>(spawn(
        [this, number, handle, on_end = OnEnd([handle] { handle->begun.set(); })] {
            handle->is_watched = true;
            handle->begun.set();
            if (handle->ended.wait()) return;
            handle->abandon();
            drop(number);
        },
        {.name = "database handle", .token = request.state()}));
    shield(Deadline::never(), [&] { static_cast<void>(handle->begun.wait()); });
    if (!handle->is_watched) return ErrorKind::OutOfMemory;
    return {};
}

void DataStore::end_all_of(double opening) {
    std::vector<std::pair<double, std::shared_ptr<DataHandle>>> found;
    handles_.for_each([&](Ticket ticket, std::shared_ptr<DataHandle>& handle) {
        if (handle->opening == opening)
            found.emplace_back(js::TaskTable::to_number(ticket), handle);
    });
    for (auto& [number, handle] : found) {
        handle->abandon();
        drop(number);
    }
}

bool DataStore::is_configured(double number) const {
    return std::ranges::any_of(configured_,
                               [&](const auto& known) { return known.second == number; });
}

void DataStore::close() {
    std::vector<std::shared_ptr<DataHandle>> all;
    handles_.for_each([&](Ticket, std::shared_ptr<DataHandle>& handle) { all.push_back(handle); });
    for (const std::shared_ptr<DataHandle>& handle : all) {
        handle->abandon();
        handle->ended.set();
    }
    for (const std::shared_ptr<DataHandle>& handle : all) {
        if (handle->database)
            static_cast<void>(handle->database->close(Deadline::after(kCloseTimeout)));
    }
}

}  // namespace weft::api
