// The path of a request on its connection's fiber. Each phase is a function, in this order:
//
//     read_head()   receives and parses the head
//     admit()       refuses the request, or gives it a permit for the handler
//     call()        the handler
//     write()       the response, sent or gathered in the output
//     drop_unread() what the handler has left of the request's body
//     make_idle()   of the shard: waits for the next request without a fiber
//
// serve_until_idle(), serve() and serve_request() call them. How a connection begins and ends is in
// connection_lifecycle.cpp, its requests in the loop of the worker are in connection_loop.cpp.
#include "weft/http/server/internal/connection.h"

#include <utility>

#include "weft/base/assert.h"
#include "weft/base/log.h"
#include "weft/base/planted.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/naming.h"
#include "weft/fiber/turn.h"
#include "weft/http/request.h"
#include "weft/http/server/internal/core.h"
#include "weft/http/server/internal/early_sender.h"
#include "weft/http/server/internal/failure.h"
#include "weft/http/server/internal/response_writer.h"
#include "weft/http/server/server.h"

namespace weft::http {
namespace {

// The label of a connection's fiber while it handles a request, until a router sets the label of
// the route; see kLabel.
constexpr FiberLabel kGetLabel("GET");
constexpr FiberLabel kPostLabel("POST");
constexpr FiberLabel kHeadLabel("HEAD");
constexpr FiberLabel kPutLabel("PUT");
constexpr FiberLabel kPatchLabel("PATCH");
constexpr FiberLabel kDeleteLabel("DELETE");
constexpr FiberLabel kOptionsLabel("OPTIONS");
constexpr FiberLabel kOtherLabel("http request");  // never what a client has made up

const FiberLabel& label_of(std::string_view method) {
    if (method == "GET") return kGetLabel;
    if (method == "POST") return kPostLabel;
    if (method == "HEAD") return kHeadLabel;
    if (method == "PUT") return kPutLabel;
    if (method == "PATCH") return kPatchLabel;
    if (method == "DELETE") return kDeleteLabel;
    if (method == "OPTIONS") return kOptionsLabel;
    return kOtherLabel;
}

IncomingLimits limits_of_body(const ServerLimits& limits, BodyMemory& memory) {
    return {.bytes_max = limits.body_bytes,
            .idle = limits.body_idle,
            .grace = limits.body_grace,
            .bytes_per_second = limits.body_bytes_per_second,
            .memory = &memory,
            .chunked = limits.chunked};
}

bool can_be_written(const Response& response) {
    return response.headers.is_valid() && !sets_framing(response.headers) &&
           response.status >= (response.upgrade ? 101 : 200) && response.status <= 999;
}
bool can_be_sent(std::string_view method, const Response& response) {
    return can_be_written(response) && !is_false_tunnel(method, response);
}

}  // namespace

const FiberLabel Connection::kLabel("http connection");

// The permit that a request holds while its handler runs, if it needs one.
struct Connection::HeldPermit {
    ~HeldPermit() {
        if (permits) [[unlikely]]
            permits->give_back(shard);
    }
    Permits* permits;
    std::size_t shard;
};

// True: the connection ends, and the caller closes it. False: it is idle, or in the loop; then the
// caller does not own it any more, and neither it nor the server may exist.
bool Connection::serve_until_idle(std::unique_ptr<Exchange>& exchange) {
    stranded_until = Deadline::never();
    bool goes_on = handshake();
    while (goes_on) {
        Next next = serve(*exchange);
        if (next == Next::End) break;
        if (next == Next::Loop) {
            return_to_loop(std::move(exchange));
            return false;
        }
        // Other fibers run first: a client that sends without a pause must not keep the worker.
        if (stream_->has_buffered()) {
            yield();
            continue;
        }
        ServerShard::Idling idling = shard_.make_idle(*this, exchange, exchange->now);
        if (idling == ServerShard::Idling::Idle) return false;
        goes_on = idling == ServerShard::Idling::Ready;
        if (goes_on && is_for_loop()) {
            return_to_loop(std::move(exchange));
            return false;
        }
        yield();
    }
    return true;
}

// Serves requests until there are no bytes to read for now.
Connection::Next Connection::serve(Exchange& exchange) {
    Nanoseconds write_time = shard_.core().limits().write_time;
    EarlySender early(*stream_, exchange.output, write_time, shard_.token());
    Next next = resume_from_loop(exchange);
    while (next == Next::Proceed) {
        next = read_head(exchange);
        if (next == Next::Proceed) next = serve_request(exchange, early);
        // The response is sent before we ask for more bytes; and the descriptor knows whether there
        // are any without a system call.
        if (next == Next::Proceed && exchange.buffer.empty()) next = Next::Idle;
        if (next == Next::Proceed && is_for_loop()) next = Next::Loop;
        // The next request has come with this one: nothing in here needs to wait for it.
        if (next == Next::Proceed) turn::may_wait("connection.next_request", this);
    }
    Result<void> sent = send_output(*stream_, exchange.output, write_time);
    early.end();
    WEFT_DASSERT(exchange.output.empty(), "everything gathered was sent, or its client is gone");
    return sent ? next : Next::End;
}

// ---------------------------------------------------------------- the head

// Reads without waiting. Idle: there are no bytes.
Connection::Next Connection::receive_available(Exchange& exchange, ByteSpace space) {
    auto count = stream_->try_read(space);
    if (!count || *count == std::optional<std::size_t>(0)) return Next::End;
    if (!*count) return Next::Idle;
    exchange.buffer.filled(**count);
    return Next::Proceed;
}

// Proceed: the parser has a head. Idle: there are no bytes.
Connection::Next Connection::read_head(Exchange& exchange) {
    if (std::exchange(exchange.start, Exchange::Start::ReadHead) == Exchange::Start::Admit)
        return Next::Proceed;
    const ServerLimits& limits = shard_.core().limits();
    ReadBuffer& buffer = exchange.buffer;
    Deadline deadline = Deadline::never();
    for (;;) {
        if (!buffer.empty()) {
            switch (exchange.parser.parse(buffer.view())) {
            case wire::Progress::Done: return Next::Proceed;
            case wire::Progress::Failed: {
                shard_.tally.bad.add();
                wire::ParseError error = exchange.parser.error();
                return refuse(exchange, error.status, error.text());
            }
            case wire::Progress::NeedMore: break;
            }
            if (deadline.is_never()) deadline = Deadline::after(limits.header_time);
            if (!send_output(*stream_, exchange.output, limits.write_time)) return Next::End;
        }
        ByteSpace space = buffer.space();
        if (space.empty()) return refuse(exchange, 503, "out of memory");
        if (buffer.empty()) {
            Next next = receive_available(exchange, space);
            exchange.now = last_look();
            if (next != Next::Proceed) return next;
            continue;
        }
        set_label(kLabel);  // the previous request is over
        auto count = stream_->read(space, deadline);
        if (!count && count.error().kind() == ErrorKind::TimedOut && !context_has_ended()) {
            shard_.tally.timeouts.add();
            return refuse(exchange, 408, "the head of the request took too long");
        }
        if (!count || *count == 0) return Next::End;
        buffer.filled(*count);
    }
}

// Then a wait was not too long but cut short.
bool Connection::context_has_ended() const { return CancelToken::current().is_cancelled(); }

Connection::Next Connection::serve_request(Exchange& exchange, EarlySender& early) {
    begin_request(exchange);
    count_request();
    InterimSender interim(*this, exchange, early);
    begin_body(exchange, &interim);
    Request request({exchange.parser.head(), exchange.parser.target(), exchange.body, peer_,
                     stream_->tls(), &interim});
    RequestEnd at_end{*this, exchange};  // what the handler has left may still use the request
    // Constructed in its place: the outcome is not moved on its way here.
    Result<Response> outcome = admit_and_call(request, exchange, early);
    if (Result<void> sent = early.take_back(); !sent) outcome = sent.error();
    request.end_informational();
    return write(request, exchange, outcome, exchange.now, MayWait::Yes);
}

// The head is consumed, and stays where it is until the response is written.
void Connection::begin_request(Exchange& exchange) {
    WEFT_DASSERT(exchange.parser.consumed() > 0, "the parser has a head");
    exchange.buffer.consume(exchange.parser.consumed());
    exchange.buffer.hold();
}

void Connection::count_request() {
    ++requests_;
    shard_.tally.requests.add(shard_.is_home());
}

void Connection::begin_body(Exchange& exchange, InterimSender* interim) {
    const wire::RequestHead& head = exchange.parser.head();
    if (head.framing == wire::Framing::None) return exchange.body.begin_without_body();
    ServerCore& core = shard_.core();
    exchange.body.begin(*stream_, exchange.buffer, head.framing, head.length,
                        limits_of_body(core.limits(), core.body_memory()));
    if (interim && head.expects_continue && !exchange.body.is_finished())
        exchange.body.set_before_wait([interim] { return interim->send(100, {}); });
}

// ---------------------------------------------------------------- the handler

Result<Response> Connection::admit_and_call(Request& request, Exchange& exchange,
                                            EarlySender& early) {
    HeldPermit permit{nullptr, shard_.index()};
    if (std::optional<Response> refusal = admit(exchange, permit)) return std::move(*refusal);
    return call(request, exchange, early);
}

// Gives the response to a request that is refused, and nothing to one whose handler is called.
// Waits for a permit if there are too many requests, and sheds what has waited too long.
std::optional<Response> Connection::admit(const Exchange& exchange, HeldPermit& permit) {
    std::optional<Response> refusal = refuse_before_call(exchange);
    if (refusal || is_within_reserve()) [[likely]]
        return refusal;
    Permits& permits = shard_.core().permits();
    if (permits.take(shard_.index(), limits().queue_delay)) {
        permit.permits = &permits;
    } else {
        refusal.emplace(shed());
    }
    return refusal;
}

// Refusals that depend on the request and on its delay alone.
std::optional<Response> Connection::refuse_before_call(const Exchange& exchange) {
    std::int64_t now_ns = exchange.now.time_since_epoch().count();
    bool late = ready_ns != 0 && now_ns - ready_ns > limits().queue_delay.count();
    ready_ns = 0;
    auto transport = stream_->tls() ? wire::Transport::Secured : wire::Transport::Plain;
    if (wire::is_misdirected(exchange.parser.target(), transport)) return Response::plain(421);
    if (late) return shed();
    return std::nullopt;
}

// Within its reserve a shard needs no permits: no more of its requests can be in handlers than
// connections of it were active when the last of them began.
bool Connection::is_within_reserve() const {
    return shard_.active() <= shard_.core().reserved_permits();
}

Response Connection::shed() {
    shard_.tally.shed.add();
    return Response::plain(503).with("retry-after", "1");
}

Result<Response> Connection::call(Request& request, Exchange& exchange, EarlySender& early) {
    WatchScope watched(*this, exchange);
    if (Result<void> sent = early.lend(); !sent) return sent.error();
    const ServerLimits& limits = shard_.core().limits();
    // It stays so while the response is written: the handler's own code may produce it.
    set_label(label_of(request.method()));
    async::Context& context = exchange.scope->lend_context();
    try {
        if (limits.request_time == Nanoseconds::max())
            return shard_.core().handler()(request, context);
        auto limited = context.with_timeout(limits.request_time);
        CancelScope ambient(limited.context.token());
        return shard_.core().handler()(request, limited.context);
    } catch (...) {  // user code: what it throws is its error
        return Error::from_current_exception();
    }
}

Result<void> Connection::InterimSender::send(std::uint16_t status, const Headers& headers) {
    WEFT_TRY(early.take_back());
    wire::Version version = exchange.parser.head().version;
    WEFT_TRY(append_informational(exchange.output, version, status, headers));
    Nanoseconds time = connection.shard_.core().limits().write_time;
    return send_output(connection.stream(), exchange.output, time);
}

// ---------------------------------------------------------------- the response

// The outcome of the call is sent or gathered, whatever it is. Without MayWait the caller has made
// sure that nothing but lingering would wait, which is left to a fiber by Next::Linger.
Connection::Next Connection::write(Request& request, Exchange& exchange, Result<Response>& outcome,
                                   Instant begun, MayWait may_wait) {
    const ServerOptions& options = shard_.core().options();
    const ServerLimits& limits = options.limits;
    const wire::RequestHead& head = exchange.parser.head();
    CancelState* token = exchange.scope->state();
    if (!outcome || !can_be_sent(request.method(), *outcome)) [[unlikely]]
        replace_unsendable(outcome, request, exchange);
    Response& response = *outcome;
    WEFT_DASSERT(may_wait == MayWait::Yes || (!response.upgrade && !response.afterwards &&
                                              response.body.text().has_value()),
                 "what waits is left to a fiber");
    if (response.upgrade) return run_upgrade(request, exchange, response);
    bool keep_alive = head.keep_alive && may_go_on(exchange.now) &&
                      exchange.body.can_be_dropped(limits.linger_bytes);
    // From here on a 100 (Continue) would be written into the response.
    if (exchange.body.has_before_wait()) exchange.body.set_before_wait(nullptr);
    ResponseWriter writer(*stream_, exchange, limits,
                          {.head_only = head.method == "HEAD",
                           .keep_alive = keep_alive,
                           .version = head.version,
                           .server_name = options.server_name,
                           .drain = shard_.core().drain_token(),
                           .may_wait = may_wait == MayWait::Yes});
    // A produced body may wait for long, and its producer must learn that the client is gone.
    bool is_watched = response.body.as_produced() || response.afterwards;
    Result<void> written =
        is_watched ? write_watched(writer, response, exchange) : writer.write_response(response);
    if (writer.producer_failed() && async::reason_of(token) == CancelReason::None)
        log_failed_body(request, response.headers, written.error(), shard_.core().log_limit());
    if (options.on_access) {
        report({.request = &request,
                .peer = peer_,
                .status = response.status,
                .body_bytes = writer.body_bytes(),
                .duration = Clock::now() - begun,
                .complete = written.has_value()});
    }
    if (!written) return Next::End;
    shard_.tally.responses.add(shard_.is_home());
    return drop_unread(exchange, writer.keep_alive() ? KeepAlive::Yes : KeepAlive::No, may_wait);
}

Result<void> Connection::write_watched(ResponseWriter& writer, Response& response,
                                       Exchange& exchange) {
    WatchScope watched(*this, exchange);
    WEFT_TRY(writer.write_response(response));
    if (!response.afterwards) return {};
    WEFT_TRY(send_output(*stream_, exchange.output, shard_.core().limits().write_time));
    call_afterwards(response, shard_.core().log_limit());
    return {};
}

// Replaces an outcome that cannot be sent by a response that can.
void Connection::replace_unsendable(Result<Response>& outcome, const Request& request,
                                    Exchange& exchange) {
    if (!outcome)
        outcome = response_to_error(outcome.error(), request, exchange, exchange.scope->state());
    if (!can_be_written(*outcome)) {
        outcome = failure_response(request, &outcome->headers, "the response cannot be sent",
                                   shard_.core().log_limit());
    }
    if (is_false_tunnel(request.method(), *outcome)) outcome = Response::plain(501);
    WEFT_ASSERT(outcome && can_be_sent(request.method(), *outcome), "the replacement can be sent");
}

Response Connection::response_to_error(const Error& error, const Request& request,
                                       Exchange& exchange, CancelState* token) {
    // A client that leaves in the middle of a body has cut it off, whichever the handler learned of
    // first: the end of its context or the end of the body.
    if (watch_.has_fired() && !exchange.body.is_finished()) {
        const ServerLimits& limits = shard_.core().limits();
        Deadline deadline = Deadline::after(limits.linger_time);
        // Without a limit on bytes: no more can come than what the kernel has received.
        shield(deadline, [&] { exchange.body.drop_rest(UINT64_MAX, deadline); });
    }
    if (exchange.body.has_failed() && exchange.body.failure_status() != 0) {
        if (exchange.body.failure_status() == 408) shard_.tally.timeouts.add();
        if (exchange.body.failure_status() == 503) return shed();
        return bad_body_response(exchange.body);
    }
    bool gone = async::reason_of(token) != CancelReason::None;
    if (gone) shard_.tally.gone.add();
    if (gone) return Response::plain(503);
    if (error.kind() == ErrorKind::TimedOut) {
        shard_.tally.timeouts.add();
        return Response::plain(503);
    }
    return failure_response(request, nullptr, error.message(), shard_.core().log_limit());
}

Connection::Next Connection::refuse(Exchange& exchange, std::uint16_t status,
                                    std::string_view reason) {
    Response response = Response::text(std::string(reason) + "\n", status);
    ResponseWriter writer(*stream_, exchange, shard_.core().limits(),
                          {.head_only = exchange.buffer.view().starts_with("HEAD "),
                           .keep_alive = false,
                           .server_name = shard_.core().options().server_name});
    Result<void> written = writer.write_response(response);
    if (shard_.core().options().on_access) {
        report({.request = nullptr,
                .peer = peer_,
                .status = status,
                .body_bytes = writer.body_bytes(),
                .duration = {},
                .complete = written.has_value()});
    }
    if (written) linger(exchange);
    return Next::End;
}

Connection::Next Connection::run_upgrade(const Request& request, Exchange& exchange,
                                         Response& response) {
    const ServerLimits& limits = shard_.core().limits();
    // RFC 9110 §7.8: the other protocol begins behind the request, and would be taken for its body;
    // and a client that expects 100 gets it before the 101.
    IncomingBody& body = exchange.body;
    if (!body.is_finished()) {
        if (!send_output(*stream_, exchange.output, limits.write_time)) return Next::End;
        if (!body.drop_rest(limits.linger_bytes, Deadline::after(limits.linger_time)))
            return refuse(exchange, 400, "a body that does not end before another protocol begins");
    }
    ResponseWriter writer(*stream_, exchange, limits, {});
    if (!writer.write_response(response)) return Next::End;
    bool sent = send_output(*stream_, exchange.output, limits.write_time).has_value();
    // Reported now: the other protocol may go on for days.
    if (shard_.core().options().on_access) {
        report({.request = &request,
                .peer = peer_,
                .status = response.status,
                .body_bytes = 0,
                .duration = Clock::now() - exchange.now,
                .complete = sent});
    }
    if (!sent) return Next::End;
    shard_.tally.responses.add(shard_.is_home());
    Upgraded upgraded{*stream_, as_bytes(exchange.buffer.view()),
                      CancelToken(shard_.core().drain_token())};
    try {
        response.upgrade(upgraded);
    } catch (...) {  // user code: its error ends the connection, and nobody else
        std::string why = Error::from_current_exception().message();
        log_limited(shard_.core().log_limit(), LogLevel::Error, why,
                    "http: an upgraded connection failed: {}", why);
    }
    return Next::End;
}

// ---------------------------------------------------------------- after the response

// Reads and drops what the handler has left of the request's body, so that the next request can be
// read; or ends the connection.
Connection::Next Connection::drop_unread(Exchange& exchange, KeepAlive keep_alive,
                                         MayWait may_wait) {
    const ServerLimits& limits = shard_.core().limits();
    bool unread = !exchange.body.is_finished();
    if (keep_alive == KeepAlive::No) {
        // A client that did not expect this response to be the last may have sent its next request.
        bool may_send =
            exchange.parser.head().keep_alive && !WEFT_PLANTED("server.ends_without_a_word");
        if (unread || !exchange.buffer.empty() || may_send) {
            if (may_wait == MayWait::No) return Next::Linger;
            linger(exchange);
        }
        return Next::End;
    }
    if (unread) {
        WEFT_DASSERT(may_wait == MayWait::Yes, "in the loop the body was read before the response");
        if (!send_output(*stream_, exchange.output, limits.write_time)) return Next::End;
        if (!exchange.body.drop_rest(limits.linger_bytes, Deadline::after(limits.linger_time))) {
            linger(exchange);
            return Next::End;
        }
    }
    exchange.buffer.release();
    exchange.parser.reset();
    return Next::Proceed;
}

// The scope of a request ends when its response is written: what the handler has spawned and not
// joined is cancelled and waited for, and its cleanups run. The client does not wait for that.
void Connection::end_request(Exchange& exchange) {
    exchange.body.release_memory();
    if (!exchange.scope->has_round()) [[likely]]
        return;
    // An error shows again when the next is sent.
    static_cast<void>(send_output(*stream_, exchange.output, shard_.core().limits().write_time));
    exchange.scope->end_round();
}

bool Connection::may_go_on(Instant now) const {
    const ServerCore& core = shard_.core();
    return !core.is_draining() && requests_ < core.limits().requests_per_connection &&
           !ends_at_.expired(now);
}

// Reads and drops for a while what the client still sends: closing with unread bytes would send a
// reset, and the client might lose the response to it.
void Connection::linger(Exchange& exchange) {
    set_label(kLabel);
    const ServerLimits& limits = shard_.core().limits();
    if (!send_output(*stream_, exchange.output, limits.write_time)) return;
    Deadline deadline = Deadline::after(limits.linger_time);
    if (!stream_->shutdown_write(deadline)) return;
    exchange.buffer.clear();
    std::uint64_t dropped = 0;
    while (dropped < limits.linger_bytes) {
        ByteSpace space = exchange.buffer.space();
        if (space.empty()) return;
        auto count = stream_->read(space, deadline);
        if (!count || *count == 0) return;
        dropped += *count;
    }
}

void Connection::report(const AccessRecord& record) {
    try {
        shard_.core().options().on_access(record);
    } catch (...) {  // user code
        std::string why = Error::from_current_exception().message();
        log_limited(shard_.core().log_limit(), LogLevel::Error, why,
                    "http: the access log failed: {}", why);
    }
}

}  // namespace weft::http
