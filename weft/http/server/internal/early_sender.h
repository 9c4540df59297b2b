// EarlySender: responses to earlier requests of a connection are gathered and sent together, but
// must not wait for a handler that waits.
//
// While handlers run, a fiber of its own is ready behind the connection's. It comes to its turn
// when a handler waits or yields, and sends what was gathered until then; when none does, it finds
// nothing to do. One such fiber is enough for all requests that came together.
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
    // `time` is what a piece may take without progress; `token` is that of its fiber, which goes on
    // from one request to the next. Stream and output outlive end().
    EarlySender(net::Stream& stream, std::string& output, Nanoseconds time, CancelState* token)
        : stream_(stream), output_(output), time_(time), token_(token) {}
    ~EarlySender() { end(); }
    EarlySender(const EarlySender&) = delete;
    EarlySender& operator=(const EarlySender&) = delete;

    // From lend() on the output is the sender's. take_back() waits if it is being sent; it may be
    // called twice.
    Result<void> lend() {
        if (output_.empty()) return {};
        return lend_output();
    }
    Result<void> take_back() {
        // Relaxed: there was nothing to lend, or the fiber has seen nothing of it.
        if (state_.load(std::memory_order_relaxed) == State::Absent) return {};
        return take_output_back();
    }
    // Waits for the fiber; so does the destructor.
    void end();

private:
    enum class State : std::uint8_t {
        Absent,  // there is no fiber, or it ends and touches nothing any more
        Idle,    // the output is the connection's
        Lent,
        Sending,
    };

    // One of the two who change it wins, and has the output from then on.
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
