#include "weft/http/server/internal/thread_connection.h"

#include <string>
#include <utility>

#include "weft/base/log.h"
#include "weft/http/request.h"
#include "weft/http/response.h"
#include "weft/http/server/internal/failure.h"
#include "weft/http/server/internal/response_writer.h"

namespace weft::http {
namespace {

bool can_be_sent(const Response& response) {
    const Headers& headers = response.headers;
    return headers.is_valid() && !headers.has("content-length") &&
           !headers.has("transfer-encoding") && !headers.has("connection") && !response.upgrade &&
           response.status >= 200 && response.status <= 599;
}

}  // namespace

void ThreadConnection::serve() {
    while (read_head() && answer()) {}
    static_cast<void>(send_output(stream_, exchange_.output, options_.limits.write_time));
}

// False: there will be none.
bool ThreadConnection::read_head() {
    const ServerLimits& limits = options_.limits;
    ReadBuffer& buffer = exchange_.buffer;
    Deadline deadline = Deadline::after(limits.idle);
    bool has_begun = false;
    for (;;) {
        if (!buffer.empty()) {
            wire::Progress progress = exchange_.parser.parse(buffer.view());
            if (progress == wire::Progress::Done) return true;
            if (progress == wire::Progress::Failed) {
                wire::ParseError error = exchange_.parser.error();
                refuse(error.status, error.text());
                return false;
            }
            if (!std::exchange(has_begun, true)) deadline = Deadline::after(limits.header_time);
        }
        // Whoever waits for the response gets it before we wait for more.
        if (!send_output(stream_, exchange_.output, limits.write_time)) return false;
        ByteSpace space = buffer.space();
        if (space.empty()) return false;
        Result<std::size_t> count = stream_.read(space, deadline);
        if (!count && count.error().kind() == ErrorKind::TimedOut && has_begun) {
            refuse(408, "the head of the request took too long");
        }
        if (!count || *count == 0) return false;
        buffer.filled(*count);
    }
}

// False: the connection ends with this response.
bool ThreadConnection::answer() {
    const ServerLimits& limits = options_.limits;
    Instant begun = Clock::now();
    wire::RequestHead& head = exchange_.parser.head();
    exchange_.buffer.consume(exchange_.parser.consumed());
    exchange_.buffer.hold();
    IncomingBody& body = exchange_.body;
    body.begin(stream_, exchange_.buffer, head.framing, head.length,
               {.bytes_max = limits.body_bytes,
                .idle = limits.body_idle,
                .grace = limits.body_grace,
                .bytes_per_second = limits.body_bytes_per_second,
                .chunked = limits.chunked});
    if (head.expects_continue && !body.is_finished()) {
        body.set_before_wait([this]() -> Result<void> {
            exchange_.output.append("HTTP/1.1 100 Continue\r\n\r\n");
            return send_output(stream_, exchange_.output, options_.limits.write_time);
        });
    }
    Request request({head, exchange_.parser.target(), body, peer_, stream_.tls()});
    Response response = call_handler(request);
    bool keeps = head.keep_alive && body.can_be_dropped(limits.linger_bytes) &&
                 ++requests_ < limits.requests_per_connection;
    ResponseWriter writer(stream_, exchange_, limits);
    Result<void> written = writer.write_response(response, {.head_only = head.method == "HEAD",
                                                            .keep_alive = keeps,
                                                            .version = head.version,
                                                            .server_name = options_.server_name});
    report({.request = &request,
            .peer = peer_,
            .status = response.status,
            .body_bytes = writer.body_bytes(),
            .duration = Clock::now() - begun,
            .complete = written.has_value()});
    if (!written) return false;
    if (!writer.keep_alive()) {
        // Who does not know yet that this was the last response may have sent the next request.
        if (!body.is_finished() || !exchange_.buffer.empty() || head.keep_alive) linger();
        return false;
    }
    if (!body.is_finished()) {
        if (!send_output(stream_, exchange_.output, limits.write_time)) return false;
        if (!body.drop_rest(limits.linger_bytes, Deadline::after(limits.linger_time))) {
            linger();
            return false;
        }
    }
    exchange_.buffer.let_go();
    exchange_.parser.reset();
    return true;
}

Response ThreadConnection::call_handler(Request& request) {
    auto transport = stream_.tls() ? wire::Transport::Secured : wire::Transport::Plain;
    if (wire::is_misdirected(exchange_.parser.target(), transport)) return Response::plain(421);
    async::Context context = async::Context::current();
    Result<Response> outcome = Error(ErrorKind::Other);
    try {
        outcome = handler_(request, context);
    } catch (...) {  // user code: what it throws is its error
        outcome = Error::from_current_exception();
    }
    if (outcome && is_false_tunnel(request.method(), *outcome)) return Response::plain(501);
    if (outcome && can_be_sent(*outcome)) return std::move(*outcome);
    const IncomingBody& body = exchange_.body;
    if (body.has_failed() && body.failure_status() != 0) {
        return Response::plain(body.failure_status());
    }
    if (context.is_done()) return Response::plain(503);
    return failure_response(
        request, outcome ? "the response cannot be sent" : outcome.error().message(), log_limit_);
}

void ThreadConnection::refuse(std::uint16_t status, std::string_view reason) {
    Response response = Response::text(std::string(reason) + "\n", status);
    ResponseWriter writer(stream_, exchange_, options_.limits);
    Result<void> written =
        writer.write_response(response, {.head_only = exchange_.buffer.view().starts_with("HEAD "),
                                         .keep_alive = false,
                                         .server_name = options_.server_name});
    report({.request = nullptr,
            .peer = peer_,
            .status = status,
            .body_bytes = writer.body_bytes(),
            .duration = {},
            .complete = written.has_value()});
    if (written) linger();
}

void ThreadConnection::report(const AccessRecord& record) {
    if (!options_.on_access) return;
    try {
        options_.on_access(record);
    } catch (...) {  // user code
        log(LogLevel::Error, "http: the access log failed: {}",
            Error::from_current_exception().message());
    }
}

// To close with unread bytes would send a reset, and the client might lose the response to it.
void ThreadConnection::linger() {
    const ServerLimits& limits = options_.limits;
    if (!send_output(stream_, exchange_.output, limits.write_time)) return;
    Deadline deadline = Deadline::after(limits.linger_time);
    if (!stream_.shutdown_write(deadline)) return;
    exchange_.buffer.clear();
    for (std::uint64_t dropped = 0; dropped < limits.linger_bytes;) {
        ByteSpace space = exchange_.buffer.space();
        if (space.empty()) return;
        Result<std::size_t> count = stream_.read(space, deadline);
        if (!count || *count == 0) return;
        dropped += *count;
    }
}

}  // namespace weft::http
