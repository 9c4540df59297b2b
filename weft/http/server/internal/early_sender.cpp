#include "weft/http/server/internal/early_sender.h"

#include <utility>

#include "weft/base/planted.h"
#include "weft/fiber/cancel.h"
#include "weft/http/server/internal/response_writer.h"

namespace weft::http {

Result<void> EarlySender::lend_output() {
    if (change(State::Idle, State::Lent)) return {};
    join();
    // Relaxed: the fiber sees it by its start.
    state_.store(State::Lent, std::memory_order_relaxed);
    fiber_ = spawn([this] { run(); }, {.token = token_});
    if (fiber_) return {};
    state_.store(State::Absent, std::memory_order_relaxed);
    return send_output(stream_, output_, time_);
}

Result<void> EarlySender::take_output_back() {
    if (change(State::Lent, State::Idle)) return {};
    // Relaxed: only a sender that has begun leaves it like that.
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

// Not cancellable: the fiber works on what is the connection's, and its context reaches it by
// itself.
void EarlySender::join() {
    if (fiber_) static_cast<void>(shield(Deadline::never(), [this] { return fiber_.join(); }));
    // Relaxed: nobody else is left.
    state_.store(State::Absent, std::memory_order_relaxed);
}

}  // namespace weft::http
