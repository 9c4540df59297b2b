#include "weft/http/server/internal/early_sender.h"

#include <utility>

#include "weft/base/assert.h"
#include "weft/base/planted.h"
#include "weft/fiber/cancel.h"
#include "weft/http/server/internal/response_writer.h"

namespace weft::http {

Result<void> EarlySender::lend_output() {
    // Relaxed: the fiber can only change the first of these states into the second.
    WEFT_ASSERT(state_.load(std::memory_order_relaxed) == State::Idle ||
                    state_.load(std::memory_order_relaxed) == State::Absent,
                "the output was taken back before it is lent again");
    if (change(State::Idle, State::Lent)) return {};
    join();
    // Relaxed: spawn() publishes it to the fiber.
    state_.store(State::Lent, std::memory_order_relaxed);
    fiber_ = spawn([this] { run(); }, {.token = token_});
    if (fiber_) return {};
    state_.store(State::Absent, std::memory_order_relaxed);
    return send_output(stream_, output_, time_);
}

Result<void> EarlySender::take_output_back() {
    if (change(State::Lent, State::Idle)) return {};
    // Relaxed: the fiber does not change it any more, and join() synchronizes with its end.
    if (state_.load(std::memory_order_relaxed) != State::Sending) return {};
    if (WEFT_PLANTED("server.writes_while_it_sends")) return {};
    join();
    return std::exchange(sent_, {});
}

void EarlySender::end() {
    if (fiber_) join();
}

void EarlySender::run() {
    while (!change(State::Idle, State::Absent)) {
        if (!change(State::Lent, State::Sending)) continue;
        sent_ = send_output(stream_, output_, time_);
        return;
    }
}

// Not cancellable, because the fiber uses the stream and the output of the connection. Its own
// token ends its waits.
void EarlySender::join() {
    if (fiber_) static_cast<void>(shield(Deadline::never(), [this] { return fiber_.join(); }));
    // Relaxed: the fiber has ended.
    state_.store(State::Absent, std::memory_order_relaxed);
}

}  // namespace weft::http
