// TaskTable: the unfinished tasks of an isolate, by numbers that scripts can hold.
//
// Owning isolate only.
#pragma once

#include <cstddef>
#include <cstdint>

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

    Result<Ticket> insert(TaskCancel& task) {
        Ticket ticket = WEFT_TRY(tasks_.insert(&task));
        last_ = to_number(ticket);
        return ticket;
    }
    void take(Ticket ticket) { static_cast<void>(tasks_.take(ticket)); }
    // The number of the task that was inserted last; 0 after forget_last().
    double last() const { return last_; }
    void forget_last() { last_ = 0; }
    void cancel(double number) {
        if (TaskCancel** task = tasks_.find(to_ticket(number))) (*task)->request();
    }

    // Exact in a double: 20 bits of index and 32 bits of generation.
    static double to_number(Ticket ticket) {
        return static_cast<double>(std::uint64_t{ticket.generation} << 20 | ticket.index);
    }
    static Ticket to_ticket(double number) {
        auto word = static_cast<std::uint64_t>(number);
        return Ticket{static_cast<std::uint32_t>(word & (kTasksMax - 1)),
                      static_cast<std::uint32_t>(word >> 20)};
    }

private:
    TicketTable<TaskCancel*> tasks_{kTasksMax};
    double last_ = 0;
};

}  // namespace weft::js
