// EarlySender: sends the gathered responses to earlier requests of a connection while the handler
// of the next request waits.
//
// Responses are gathered to be sent together, but must not be held back by a handler that waits. So
// while handlers run, a fiber of the sender is runnable behind that of the connection. It runs when
// a handler waits or yields, and sends what was gathered until then; where none does, it has
// nothing to do. One such fiber is enough for all requests that came together.
//
// Owned by the fiber of the connection; the sender's fiber shares the output by turns, see State.
#pragma once

#include <cstdint>
#include <string>

#include "weft/base/atomic.h"
#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/fiber/fiber.h"
#include "weft/net/stream.h"

namespace weft::http {

class EarlySender {
public:
    // `time` is how long a piece may make no progress; `token` cancels the sender's fiber, which
    // goes on from one request to the next. Stream and output outlive end().
    EarlySender(net::Stream& stream, std::string& output, Nanoseconds time, CancelState* token)
        : stream_(stream), output_(output), time_(time), token_(token) {}
    ~EarlySender() { end(); }
    EarlySender(const EarlySender&) = delete;
    EarlySender& operator=(const EarlySender&) = delete;

    // From lend() to take_back() the output is the sender's. take_back() waits if it is being sent,
    // and gives the error of that; it may be called twice.
    Result<void> lend() {
        if (output_.empty()) return {};
        return lend_output();
    }
    Result<void> take_back() {
        // Relaxed: nothing was lent, or the fiber has ended without touching the output.
        if (state_.load(std::memory_order_relaxed) == State::Absent) return {};
        return take_output_back();
    }
    // Waits for the fiber; so does the destructor.
    void end();

private:
    enum class State : std::uint8_t {
        Absent,   // the output is the connection's; there is no fiber, or it is about to end
        Idle,     // the output is the connection's; the fiber has not run yet
        Lent,     // the output is of whoever changes this state first
        Sending,  // the output is the fiber's, until it is joined
    };

    // The connection and the fiber compete; who wins owns the output from then on.
    bool change(State from, State to) {
        return state_.compare_exchange_strong(from, to, std::memory_order_acq_rel,
                                              std::memory_order_acquire);
    }
    Result<void> lend_output();
    Result<void> take_output_back();
    void run();
    void join();

    net::Stream& stream_;
    std::string& output_;
    const Nanoseconds time_;
    CancelState* const token_;
    Atomic<State> state_{State::Absent};
    Future<void> fiber_;
    Result<void> sent_;
};

}  // namespace weft::http
