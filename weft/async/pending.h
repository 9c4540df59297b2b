// Pending<T>: one operation that a driver, a callback or another thread will complete.
//
//     Pending<Rows> rows(scope);
//     driver.query(sql, [completer = rows.completer()](Rows found) mutable {
//         completer.complete(std::move(found));
//     });
//     return rows.wait();                  // until completed, cancelled or timed out
//
// Either the operation is completed or its owner gives it up, exactly once; the scope asserts that.
// A completion that comes too late finds its ticket stale: the value is destroyed and the lateness
// counted, and no memory of the owner is accessed, even if the scope has ended.
//
// Pending: the fiber or thread that made it; it must be destroyed before its scope ends. Completer:
// any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "weft/async/errors.h"
#include "weft/async/internal/scope_core.h"
#include "weft/async/scope.h"
#include "weft/base/assert.h"
#include "weft/base/atomic.h"
#include "weft/base/env.h"
#include "weft/base/planted.h"
#include "weft/base/result.h"
#include "weft/base/ticket.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/waiter.h"

namespace weft::async {

template <class T>
class Pending;

// The right to complete an operation. A value; copies complete the same operation.
template <class T>
class Completer {
public:
    // True for the call whose outcome is taken; false if the operation has ended before.
    bool complete(Result<T> outcome) {
        auto& core = static_cast<async_internal::ScopeCore&>(*scope_.state());
        void* place = core.operations().settle(ticket_);
        if (!place) {
            fiber_internal::late("an operation", scope_.state());
            return false;
        }
        static_cast<Pending<T>*>(place)->receive(std::move(outcome));
        return true;
    }

private:
    friend class Pending<T>;
    Completer(CancelToken scope, Ticket ticket) : scope_(std::move(scope)), ticket_(ticket) {}

    CancelToken scope_;
    Ticket ticket_;
};

template <class T>
class Pending {
public:
    explicit Pending(Scope& scope) : scope_(scope.context().token()) {
        Result<Ticket> ticket = operations().open(this);
        if (ticket) {
            ticket_ = *ticket;
        } else {
            receive(ticket.error());
        }
    }
    Pending(const Pending&) = delete;
    Pending& operator=(const Pending&) = delete;
    // Gives the operation up, if it is still open.
    ~Pending() {
        if (!ticket_.is_none() && !operations().settle(ticket_)) await_receive();
    }

    Completer<T> completer() const { return Completer<T>(scope_, ticket_); }

    // Waits until the operation is completed. When the ambient context, the scope or the deadline
    // ends the wait, the operation is given up. Once; a second call is Misuse.
    Result<T> wait(Deadline deadline = Deadline::never()) {
        if (std::exchange(waited_, true)) return kPendingWaited();
        Result<void> received = wait_for_receive(deadline);
        if (received) {
            WEFT_ASSERT(outcome_.has_value(), "a completer stores the outcome and then wakes");
            return std::move(*outcome_);
        }
        if (operations().settle(ticket_) || WEFT_PLANTED("pending.gives_up_blindly")) {
            ticket_ = Ticket();
            return received.error();
        }
        await_receive();  // a completion has won the ticket
        return std::move(*outcome_);
    }

private:
    friend class Completer<T>;
    enum class State : std::uint8_t { Open, Awaited, Received };

    async_internal::OperationTable& operations() const {
        return static_cast<async_internal::ScopeCore&>(*scope_.state()).operations();
    }

    Result<void> wait_for_receive(Deadline deadline) {
        Waiter waiter(WaitReason::Operation, this);
        waiter_ = waiter.ref();
        State open = State::Open;
        // Release: publishes the waiter. Acquire: the outcome.
        if (!state_.compare_exchange_strong(open, State::Awaited, std::memory_order_release,
                                            std::memory_order_acquire)) {
            WEFT_ASSERT(open == State::Received, "an operation has one waiter, and waits once");
            waiter.abandon();
            return {};
        }
        return waiter.to_result(waiter.wait(deadline, scope_.state()));
    }

    // A completer has settled the ticket and is about to store the outcome: spins until it has.
    void await_receive() const {
        // Acquire: the outcome.
        for (unsigned attempt = 0; state_.load(std::memory_order_acquire) != State::Received;
             ++attempt)
            env::spin_pause(attempt);
    }

    void receive(Result<T> outcome) {
        WEFT_DASSERT(!outcome_, "a ticket is settled once, so there is one outcome");
        outcome_.emplace(std::move(outcome));
        WaitRef waiter;
        // Acquire: the waiter. Release: the outcome. The last access to this object: the owner may
        // destroy it as soon as it sees Received.
        State state = state_.load(std::memory_order_acquire);
        do {
            if (state == State::Awaited) waiter = waiter_;
        } while (!state_.compare_exchange_weak(state, State::Received, std::memory_order_acq_rel,
                                               std::memory_order_acquire));
        if (state == State::Awaited && waiter.try_claim(Wake::Ready)) waiter.resume();
    }

    const CancelToken scope_;
    Ticket ticket_;
    bool waited_ = false;
    Atomic<State> state_{State::Open};
    WaitRef waiter_;                    // published by Awaited
    std::optional<Result<T>> outcome_;  // published by Received
};

}  // namespace weft::async
