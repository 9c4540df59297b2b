#include "weft/http/proxy/internal/relay.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <utility>

#include "weft/async/group.h"
#include "weft/base/assert.h"
#include "weft/base/on_end.h"
#include "weft/fiber/cancel.h"
#include "weft/http/client/internal/phase.h"
#include "weft/http/client/internal/request_writer.h"
#include "weft/http/internal/drain_scope.h"
#include "weft/http/limits.h"
#include "weft/http/proxy/internal/forwarding.h"
#include "weft/http/proxy/internal/frame_boundary.h"

namespace weft::http {
namespace {

using Space = std::array<std::byte, kReadBufferBytes>;

// The Content-Length of a response without content: to HEAD, or 304.
std::optional<std::uint64_t> said_length(const Headers& headers) {
    auto field = headers.get("content-length");
    if (!field) return std::nullopt;
    std::uint64_t length = 0;
    std::from_chars(field->data(), field->data() + field->size(), length);
    return length;
}

bool is_event_stream(const Headers& headers) {
    auto type = headers.get("content-type");
    constexpr std::string_view kType = "text/event-stream";
    return type && equal_without_case(type->substr(0, kType.size()), kType);
}

// One direction of an upgraded connection.
struct Direction {
    net::Stream& from;
    net::Stream& to;
    FrameBoundary boundary = {};  // in the bytes that `to` was sent
    // It stays OutOfMemory if the fiber got no stack.
    Result<void> outcome = ErrorKind::OutOfMemory;
};

Result<void> forward_part(Direction& way, Bytes part, Nanoseconds idle) {
    Result<void> written = way.to.write_all(part, Deadline::after(idle));
    written ? way.boundary.pass(part) : way.boundary.lose_track();
    return written;
}

// Copies until the end of `from`, and then ends the sending half of `to`.
Result<void> copy_until_end(Direction& way, Bytes early, Nanoseconds idle) {
    if (!early.empty()) WEFT_TRY(forward_part(way, early, idle));
    Space space;
    for (;;) {
        std::size_t count = WEFT_TRY(way.from.read(space, Deadline::after(idle)));
        WEFT_DASSERT(count <= space.size(), "a read fills its space at most");
        if (count == 0) {
            way.boundary.lose_track();
            return way.to.shutdown_write(Deadline::after(idle));
        }
        WEFT_TRY(forward_part(way, Bytes(space).first(count), idle));
    }
}

// A Close frame with 1001 (going away): as a server sends it, and as a client, whose frames are
// masked. The mask is zero, because the frame has nothing to hide.
constexpr std::string_view kCloseOfServer("\x88\x02\x03\xE9", 4);
constexpr std::string_view kCloseOfClient("\x88\x82\0\0\0\0\x03\xE9", 8);
// How long a drained tunnel waits for both peers to close.
constexpr Nanoseconds kCloseTime = std::chrono::seconds(1);

// Sends the Close where the frames allow it, and ends the sending half.
void end_sending(Direction& way, std::string_view close, Deadline deadline) {
    if (way.boundary.may_send() && !close.empty())
        static_cast<void>(way.to.write_all(as_bytes(close), deadline));
    static_cast<void>(way.to.shutdown_write(deadline));
}

// Drops what still arrives until the peer closes. Closing with unread bytes would send a reset,
// which could make the peer lose the Close.
void await_end(net::Stream& stream, Deadline deadline) {
    Space space;
    for (;;) {
        Result<std::size_t> count = stream.read(space, deadline);
        if (!count || *count == 0) return;
    }
}

}  // namespace

Relay::Relay(std::shared_ptr<const void> proxy, Upstream& upstream, Admission::Pass pass,
             Lease lease)
    : proxy_(std::move(proxy)),
      upstream_(upstream),
      pass_(std::move(pass)),
      lease_(std::move(lease)) {
    WEFT_ASSERT(!lease_->has_permit, "the pass counts the connection, the origin must not");
    upstream_.begin();
}

Relay::~Relay() {
    fibers_.reset();
    if (lease_ && lease_->has_stream() && lease_->has_head() && lease_->body.drop_buffered())
        Origin::give_back(std::move(lease_));
    upstream_.end();
}

// ---------------------------------------------------------------- the request

std::optional<Relay::Failure> Relay::ask(Request& request, const BodyStart& start,
                                         const ProxyOptions& options, const Via& via) {
    WEFT_ASSERT(!upload_ && !fibers_, "a relay is for one exchange");
    ClientConnection& connection = *lease_;
    ahead_bytes_max_ = options.response_buffer_bytes;
    connection.begin(request.method(), passes_upgrade(request));
    std::optional<std::uint64_t> size = request.body().size();
    if (auto composed = append_request(connection.output, request, upstream_.authority(), options,
                                       size != 0, size);
        !composed)
        return Failure{.error = composed.error(), .is_client_fault = true};
    bool has_client_failed = false;
    auto forward_informational = [&](const wire::ResponseHead& head) -> Result<void> {
        // The server sends the client its 100 when the body is read, if the client waits for one.
        if (head.status == 100) return {};
        auto fields = fields_for_client(head, via);
        if (!fields) return Error(ErrorKind::Other, fields.error().message());
        Result<void> passed = request.send_informational(head.status, *fields);
        has_client_failed |= !passed;
        return passed;
    };
    ClientConnection::OnInformational on_informational = forward_informational;
    connection.on_informational = &on_informational;
    Sent sent = size != 0 ? send_with_body(request, start, options) : send_head(options);
    bool is_sent_or_answered = sent.outcome || sent.was_answered;
    Result<void> outcome = sent.outcome;
    if (is_sent_or_answered)
        outcome = connection.receive_head(Deadline::after(options.timeouts.head));
    connection.on_informational = nullptr;
    bool is_client_fault = has_client_failed || (!is_sent_or_answered && !sent.has_failed);
    if (is_client_fault)
        return Failure{.error = outcome ? Error(ErrorKind::Closed) : outcome.error(),
                       .is_client_fault = true};
    if (!outcome) return failure(request, options, outcome.error());
    bool is_partial = upload_ && !upload_->is_whole();
    // The bytes that the client still sends belong to its body, not to the new protocol.
    if (is_partial && connection.head().status == 101)
        return Failure{.error = Error(ErrorKind::Other, "it changes protocols too early")};
    // The rest is sent while the response is forwarded, as long as the upstream takes it.
    bool goes_on_sending = is_partial && sent.was_answered && !sent.has_failed;
    if (!goes_on_sending) upload_.reset();
    return std::nullopt;
}

Relay::Failure Relay::failure(const Request& request, const ProxyOptions& options,
                              const Error& error) const {
    bool untouched = !lease_->has_received() && (!upload_ || upload_->is_untouched());
    Phase phase{"read the head of the response", options.timeouts.head, "ClientTimeouts::head"};
    return {.error = in_phase(error, phase, {}),
            .may_repeat = untouched && is_idempotent(request.method()),
            .was_reused = lease_->is_reused};
}

Relay::Sent Relay::send_head(const ProxyOptions& options) {
    RequestWriter writer(*lease_, {options.timeouts.idle, {}});
    Result<void> outcome = writer.send_head();
    return {outcome, writer.was_answered(), writer.has_failed()};
}

Relay::Sent Relay::send_with_body(Request& request, const BodyStart& start,
                                  const ProxyOptions& options) {
    Upload& upload = upload_.emplace(request, *lease_, options.timeouts.idle);
    Result<bool> wanted = true;
    if (request.expects_continue()) wanted = upload.send_head_first(options.timeouts.expect);
    Result<void> outcome;
    if (!wanted) outcome = wanted.error();
    if (wanted && *wanted) outcome = upload.send(start);
    return {outcome, upload.was_answered(), upload.has_failed()};
}

// ---------------------------------------------------------------- the response

Result<Response> Relay::respond(const std::shared_ptr<Relay>& relay, const Request& request,
                                const ProxyOptions& options, const Via& via) {
    ClientConnection& connection = *relay->lease_;
    WEFT_ASSERT(connection.has_head(), "ask() has not succeeded");
    const wire::ResponseHead& head = connection.head();
    Nanoseconds idle = is_event_stream(head.headers) ? Nanoseconds::max() : options.timeouts.idle;
    // Before anything can fail: the state of its body decides whether the connection can be reused.
    connection.begin_body(
        {.bytes_max = options.limits.body_bytes, .idle = idle, .chunked = options.limits.chunked},
        Deadline::never());
    bool is_stream = head.status == 101 || is_event_stream(head.headers);
    if (is_stream && !relay->pass_.become_stream())
        return Error::limit("there are more streams than", options.streams_per_upstream,
                            "ProxyOptions::streams_per_upstream");
    Response response;
    response.status = head.status;
    response.headers = WEFT_TRY(fields_for_client(head, via));
    // The fields need the relay too: a middleware may replace the body, which also holds it.
    response.headers.hold(relay);
    if (head.status == 101) {
        response.upgrade = [relay, idle = options.tunnel_idle](Upgraded& client) {
            relay->tunnel(client, idle);
        };
        return response;
    }
    if (relay->upload_) response.afterwards = [relay] { relay->finish_upload(); };
    if (auto whole = connection.body.take_whole()) {
        response.body = Body::shared(relay, *whole);
        return response;
    }
    std::optional<std::uint64_t> size = connection.body.size();
    if (request.method() == "HEAD" || head.status == 304) size = said_length(head.headers);
    response.body =
        Body::produced([relay](BodyWriter& writer) { return relay->stream(writer); }, size);
    return response;
}

Result<void> Relay::stream(BodyWriter& writer) {
    start_rest_of_upload();
    Result<void> passed = is_event_stream(lease_->head().headers) ? forward_until_drain(writer)
                                                                  : forward_body(writer);
    if (!passed) fibers_.reset();
    return passed;
}

// An event stream has no end of its own, so a drain ends it. The client connects again, perhaps to
// another proxy.
Result<void> Relay::forward_until_drain(BodyWriter& writer) {
    DrainScope scope(writer.drain());
    Result<void> passed = forward_body(writer);
    if (scope.has_begun()) return {};
    return passed;
}

Result<void> Relay::forward_body(BodyWriter& writer) {
    IncomingBody& body = lease_->body;
    if (ahead_bytes_max_ > 0) writer.set_before_wait([this] { read_ahead(); });
    Space space;
    bool is_last = false;
    while (!is_last && !ahead_) {
        std::optional<Result<std::size_t>> read = body.read_buffered(space);
        if (!read) {
            // Send what has arrived before waiting for more.
            WEFT_TRY(writer.flush());
            if (ahead_) break;
            read = body.read(space);
        }
        std::size_t count = WEFT_TRY(*read);
        is_last = count == 0 || body.is_finished();
        if (is_last) finish_reading();
        WEFT_TRY(writer.write(Bytes(space).first(count)));
    }
    if (ahead_) WEFT_TRY(forward_read_ahead(writer));
    for (const Headers::Field& field : trailers_) writer.trailers().add(field.name, field.value);
    return {};
}

// The whole response has been read: gives the connection back, unless the upload still uses it.
void Relay::finish_reading() {
    WEFT_ASSERT(lease_->body.is_finished(), "the rest would be taken for the next response");
    if (!lease_->body.trailers().empty()) trailers_ = lease_->body.trailers().copy();
    if (upload_) return;
    Origin::give_back(std::move(lease_));
    pass_.release();
}

// Called when the client is slow: starts a fiber that reads the response ahead, up to the limit.
void Relay::read_ahead() {
    if (!lease_ || lease_->body.is_finished() || ahead_) return;
    WEFT_ASSERT(ahead_bytes_max_ > 0, "nothing may be read ahead");
    ahead_ = std::make_unique<Ahead>(std::max<std::size_t>(ahead_bytes_max_ / kReadBufferBytes, 1));
    if (!fibers_) fibers_.emplace();
    auto end = [this] { ahead_->pieces.close(); };
    Result<void> started = fibers_->go(
        "proxy read ahead", [this, on_end = OnEnd(end)] { ahead_->outcome = read_pieces(); });
    if (!started) ahead_.reset();
}

Result<void> Relay::read_pieces() {
    IncomingBody& body = lease_->body;
    for (bool is_last = false; !is_last;) {
        std::string piece(kReadBufferBytes, '\0');
        std::size_t count = WEFT_TRY(body.read(std::as_writable_bytes(std::span(piece))));
        WEFT_DASSERT(count <= piece.size(), "a read fills its space at most");
        is_last = count == 0 || body.is_finished();
        if (is_last) finish_reading();
        piece.resize(count);
        if (count > 0) WEFT_TRY(ahead_->pieces.send(std::move(piece)));
    }
    return {};
}

Result<void> Relay::forward_read_ahead(BodyWriter& writer) {
    for (;;) {
        Result<std::string> piece = ahead_->pieces.try_receive();
        if (!piece && piece.error().kind() != ErrorKind::Closed) {
            WEFT_TRY(writer.flush());
            piece = ahead_->pieces.receive();
        }
        if (piece) {
            WEFT_TRY(writer.write(*piece));
            continue;
        }
        return piece.error().kind() == ErrorKind::Closed ? ahead_->outcome : piece.error();
    }
}

// ---------------------------------------------------------------- uploads after an early answer

// Sends the rest of the upload on a fiber of its own, because either side may depend on the other:
// the client may wait for the response before it sends more, and the upstream for more of the
// request before it goes on with the response.
void Relay::start_rest_of_upload() {
    if (!upload_ || upload_ended_) return;
    upload_ended_.emplace();
    if (!fibers_) fibers_.emplace();
    auto end = [this] {
        // The client's fault, or a lack of memory. Closing tells the upstream that the request is
        // incomplete, and ends the reading of the response.
        if (!upload_->is_whole() && !upload_->has_failed()) lease_->stream().close();
        upload_ended_->cancel();
    };
    Result<void> started = fibers_->go("proxy upload", [this, on_end = OnEnd(end)] {
        static_cast<void>(upload_->send_interrupted());
    });
    if (!started) upload_.reset();
}

// Called after the response: waits until the upload has ended, or the upstream closes.
void Relay::finish_upload() {
    start_rest_of_upload();
    if (!upload_) return;
    WEFT_ASSERT(lease_ && upload_ended_, "finish_reading() leaves the connection to the upload");
    bool was_silent = false;
    {
        CancelScope scope(upload_ended_->token());
        std::byte unasked;
        was_silent = !lease_->stream().read(ByteSpace(&unasked, 1));
    }
    fibers_.reset();
    bool is_whole = upload_->is_whole();
    upload_.reset();
    if (was_silent && is_whole) return Origin::give_back(std::move(lease_));
    lease_.reset();
}

// Relays bytes both ways until both sides have ended, or one fails. A tunnel has no end of its own,
// so a drain ends it: both peers of a WebSocket are sent a Close, unless that would split a frame.
// The client connects again, perhaps to another proxy.
void Relay::tunnel(Upgraded& client, Nanoseconds idle) {
    WEFT_ASSERT(!upload_, "ask() refuses an upgrade before the end of the body");
    WEFT_ASSERT(lease_->head().status == 101, "the server has not changed the protocol");
    Direction to_upstream{client.stream, lease_->stream()};
    Direction to_client{lease_->stream(), client.stream};
    auto close_both = [&] {
        client.stream.close();
        to_client.from.close();
    };
    bool drains = false;
    {
        DrainScope scope(client.drain);
        async::Group group;
        auto relaying = [&](Direction& way, Bytes early) {
            auto end = [&] {
                if (!way.outcome && !scope.has_begun()) close_both();
            };
            return
                [&, early, on_end = OnEnd(end)] { way.outcome = copy_until_end(way, early, idle); };
        };
        Result<void> started = group.go(relaying(to_upstream, client.early));
        if (started) started = group.go(relaying(to_client, as_bytes(lease_->buffer.view())));
        if (!started) close_both();
        static_cast<void>(group.wait());
        drains = scope.has_begun();
    }
    if (!drains || (to_upstream.outcome && to_client.outcome)) return;
    bool is_websocket = lease_->head().headers.has_token("upgrade", "websocket");
    Deadline deadline = Deadline::after(kCloseTime);
    end_sending(to_client, is_websocket ? kCloseOfServer : "", deadline);
    end_sending(to_upstream, is_websocket ? kCloseOfClient : "", deadline);
    await_end(client.stream, deadline);
    await_end(to_client.from, deadline);
    close_both();
}

}  // namespace weft::http
