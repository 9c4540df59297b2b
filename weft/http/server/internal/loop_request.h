// LoopRequest: a request that is served in the loop of a worker. It lies in its exchange.
//
// Owning worker only, but for `is_sending`.
#pragma once

#include <cstdint>
#include <optional>

#include "weft/async/context.h"
#include "weft/async/recurring_scope.h"
#include "weft/base/atomic.h"
#include "weft/base/time.h"
#include "weft/fiber/cancel.h"
#include "weft/http/request.h"
#include "weft/http/response.h"
#include "weft/http/server/loop_handler.h"

namespace weft::http {

class Connection;
struct Exchange;

struct LoopRequest {
    enum class State : std::uint8_t {
        None,    // there is no request
        Called,  // the handler has it
        Kept,
    };

    // The context with the time that a request has; made when somebody wants it.
    async::Context& context();
    CancelState* token() { return context().token().state(); }
    // By its reply. In the handler's call the outcome is just there; later the connection goes on.
    void answer(Response&& response);
    void answer(const Error& error);
    // From here on a reply answers in vain.
    void detach_reply();
    void clear();

    // Tells the connection that the context has ended.
    struct Listener : CancelListener {
        Listener() : CancelListener(on_cancel) {}
        static void on_cancel(CancelListener& listener, CancelReason reason);
        Connection* connection = nullptr;
    };

    State state = State::None;
    bool was_kept = false;  // keep() was called
    bool has_permit = false;
    bool has_failed_to_send = false;  // what came before the answer; read when that is over
    Connection* connection = nullptr;
    Exchange* exchange = nullptr;
    Instant begun{};
    std::optional<Request> request;
    std::optional<async::OwnedContext> limited;
    std::optional<Result<Response>> outcome;
    Reply* reply = nullptr;
    LoopCall::OnEnd on_end;
    Listener listener;
    // A fiber sends the answers to earlier requests; it queues the connection when that is done.
    Atomic<bool> is_sending{false};
};

}  // namespace weft::http
