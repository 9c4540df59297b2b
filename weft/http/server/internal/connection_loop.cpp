// The path of a request in the loop of the connection's worker, where nothing waits; see
// loop_handler.h. The phases are those of connection.cpp:
//
//     read_head_in_loop()  receives and parses the head, and a small body
//     admit_in_loop()      takes a permit, or leaves the request to a fiber
//     call_in_loop()       the loop handler
//     write_in_loop()      the response, or leaves it to a fiber
//     leave_loop()         becomes idle, ends, or goes on by a fiber
#include <new>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/base/log.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/http/server/internal/connection.h"
#include "weft/http/server/internal/core.h"
#include "weft/http/server/internal/response_writer.h"

namespace weft::http {
namespace {

// How many requests of one connection are served before the others have a turn.
constexpr unsigned kRequestsPerTurnMax = 32;

// The whole body has come with the head, and the client does not wait for 100 (Continue).
bool is_whole(Exchange& exchange) {
    const wire::RequestHead& head = exchange.parser.head();
    if (head.framing == wire::Framing::None) return true;
    std::size_t behind = exchange.buffer.view().size() - exchange.parser.consumed();
    return head.framing == wire::Framing::Length && head.length <= behind && !head.expects_continue;
}

// A body that fits into the read buffer behind its head.
bool has_small_body(const wire::RequestHead& head) {
    return head.framing == wire::Framing::Length && head.length <= kReadBufferBytes / 2 &&
           !head.expects_continue;
}

// Whether write() needs no wait, once the body of the request has been read.
bool is_quick(const Result<Response>& outcome) {
    if (!outcome) return true;
    if (outcome->upgrade || outcome->afterwards) return false;
    auto text = outcome->body.text();
    return text && text->size() <= kSmallBodyBytes;
}

}  // namespace

void Connection::queue_for_loop() { shard_.queue_for_loop(*this); }

// The exceptions of user code are caught where it is called, so what is caught here is a failed
// allocation of our own, which nobody else would catch in a worker's loop.
void Connection::run_in_loop() {
    WEFT_DASSERT(shard_.is_home(), "the loop is that of the connection's worker");
    std::unique_ptr<Exchange> exchange;  // null once the connection was handed over
    try {
        if (exchange_ && exchange_->loop.state == LoopRequest::State::Kept)
            return resume_kept(exchange);
        exchange = exchange_ ? std::move(exchange_) : shard_.take_exchange();
        if (!exchange || !make_token(*exchange)) return strand(std::move(exchange));
        return serve_in_loop(exchange);
    } catch (const std::bad_alloc&) {
        log_limited(shard_.core().log_limit(), LogLevel::Error, "out of memory",
                    "http: a connection ends: out of memory");
    }
    WEFT_ASSERT(exchange, "a connection was handed over, and then something failed");
    abandon(std::move(exchange));
}

// Gives a request up in the middle: a fiber ends its scope and its connection.
void Connection::abandon(std::unique_ptr<Exchange> exchange) {
    end_watch(*exchange);
    give_permit_back(*exchange);
    exchange->loop.clear();
    exchange->output.clear();  // half a response, perhaps
    exchange->start = Exchange::Start::End;
    start_fiber(std::move(exchange));
}

void Connection::return_to_loop(std::unique_ptr<Exchange> exchange) {
    WEFT_DASSERT(!exchange_, "a connection has one exchange");
    exchange_ = std::move(exchange);
    queue_for_loop();
}

// Serves requests until there are no bytes to read for now, or something has to wait.
void Connection::serve_in_loop(std::unique_ptr<Exchange>& exchange) {
    Next next = Next::Proceed;
    for (unsigned count = 0; next == Next::Proceed; ++count) {
        bool full = exchange->output.size() >= kWriteGatherBytes;
        if (count == kRequestsPerTurnMax || full) {
            // Other connections come first: a client that sends without a pause must not keep the
            // loop.
            Result<bool> sent = try_send_output(*exchange);
            if (!sent) return leave_loop(std::move(exchange), Next::End);
            if (*sent) return return_to_loop(std::move(exchange));
            exchange->start = Exchange::Start::Loop;
            return start_fiber(std::move(exchange));
        }
        next = read_head_in_loop(*exchange);
        if (next == Next::Proceed) next = serve_request_in_loop(*exchange);
        if (next == Next::Proceed && exchange->buffer.empty()) next = Next::Idle;
    }
    leave_loop(std::move(exchange), next);
}

// Proceed: the parser has a head. Fiber: the head has not come as a whole, or is to be refused.
Connection::Next Connection::read_head_in_loop(Exchange& exchange) {
    ReadBuffer& buffer = exchange.buffer;
    wire::RequestParser& parser = exchange.parser;
    exchange.now = shard_.time_in_loop();
    for (bool has_all = false;;) {
        wire::Progress progress =
            buffer.empty() ? wire::Progress::NeedMore : parser.parse(buffer.view());
        if (progress == wire::Progress::Failed) return Next::Fiber;
        bool done = progress == wire::Progress::Done;
        if (done && (has_all || is_whole(exchange) || !has_small_body(parser.head())))
            return Next::Proceed;
        if (has_all) return Next::Fiber;
        bool is_first = buffer.empty();
        ByteSpace space = buffer.space();
        if (space.empty()) return Next::Fiber;
        // space() may have moved the head, whose parsed views are then invalid.
        if (done) parser.reset();
        Next next = receive_available(exchange, space);
        has_all = next != Next::Proceed;
        if (has_all && (is_first || (next == Next::End && !done))) return next;
    }
}

Connection::Next Connection::serve_request_in_loop(Exchange& exchange) {
    if (!admit_in_loop(exchange)) {
        exchange.start = Exchange::Start::Admit;
        return Next::Fiber;
    }
    LoopRequest& loop = exchange.loop;
    begin_request(exchange);
    begin_body(exchange, nullptr);
    LoopOutcome outcome = call_in_loop(exchange);
    switch (outcome.kind()) {
    case LoopOutcome::Kind::ByFiber:
        end_watch(exchange);
        give_permit_back(exchange);
        loop.clear();
        exchange.buffer.give_back(exchange.parser.consumed() + exchange.body.received());
        exchange.buffer.release();
        exchange.start = Exchange::Start::Admit;
        return Next::Fiber;
    case LoopOutcome::Kind::Kept:
        count_request();
        if (loop.reply) return keep(exchange);
        if (loop.outcome) return write_in_loop(exchange, *loop.outcome);
        outcome.result() = Error(ErrorKind::Misuse, "a request was kept by nobody");
        return write_in_loop(exchange, outcome.result());
    case LoopOutcome::Kind::Answer: break;
    }
    count_request();
    return write_in_loop(exchange, outcome.result());
}

// False: the body has not come, or the request has to wait for a permit.
bool Connection::admit_in_loop(Exchange& exchange) {
    if (!is_whole(exchange)) return false;
    if (is_within_reserve()) [[likely]]
        return true;
    exchange.loop.has_permit = shard_.core().permits().try_take(shard_.index());
    return exchange.loop.has_permit;
}

LoopOutcome Connection::call_in_loop(Exchange& exchange) {
    LoopRequest& loop = exchange.loop;
    WEFT_DASSERT(loop.state == LoopRequest::State::None && !loop.request && !loop.outcome &&
                     !loop.reply && !loop.was_kept,
                 "nothing is left of the request before");
    loop.state = LoopRequest::State::Called;
    loop.connection = this;
    loop.exchange = &exchange;
    loop.begun = exchange.now;
    loop.request.emplace(Request::Parts{exchange.parser.head(), exchange.parser.target(),
                                        exchange.body, peer_, nullptr});
    begin_watch(exchange);
    if (std::optional<Response> refused = refuse_before_call(exchange)) return std::move(*refused);
    LoopCall loop_call(loop);
    try {
        return shard_.core().options().loop_handler(*loop.request, loop_call);
    } catch (...) {  // user code: what it throws is its error
        return Error::from_current_exception();
    }
}

// The client is watched from here on: the listener counts as one who asks.
Connection::Next Connection::keep(Exchange& exchange) {
    LoopRequest& loop = exchange.loop;
    WEFT_ASSERT(loop.state == LoopRequest::State::Called && loop.reply,
                "a request that is kept has a reply");
    loop.state = LoopRequest::State::Kept;
    loop.listener.connection = this;
    CancelState* token = loop.token();
    token->arm_deadline();
    loop.listener.listen(token);
    return Next::Kept;
}

// A kept request was answered or has ended. Where both are true the answer counts.
void Connection::resume_kept(std::unique_ptr<Exchange>& exchange) {
    LoopRequest& loop = exchange_->loop;
    using Sending = LoopRequest::Sending;
    // Acquire: sees what the sending fiber has done. It queues the connection when it is done.
    if (loop.sending.load(std::memory_order_acquire) == Sending::Yes) return;
    // The fiber may be queueing the connection at this moment, which must not end meanwhile. It
    // does not wait in between. Acquire: the fiber touches neither of the two any more.
    for (unsigned attempt = 0; loop.sending.load(std::memory_order_acquire) != Sending::No;)
        env::spin_pause(attempt++);
    if (!loop.outcome && !loop.has_failed_to_send &&
        async::reason_of(loop.token()) == CancelReason::None)
        return;
    loop.listener.stop();
    shard_.take_from_queue(*this);
    exchange = std::move(exchange_);
    if (!loop.outcome) end_kept(*exchange);
    WEFT_ASSERT(loop.outcome, "a kept request that is over has its outcome");
    exchange->now = shard_.time_in_loop();
    Next next = write_in_loop(*exchange, *loop.outcome);
    if (next == Next::Proceed && !exchange->buffer.empty()) {
        exchange->fresh_token(shard_.token());
        return serve_in_loop(exchange);
    }
    leave_loop(std::move(exchange), next == Next::Proceed ? Next::Idle : next);
}

void Connection::end_kept(Exchange& exchange) {
    LoopRequest& loop = exchange.loop;
    bool gone = watch_.has_fired() || loop.has_failed_to_send;
    bool server_goes_on = async::reason_of(exchange.scope->state()) == CancelReason::None;
    KeptEnd why = gone             ? KeptEnd::ClientGone
                  : server_goes_on ? KeptEnd::OutOfTime
                                   : KeptEnd::ServerCloses;
    loop.outcome = gone ? Error(ErrorKind::Cancelled) : loop.token()->error();
    loop.detach_reply();
    if (!loop.on_end) return;
    try {
        loop.on_end(why);
    } catch (...) {  // user code
        std::string what = Error::from_current_exception().message();
        log_limited(shard_.core().log_limit(), LogLevel::Error, what,
                    "http: what was to be done at the end of a request failed: {}", what);
    }
}

void Connection::give_permit_back(Exchange& exchange) {
    if (!std::exchange(exchange.loop.has_permit, false)) return;
    shard_.core().permits().give_back(shard_.index());
}

// The request has its outcome, and is over here unless a fiber has to write it. `outcome` may be
// the one in the exchange.
Connection::Next Connection::write_in_loop(Exchange& exchange, Result<Response>& outcome) {
    LoopRequest& loop = exchange.loop;
    WEFT_DASSERT(loop.state != LoopRequest::State::None && loop.request);
    loop.detach_reply();
    end_watch(exchange);
    give_permit_back(exchange);
    IncomingBody& body = exchange.body;
    bool quick = (body.is_finished() || body.drop_buffered()) && is_quick(outcome) &&
                 !exchange.scope->has_round();
    if (!quick) {
        if (!loop.outcome) loop.outcome.emplace(std::move(outcome));
        exchange.start = Exchange::Start::Write;
        return Next::Fiber;
    }
    Next next = write(*loop.request, exchange, outcome, loop.begun, MayWait::No);
    end_request(exchange);
    loop.clear();
    return next;
}

// The first step of a fiber: what the loop has left of a request or of its output. Proceed: the
// next phase is read_head().
Connection::Next Connection::resume_from_loop(Exchange& exchange) {
    using Start = Exchange::Start;
    Start start = exchange.start;
    if (start == Start::ReadHead || start == Start::Admit) return Next::Proceed;  // see read_head()
    exchange.start = Start::ReadHead;
    if (start == Start::Idle) return Next::Idle;
    if (start == Start::Loop) return Next::Loop;
    if (start == Start::Linger) linger(exchange);
    if (start == Start::End) end_request(exchange);  // it may have been abandoned
    if (start != Start::Write) return Next::End;
    LoopRequest& loop = exchange.loop;
    WEFT_ASSERT(loop.request && loop.outcome, "the loop leaves a request with its outcome");
    Next next = Next::End;
    {
        RequestEnd at_end{*this, exchange};
        next = write(*loop.request, exchange, *loop.outcome, loop.begun, MayWait::Yes);
    }
    loop.clear();
    if (next != Next::Proceed) return next;
    return exchange.buffer.empty() ? Next::Idle : Next::Loop;
}

// ---------------------------------------------------------------- what comes after a turn

void Connection::leave_loop(std::unique_ptr<Exchange> exchange, Next next) {
    WEFT_DASSERT(next != Next::Proceed && next != Next::Loop, "there is nothing left for the loop");
    WEFT_DASSERT(!exchange_, "a connection has one exchange");
    if (next == Next::Linger) exchange->start = Exchange::Start::Linger;
    if (next == Next::Linger || next == Next::Fiber) return start_fiber(std::move(exchange));
    Result<bool> sent = try_send_output(*exchange);
    if (next == Next::Kept) {
        exchange_ = std::move(exchange);
        if (!sent || !*sent) send_by_fiber(*exchange_);
        return;
    }
    if (sent && !*sent) {
        exchange->start = next == Next::End ? Exchange::Start::End : Exchange::Start::Idle;
        return start_fiber(std::move(exchange));
    }
    ServerShard::Idling idling = ServerShard::Idling::End;
    if (sent && next == Next::Idle) idling = shard_.make_idle(*this, exchange, exchange->now);
    switch (idling) {
    case ServerShard::Idling::Idle: return;
    case ServerShard::Idling::Ready: return return_to_loop(std::move(exchange));
    case ServerShard::Idling::End: shard_.give_back(std::move(exchange)); return end(*this);
    }
}

// Sends what can be sent without waiting. True: nothing is left.
Result<bool> Connection::try_send_output(Exchange& exchange) {
    std::string& output = exchange.output;
    if (output.empty()) return true;
    Bytes part = as_bytes(output);
    std::size_t count = WEFT_TRY(stream_->try_write(std::span(&part, 1)));
    WEFT_DASSERT(count <= output.size(), "a stream takes no more than it is given");
    bool all = count == output.size();
    all ? output.clear() : static_cast<void>(output.erase(0, count));
    return all;
}

// A fiber sends the responses to earlier requests, which must not wait for a request that is kept.
void Connection::send_by_fiber(Exchange& exchange) {
    LoopRequest& loop = exchange.loop;
    using Sending = LoopRequest::Sending;
    auto end = [this, &loop](bool failed) {
        loop.has_failed_to_send = failed;
        // Release: publishes that, and the output, to the turn that is queued here.
        loop.sending.store(Sending::Ending, std::memory_order_release);
        queue_for_loop();
        // Release: this is the last access to the connection, its exchange and its shard, which the
        // loop may end from here on. Pairs with the acquire in resume_kept().
        loop.sending.store(Sending::No, std::memory_order_release);
    };
    // Relaxed: spawn_detached() publishes it to the fiber.
    loop.sending.store(Sending::Yes, std::memory_order_relaxed);
    Result<void> started =
        spawn_detached([this, &exchange,
                        end] { end(!send_output(*stream_, exchange.output, limits().write_time)); },
                       [end](const Error&) { end(true); }, {.token = shard_.token()});
    if (!started) end(true);
}

}  // namespace weft::http
