// TaskTable: the unfinished tasks of an isolate, by numbers that scripts can hold.
//
// Owning isolate only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "weft/base/assert.h"
#include "weft/base/ticket.h"
#include "weft/fiber/cancel.h"

namespace weft::js {

// The cancellation of a task, before and while its fiber runs.
struct TaskCancel {
    bool requested = false;
    CancelSource* source = nullptr;  // while the work runs

    void request() {
        requested = true;
        if (source) source->cancel();
    }
};

class TaskTable {
public:
    static constexpr std::size_t kTasksMax = 1024 * 1024;
    static constexpr std::uint64_t kNumberMax = std::uint64_t{1} << 52;
    static_assert(kTasksMax == 1 << 20, "an index has 20 bits");

    Result<Ticket> insert(TaskCancel& task) {
        Ticket ticket = WEFT_TRY(tasks_.insert(&task));
        last_ = to_number(ticket);
        WEFT_ASSERT(last_ > 0, "0 says that no task was started");
        return ticket;
    }
    void take(Ticket ticket) {
        std::optional<TaskCancel*> taken = tasks_.take(ticket);
        WEFT_ASSERT(taken, "a task is taken once, when it is settled");
    }
    // The number of the task that was inserted last; 0 after forget_last().
    double last() const { return last_; }
    void forget_last() { last_ = 0; }
    void cancel(double number) {
        if (TaskCancel** task = tasks_.find(to_ticket(number))) (*task)->request();
    }

    // Exact in a double: 20 bits of index and 32 bits of generation.
    static double to_number(Ticket ticket) {
        WEFT_ASSERT(ticket.index < kTasksMax, "the index has 20 bits");
        return static_cast<double>(std::uint64_t{ticket.generation} << 20 | ticket.index);
    }
    // A number that to_number() cannot have made, such as the -1 of a Request that is not a
    // server's, gives a ticket that names nothing.
    static Ticket to_ticket(double number) {
        if (!(number >= 0 && number < static_cast<double>(kNumberMax))) return {};
        auto word = static_cast<std::uint64_t>(number);
        return Ticket{static_cast<std::uint32_t>(word & (kTasksMax - 1)),
                      static_cast<std::uint32_t>(word >> 20)};
    }

private:
    TicketTable<TaskCancel*> tasks_{kTasksMax};
    double last_ = 0;
};

}  // namespace weft::js
