#include "weft/http/server/internal/connection.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

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
#include "weft/net/tls/tls_stream.h"

namespace weft::http {
namespace {

// With fewer awake than this, nobody can have waited long for the worker.
constexpr std::size_t kActiveMeasuredMin = 32;

// What a connection's fiber is called before it has a request; then by the method, until a router
// finds the route.
constexpr FiberLabel kConnectionLabel("http connection");
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

Deadline age_limit(Nanoseconds age, Instant begun) {
    // Give or take 15 %: those that came together do not all come back together.
    std::uint64_t percent = 85 + env::random(RandomStream::Workload) % 31;
    return Deadline::after(
        saturate(std::chrono::duration<double>(age) * (static_cast<double>(percent) / 100.0)),
        begun);
}

bool can_be_written(const Response& response) {
    return response.headers.is_valid() && !sets_framing(response.headers) &&
           response.status >= (response.upgrade ? 101 : 200) && response.status <= 999;
}
bool can_be_sent(std::string_view method, const Response& response) {
    return can_be_written(response) && !is_false_tunnel(method, response);
}

}  // namespace

Connection::Connection(ServerShard& shard, std::unique_ptr<net::Stream> stream, net::Address peer,
                       std::shared_ptr<net::tls::ServerContext> tls)
    : Dormant{on_bytes},
      shard_(shard),
      stream_(std::move(stream)),
      tls_(std::move(tls)),
      peer_(std::move(peer)),
      ends_at_(age_limit(shard.core().limits().connection_age, begun_)),
      has_loop_handler_(shard.core().options().loop_handler && !tls_) {}

Connection::~Connection() = default;

void Connection::begin(ServerShard& shard, std::unique_ptr<net::Stream> stream, net::Address peer,
                       std::shared_ptr<net::tls::ServerContext> tls) {
    // In a worker's loop nobody would catch an exception. The peer is kept for one who comes in
    // vain.
    net::Address admitted = peer;
    auto* connection = new (std::nothrow)  // tidy: allow new: it destroys itself in end()
        Connection(shard, std::move(stream), std::move(peer), std::move(tls));
    if (!connection) return shard.core().refuse(shard, admitted);
    std::unique_ptr<Exchange> none;
    switch (shard.make_idle(*connection, none, Clock::now())) {
    case ServerShard::Idling::Idle: return;
    case ServerShard::Idling::Ready:
        if (connection->is_for_loop()) return connection->queue_for_loop();
        return connection->start_fiber(shard.take_exchange());
    case ServerShard::Idling::End: return end(*connection);
    }
}

void Connection::end(Connection& connection) {
    ServerCore& core = connection.shard_.core();
    if (std::unique_ptr<Exchange> left = std::move(connection.exchange_)) {
        if (left->start == Exchange::Start::Write) connection.end_request(*left);
        left->loop.clear();
        connection.shard_.give_back(std::move(left));
    }
    connection.shard_.remove_connection();
    net::Address peer = connection.peer_;
    if (connection.stream_) connection.stream_->close();
    delete &connection;  // tidy: allow delete: see begin()
    core.leave(peer);
}

// ---------------------------------------------------------------- asleep and awake

void Connection::on_bytes(Dormant& dormant, std::uint8_t) {
    auto& self = static_cast<Connection&>(dormant);
    if (self.is_for_loop()) {
        if (!self.shard_.make_active_in_loop(self)) self.close_idle();
        return;
    }
    std::unique_ptr<Exchange> exchange;
    if (!self.shard_.make_active(self, exchange)) return self.close_idle();
    self.start_fiber(std::move(exchange));
}

// On another worker, which looks after one that is stuck, it must not wait for that one's loop.
bool Connection::is_for_loop() const { return has_loop_handler_ && shard_.is_home(); }

const ServerLimits& Connection::limits() const { return shard_.core().limits(); }

void Connection::close_idle() {
    if (!shard_.core().is_draining()) return end(*this);
    had_last_read = true;
    start_fiber(shard_.take_exchange());
}

// The context for what it does next. A door for the exceptions of our own allocations: in a
// worker's loop nobody else would catch them. Null without memory.
CancelState* Connection::make_token(Exchange& exchange) {
    try {
        return exchange.fresh_token(shard_.token());
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

void Connection::start_fiber(std::unique_ptr<Exchange> exchange) {
    if (!exchange) return strand(nullptr);
    ready_ns = shard_.active() <= kActiveMeasuredMin ? 0 : last_look().time_since_epoch().count();
    // One that has a request of the loop goes on in the context of that; so does one that was
    // abandoned, if its request has left something.
    bool keeps = exchange->start == Exchange::Start::Write ||
                 (exchange->start == Exchange::Start::End && exchange->scope->has_round());
    CancelState* token = keeps ? exchange->scope->state() : make_token(*exchange);
    if (!token) return strand(std::move(exchange));
    Exchange* lent = exchange.release();
    Result<void> started =
        spawn_detached([this, lent] { run(std::unique_ptr<Exchange>(lent)); },
                       [this, lent](const Error&) { strand(std::unique_ptr<Exchange>(lent)); },
                       {.stack_bytes = shard_.core().options().stack_bytes,
                        .start = Start::InTurn,
                        .token = token,
                        // Of the exchange, which goes when nothing is left to wait for.
                        .token_use = TokenUse::Lent,
                        .label = &kConnectionLabel});
    if (started) return;
    exchange.reset(lent);
    // What a request of the loop has left is waited for by the fiber that looks at stranded ones.
    bool left = keeps && exchange->scope->has_round();
    if (left || started.error().kind() == ErrorKind::OutOfMemory)
        return strand(std::move(exchange));
    exchange_ = std::move(exchange);
    end(*this);
}

// There is no memory for its fiber, or for an exchange, which is null then. It waits for some in a
// list; where it waits for too long, it is closed: see close_idle() of the shard.
void Connection::strand(std::unique_ptr<Exchange> exchange) {
    if (exchange && exchange->is_bare()) {
        shard_.give_back(std::move(exchange));
    } else {
        exchange_ = std::move(exchange);
    }
    shard_.strand(*this, Clock::now());
}

void Connection::retry_stranded() { start_fiber(exchange_ ? std::move(exchange_) : shard_.take_exchange()); }

// A door for exceptions: user code has its own, so what comes here is memory that our own code did
// not get. The connection would never end, and the server wait for it for ever.
void Connection::run(std::unique_ptr<Exchange> exchange) {
    bool failed = false;
    bool is_ours = true;
    try {
        is_ours = serve_until_idle(exchange);
    } catch (...) {
        failed = true;
        std::string why = Error::from_current_exception().message();
        log_limited(shard_.core().log_limit(), LogLevel::Error, why, "http: a connection ends: {}",
                    why);
    }
    if (!is_ours) return;
    failed ? shard_.drop(std::move(exchange)) : shard_.give_back(std::move(exchange));
    end(*this);
}

// False: the connection is asleep, or the loop's, and no longer ours, nor is the server.
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
        // The others first, or one who sends without a pause would keep the worker for himself.
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

// On the connection's own fiber: a client that is slow here holds nobody else up.
bool Connection::handshake() {
    if (!tls_) return true;
    // Since it was accepted: in a flood it may have waited for this fiber.
    Deadline deadline = Deadline::after(shard_.core().limits().handshake, begun_);
    auto secured = net::TlsStream::accept(std::move(stream_), *tls_, deadline);
    if (!secured) {
        log(LogLevel::Debug, "http: no TLS with {}: {}", peer_.to_string(),
            secured.error().message());
        return false;
    }
    stream_ = std::move(*secured);
    tls_.reset();
    return true;
}

// Until there is nothing more to read for now.
Connection::Next Connection::serve(Exchange& exchange) {
    Nanoseconds write_time = shard_.core().limits().write_time;
    EarlySender early(*stream_, exchange.output, write_time, shard_.token());
    Next next = resume_from_loop(exchange);
    while (next == Next::Proceed) {
        next = read_head(exchange);
        if (next == Next::Proceed) next = answer(exchange, early);
        // The response is on its way before we look whether there is more; and the descriptor knows
        // whether there is, without asking the kernel.
        if (next == Next::Proceed && exchange.buffer.empty()) next = Next::Idle;
        if (next == Next::Proceed && is_for_loop()) next = Next::Loop;
        // The next request has come with this one: nothing in here needs to wait for it.
        if (next == Next::Proceed) turn::may_wait("connection.next_request", this);
    }
    Result<void> sent = send_output(*stream_, exchange.output, write_time);
    early.end();
    return sent ? next : Next::End;
}

// ---------------------------------------------------------------- one request

// What has already come; Sleep: there are no bytes.
Connection::Next Connection::receive_available(Exchange& exchange, ByteSpace space) {
    auto count = stream_->try_read(space);
    if (!count || *count == std::optional<std::size_t>(0)) return Next::End;
    if (!*count) return Next::Idle;
    exchange.buffer.filled(**count);
    return Next::Proceed;
}

// Again: the parser has a head. Sleep: there are no bytes.
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
        set_label(kConnectionLabel);  // the request before is over
        auto count = stream_->read(space, deadline);
        if (!count && count.error().kind() == ErrorKind::TimedOut && !context_has_ended()) {
            shard_.tally.timeouts.add();
            return refuse(exchange, 408, "the head of the request took too long");
        }
        if (!count || *count == 0) return Next::End;
        buffer.filled(*count);
    }
}

// Whether the context of the fiber has ended: then a wait was not too long, but cut short.
bool Connection::context_has_ended() const { return CancelToken::current().is_cancelled(); }

bool Connection::may_go_on(Instant now) const {
    const ServerCore& core = shard_.core();
    return !core.is_draining() && requests_ < core.limits().requests_per_connection &&
           !ends_at_.expired(now);
}

// The head is no longer among what is to be read.
void Connection::begin_request(Exchange& exchange) {
    exchange.buffer.consume(exchange.parser.consumed());
    exchange.buffer.hold();
}

void Connection::count_request() {
    ++requests_;
    shard_.tally.requests.add(shard_.is_home());
}

Connection::Next Connection::answer(Exchange& exchange, EarlySender& early) {
    begin_request(exchange);
    count_request();
    InterimSender interim(*this, exchange, early);
    begin_body(exchange, &interim);
    Request request({exchange.parser.head(), exchange.parser.target(), exchange.body, peer_,
                     stream_->tls(), &interim});
    RequestEnd at_end{*this, exchange};  // what the handler has left may still use the request
    // Made where it stays: on its way here nothing is moved.
    Result<Response> outcome = call_in_turn(request, exchange, early);
    if (Result<void> sent = early.take_back(); !sent) outcome = sent.error();
    request.end_informational();
    return finish(request, exchange, outcome, exchange.now, MayWait::Yes);
}

// Whatever came of the call is sent or gathered; then what is left of the request is read. Where it
// must not wait the caller has seen to it that there is no need, but for Linger.
Connection::Next Connection::finish(Request& request, Exchange& exchange, Result<Response>& outcome,
                                    Instant begun, MayWait may_wait) {
    const ServerOptions& options = shard_.core().options();
    const ServerLimits& limits = options.limits;
    const wire::RequestHead& head = exchange.parser.head();
    CancelState* token = exchange.scope->state();
    if (!outcome || !can_be_sent(request.method(), *outcome)) [[unlikely]]
        replace_unsendable(outcome, request, exchange);
    Response& response = *outcome;
    if (response.upgrade) return run_upgrade(request, exchange, response);
    bool keep_alive = head.keep_alive && may_go_on(exchange.now) &&
                      exchange.body.can_be_dropped(limits.linger_bytes);
    // From here on the word would stand within the response.
    if (exchange.body.has_before_wait()) exchange.body.set_before_wait(nullptr);
    ResponseWriter writer(*stream_, exchange, limits,
                          {.head_only = head.method == "HEAD",
                           .keep_alive = keep_alive,
                           .version = head.version,
                           .server_name = options.server_name,
                           .drain = shard_.core().drain_token(),
                           .may_wait = may_wait == MayWait::Yes});
    // A body that is produced may wait for long: whoever waits must learn that the client is gone.
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
    bool unread = !exchange.body.is_finished();
    if (!writer.keep_alive()) {
        // Who does not know yet that this was the last response may have sent the next request.
        bool may_send = head.keep_alive && !WEFT_PLANTED("server.ends_without_a_word");
        if (unread || !exchange.buffer.empty() || may_send) {
            if (may_wait == MayWait::No) return Next::Linger;
            linger(exchange);
        }
        return Next::End;
    }
    if (unread) {
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

Result<void> Connection::write_watched(ResponseWriter& writer, Response& response,
                                       Exchange& exchange) {
    WatchScope watched(*this, exchange);
    WEFT_TRY(writer.write_response(response));
    if (!response.afterwards) return {};
    WEFT_TRY(send_output(*stream_, exchange.output, shard_.core().limits().write_time));
    call_afterwards(response, shard_.core().log_limit());
    return {};
}

Result<void> Connection::InterimSender::send(std::uint16_t status, const Headers& headers) {
    WEFT_TRY(early.take_back());
    wire::Version version = exchange.parser.head().version;
    WEFT_TRY(append_informational(exchange.output, version, status, headers));
    Nanoseconds time = connection.shard_.core().limits().write_time;
    return send_output(connection.stream(), exchange.output, time);
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

void Connection::begin_body(Exchange& exchange, InterimSender* interim) {
    const wire::RequestHead& head = exchange.parser.head();
    if (head.framing == wire::Framing::None) return exchange.body.begin_without_body();
    ServerCore& core = shard_.core();
    exchange.body.begin(*stream_, exchange.buffer, head.framing, head.length,
                        limits_of_body(core.limits(), core.body_memory()));
    if (interim && head.expects_continue && !exchange.body.is_finished())
        exchange.body.set_before_wait([interim] { return interim->send(100, {}); });
}

// Waits for a permit if there are too many requests, and sheds what has waited too long.
Result<Response> Connection::call_in_turn(Request& request, Exchange& exchange,
                                          EarlySender& early) {
    if (std::optional<Response> refused = refuse_before_call(exchange)) return std::move(*refused);
    struct GiveBack {
        ~GiveBack() {
            if (permits) [[unlikely]]
                permits->give_back(shard);
        }
        Permits* permits;
        std::size_t shard;
    } at_end{nullptr, shard_.index()};
    if (!is_within_reserve()) [[unlikely]] {
        Permits& permits = shard_.core().permits();
        if (!permits.take(shard_.index(), limits().queue_delay)) return shed();
        at_end.permits = &permits;
    }
    WatchScope watched(*this, exchange);
    if (Result<void> sent = early.lend(); !sent) return sent.error();
    return call_handler(request, exchange.scope->lend_context());
}

// What the handler is not asked about.
std::optional<Response> Connection::refuse_before_call(const Exchange& exchange) {
    std::int64_t now_ns = exchange.now.time_since_epoch().count();
    bool late = ready_ns != 0 && now_ns - ready_ns > limits().queue_delay.count();
    ready_ns = 0;
    auto transport = stream_->tls() ? wire::Transport::Secured : wire::Transport::Plain;
    if (wire::is_misdirected(exchange.parser.target(), transport)) return Response::plain(421);
    if (late) return shed();
    return std::nullopt;
}

// Of those that have a seat no more can be in handlers than were awake when the last one began.
bool Connection::is_within_reserve() const { return shard_.active() <= shard_.core().reserved_permits(); }

// By what can be sent, whatever came of the call.
void Connection::replace_unsendable(Result<Response>& outcome, const Request& request, Exchange& exchange) {
    if (!outcome) outcome = response_to_error(outcome.error(), request, exchange, exchange.scope->state());
    if (!can_be_written(*outcome)) {
        outcome = failure_response(request, &outcome->headers, "the response cannot be sent",
                                   shard_.core().log_limit());
    }
    if (is_false_tunnel(request.method(), *outcome)) outcome = Response::plain(501);
}

Response Connection::shed() {
    shard_.tally.shed.add();
    return Response::plain(503).with("retry-after", "1");
}

Result<Response> Connection::call_handler(Request& request, async::Context& context) {
    const ServerLimits& limits = shard_.core().limits();
    // It stays so while the response is written: the handler's own code may produce it.
    set_label(label_of(request.method()));
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

Response Connection::response_to_error(const Error& error, const Request& request, Exchange& exchange,
                             CancelState* token) {
    // A client that leaves in the middle of a body has cut it off, whichever the handler was told
    // first: the end of its context or that of the body.
    if (watch_.has_left() && !exchange.body.is_finished()) {
        const ServerLimits& limits = shard_.core().limits();
        Deadline deadline = Deadline::after(limits.linger_time);
        // Whatever its length was to be: no more comes than what the kernel has.
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
    // RFC 9110 §7.8: the other protocol begins behind the request, with whose body it would be
    // mistaken; and a client that expects 100 gets it before the 101.
    IncomingBody& body = exchange.body;
    if (!body.is_finished()) {
        if (!send_output(*stream_, exchange.output, limits.write_time)) return Next::End;
        if (!body.drop_rest(limits.linger_bytes, Deadline::after(limits.linger_time)))
            return refuse(exchange, 400, "a body that does not end before another protocol begins");
    }
    ResponseWriter writer(*stream_, exchange, limits, {});
    if (!writer.write_response(response)) return Next::End;
    bool sent = send_output(*stream_, exchange.output, limits.write_time).has_value();
    // Now, and not when the other protocol has ended, which may be tomorrow.
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

// What the client still sends is read and dropped for a while: to close with unread bytes would
// send a reset, and the client might lose the response to it.
void Connection::linger(Exchange& exchange) {
    set_label(kConnectionLabel);
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

// ---------------------------------------------------------------- the client goes away

void Connection::begin_watch(Exchange& exchange) {
    watch_.token = exchange.scope->state();
    // Relaxed: nobody else looks yet.
    watch_.called.store(false, std::memory_order_relaxed);
    auto tell = [](void* whom) { static_cast<Connection*>(whom)->watch(); };
    if (!exchange.scope->notify_when_observed(tell, this)) watch();
}

// Who has not asked by now has no way to: whatever outlives this time came to its context by one of
// those who count as asking. So nobody is in watch().
void Connection::end_watch(Exchange& exchange) {
    exchange.scope->stop_telling();
    stop_watching();
}

void Connection::watch() {
    if (WEFT_PLANTED("server.watches_nobody")) return;
    watch_.on_ready = [](Dormant& dormant, std::uint8_t) {
        auto& self = static_cast<Watch&>(dormant);
        self.token->cancel(CancelReason::Cancelled);
        // Release: the last touch; pairs with stop_watching().
        self.called.store(true, std::memory_order_release);
    };
    bool half = shard_.core().options().half_close == HalfClose::IsAllowed;
    auto events = static_cast<std::uint8_t>(half ? kFailed : kHangUp | kFailed);
    auto armed = stream_->descriptor().arm(watch_, events);
    watching_ = armed && *armed;
    // It may have gone before.
    if (armed && !*armed) watch_.on_ready(watch_, kHangUp);
}

void Connection::stop_watching() {
    if (!std::exchange(watching_, false)) return;
    if (stream_->descriptor().disarm(watch_)) return;
    for (unsigned attempt = 0; !watch_.has_left();) env::spin_pause(attempt++);
}

}  // namespace weft::http
