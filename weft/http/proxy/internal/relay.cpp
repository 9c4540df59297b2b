#include "weft/http/proxy/internal/relay.h"

#include <array>
#include <charconv>
#include <utility>

#include "weft/async/group.h"
#include "weft/fiber/cancel.h"
#include "weft/http/client/internal/ear.h"
#include "weft/http/client/internal/phase.h"
#include "weft/http/limits.h"
#include "weft/http/proxy/internal/forwarding.h"

namespace weft::http {
namespace {

using Space = std::array<std::byte, kReadBufferBytes>;

// What a response to HEAD, or 304, says about the content that it does not have.
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

// One direction of an upgraded connection, until its end; the other side is told.
Result<void> pump(net::Stream& from, net::Stream& to, Bytes early, Nanoseconds idle) {
    if (!early.empty()) WEFT_TRY(to.write_all(early, Deadline::after(idle)));
    Space space;
    for (;;) {
        std::size_t count = WEFT_TRY(from.read(space, Deadline::after(idle)));
        if (count == 0) return to.shutdown_write(Deadline::after(idle));
        WEFT_TRY(to.write_all(Bytes(space).first(count), Deadline::after(idle)));
    }
}

}  // namespace

Relay::Relay(Upstream& upstream, Lease lease) : upstream_(upstream), lease_(std::move(lease)) {
    upstream_.begin();
}

Relay::~Relay() {
    if (lease_ && lease_->has_stream() && lease_->has_head() && lease_->body.drop_buffered())
        Origin::give_back(std::move(lease_));
    upstream_.end();
}

// ---------------------------------------------------------------- the request

std::optional<Relay::Failure> Relay::ask(Request& request, const ProxyOptions& options) {
    ClientConnection& connection = *lease_;
    connection.begin(request.method(), passes_upgrade(request));
    std::optional<std::uint64_t> size = request.body().size();
    bool has_body = size != 0;
    if (auto composed = append_request(connection.output, request, upstream_.authority(), options,
                                       has_body, size);
        !composed)
        return Failure{.error = composed.error(), .is_clients = true};
    RequestWriter writer(connection, {options.timeouts.idle, {}});
    Result<void> outcome;
    if (has_body) {
        writer.begin(size);
        outcome = send_body(request, writer);
    } else {
        outcome = writer.send_head();
    }
    if (!outcome && !writer.was_answered() && !writer.has_failed())
        return Failure{.error = outcome.error(), .is_clients = true};
    if (outcome || writer.was_answered())
        outcome = connection.receive_head(Deadline::after(options.timeouts.head));
    // What the client still sends would be the rest of its body, not of the new protocol.
    if (outcome && writer.was_answered() && connection.head().status == 101)
        return Failure{.error = Error(ErrorKind::Other, "it changes protocols too early")};
    if (outcome) return std::nullopt;
    bool untouched = !has_body && !connection.has_received();
    return Failure{
        .error = in_phase(
            outcome.error(),
            {"read the head of the response", options.timeouts.head, "ClientTimeouts::head"}, {}),
        .may_repeat = untouched && is_idempotent(request.method()),
        .was_kept = connection.is_reused};
}

// The body as it comes, until its end or until the upstream answers.
Result<void> Relay::send_body(Request& request, RequestWriter& writer) {
    ClientConnection& connection = *lease_;
    BodyReader& body = request.body();
    Space space;
    std::optional<Ear> ear;
    std::uint64_t sent = 0;
    for (;;) {
        // Unless it is read: never taken for the end, which would make a whole request of a part.
        Result<std::size_t> count = ErrorKind::Cancelled;
        if (sent == 0) {
            // Nothing has been sent: the upstream has nothing to say, and both leave together.
            count = body.read(space);
        } else {
            if (!ear) ear.emplace(connection.stream().descriptor(), CancelToken::current());
            bool listens = ear->listen();
            if (listens) {
                CancelScope scope(ear->token());
                count = body.read(space);
            }
            ear->stop();
            bool heard = !listens || (!count && ear->has_heard());
            if (heard && CancelToken::current().check()) {
                bool answered = WEFT_TRY(writer.look_for_answer());
                if (answered) return ErrorKind::Closed;
                ear.reset();
                continue;
            }
        }
        if (!count) return count.error();
        if (*count == 0) break;
        sent += *count;
        WEFT_TRY(writer.write(Bytes(space).first(*count)));
        if (body.size() == sent) break;
        WEFT_TRY(writer.flush());
    }
    for (const Headers::Field& field : body.trailers())
        writer.trailers().add_borrowed(field.name, field.value);
    return writer.end();
}

// ---------------------------------------------------------------- the response

Result<Response> Relay::respond(const std::shared_ptr<Relay>& relay, const Request& request,
                                const ProxyOptions& options, const Via& via) {
    ClientConnection& connection = *relay->lease_;
    const wire::ResponseHead& head = connection.head();
    Nanoseconds idle = is_event_stream(head.headers) ? Nanoseconds::max() : options.timeouts.idle;
    // Before anything can fail: by its body a connection knows whether it can be used again.
    connection.begin_body(
        {.bytes_max = options.limits.body_bytes, .idle = idle, .chunked = options.limits.chunked},
        Deadline::never());
    Response response;
    response.status = head.status;
    response.headers = WEFT_TRY(fields_for_client(head, via));
    // They outlive the body where somebody puts another one in its place.
    response.headers.hold(relay);
    if (head.status == 101) {
        response.upgrade = [relay, idle = options.tunnel_idle](Upgraded& client) {
            relay->tunnel(client, idle);
        };
        return response;
    }
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
    ClientConnection& connection = *lease_;
    Space space;
    for (;;) {
        // What has come leaves before we wait for more.
        connection.body.set_before_wait([&writer] { return writer.flush(); });
        std::size_t count = WEFT_TRY(connection.body.read(space));
        if (count == 0) break;
        WEFT_TRY(writer.write(Bytes(space).first(count)));
        if (connection.body.is_finished()) break;
    }
    for (const Headers::Field& field : connection.body.trailers())
        writer.trailers().add(field.name, field.value);
    Origin::give_back(std::move(lease_));
    return {};
}

void Relay::tunnel(Upgraded& client, Nanoseconds idle) {
    net::Stream& upstream = lease_->stream();
    auto both_end_with = [&](auto&& direction) {
        return [&, direction]() {
            Result<void> outcome = direction();
            if (outcome) return;
            client.stream.close();
            upstream.close();
        };
    };
    Bytes early = as_bytes(lease_->buffer.view());
    async::Group group;
    Result<void> there =
        group.go(both_end_with([&] { return pump(client.stream, upstream, client.early, idle); }));
    Result<void> back =
        group.go(both_end_with([&] { return pump(upstream, client.stream, early, idle); }));
    if (!there || !back) {
        client.stream.close();
        upstream.close();
    }
    static_cast<void>(group.wait());
}

}  // namespace weft::http
