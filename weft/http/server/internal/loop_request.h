// LoopRequest: a request that is served in the loop of a worker. It is a part of its exchange.
//
// Owning worker only, except `sending`.
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
        Called,  // the handler is being called, or its outcome is written
        Kept,    // a Reply will answer it
    };

    // The context, with the time limit of a request; made at the first call.
    async::Context& context();
    CancelState* token() { return context().token().state(); }
    // Called by its reply. For a request that is kept the connection gets a turn in the loop, which
    // writes the outcome.
    void answer(Response&& response);
    void answer(const Error& error);
    void check_answer() const;
    // A reply to it has no effect from here on.
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
    bool has_failed_to_send = false;  // the responses before it; read unless `sending` is Yes
    Connection* connection = nullptr;
    Exchange* exchange = nullptr;
    Instant begun{};
    std::optional<Request> request;
    std::optional<async::OwnedContext> limited;
    std::optional<Result<Response>> outcome;
    Reply* reply = nullptr;
    LoopCall::OnEnd on_end;
    Listener listener;
    // Whether a fiber sends the answers to earlier requests. It queues the connection when that is
    // done; while it does so (Ending) the connection and its exchange must exist.
    enum class Sending : std::uint8_t { No, Yes, Ending };
    Atomic<Sending> sending{Sending::No};
};

}  // namespace weft::http
