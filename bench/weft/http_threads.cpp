#include "bench/weft/http_threads.h"

#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "weft/async/context.h"
#include "weft/base/env.h"
#include "weft/http/request.h"
#include "weft/http/wire/date.h"
#include "weft/http/wire/format.h"
#include "weft/http/wire/head.h"

namespace http = weft::http;
namespace net = weft::net;
namespace wire = weft::http::wire;

namespace bench {
namespace {

// How long an idle thread cannot be told to end; a busy one is told between two requests.
constexpr std::chrono::milliseconds kSlice{50};
constexpr std::size_t kReadBytes = 16 * 1024;

// The body of a request that has none.
class NoBody final : public http::BodyReader {
public:
    weft::Result<std::size_t> read(weft::ByteSpace) override { return 0; }
    std::optional<std::uint64_t> size() const override { return 0; }
    const http::Headers& trailers() const override { return trailers_; }

private:
    http::Headers trailers_;
};

http::Response call(const http::Handler& handler, wire::RequestParser& parser,
                    const net::Address& peer) {
    if (parser.head().framing != wire::Framing::None) return http::Response::plain(501);
    NoBody body;
    http::Request request({parser.head(), parser.target(), body, peer, nullptr});
    weft::async::Context context = weft::async::Context::current();
    weft::Result<http::Response> response = handler(request, context);
    if (!response) return http::Response::plain(500);
    if (response->upgrade || !response->body.size()) return http::Response::plain(501);
    return std::move(*response);
}

void append_head(std::string& output, const http::Response& response, bool keeps) {
    wire::append_status_line(output, response.status);
    wire::append_fields(output, response.headers);
    wire::append_field(output, "Date",
                       wire::format_date(weft::env::wall_ns() / 1'000'000'000).view());
    wire::append_field(output, "Content-Length", response.body.size().value_or(0));
    if (!keeps) wire::append_field(output, "Connection", "close");
    output.append(wire::kHeadEnd);
}

weft::Result<void> send(net::Socket& socket, std::string& output) {
    const weft::Result<void> sent = socket.write_all(weft::as_bytes(output));
    output.clear();
    return sent;
}

// False: the connection ends with it.
weft::Result<bool> answer(net::Socket& socket, const http::Handler& handler,
                          wire::RequestParser& parser, const net::Address& peer,
                          std::string& output) {
    const bool keeps = parser.head().keep_alive && parser.head().framing == wire::Framing::None;
    const bool head_only = parser.head().method == "HEAD";
    http::Response response = call(handler, parser, peer);
    append_head(output, response, keeps);
    if (head_only) return keeps;
    if (const auto text = response.body.text()) {
        output.append(*text);
    } else if (const auto* part = response.body.as_file()) {
        WEFT_TRY(send(socket, output));
        WEFT_TRY(socket.send_file(part->file->fd(), part->offset, part->count));
    }
    return keeps;
}

weft::Result<void> converse(net::Socket& socket, const http::Handler& handler) {
    const net::Address peer = socket.peer_address();
    wire::RequestParser parser;
    std::string received;
    std::string output;
    std::array<std::byte, kReadBytes> space;
    for (std::size_t used = 0;;) {
        const std::string_view rest = std::string_view(received).substr(used);
        const auto progress = rest.empty() ? wire::Progress::NeedMore : parser.parse(rest);
        if (progress == wire::Progress::Failed) return weft::ErrorKind::Other;
        if (progress == wire::Progress::Done) {
            const bool keeps = WEFT_TRY(answer(socket, handler, parser, peer, output));
            if (!keeps) return send(socket, output);
            used += parser.consumed();
            parser.reset();
            continue;
        }
        // All that came together was answered.
        if (!output.empty()) WEFT_TRY(send(socket, output));
        received.erase(0, std::exchange(used, 0));
        const std::size_t count = WEFT_TRY(socket.read(space));
        if (count == 0) return {};
        received.append(weft::as_text(weft::Bytes(space).first(count)));
    }
}

}  // namespace

weft::Result<net::Address> HttpThreads::listen(const net::Address& address) {
    listener_ = WEFT_TRY(net::Listener::open(address));
    return listener_->address();
}

weft::Result<void> HttpThreads::serve() {
    const weft::CancelScope ambient(source_.token());
    for (;;) {
        weft::Result<net::Socket> socket = listener_->accept();
        if (!socket) {
            source_.cancel();
            threads_.clear();
            if (socket.error().kind() == weft::ErrorKind::Cancelled) return {};
            return socket.error();
        }
        threads_.emplace_back([this, connection = std::move(*socket)]() mutable {
            serve_one(std::move(connection));
        });
    }
}

// A client that goes away, or asks for nonsense, is no business of the others.
void HttpThreads::serve_one(net::Socket socket) const {
    const weft::CancelScope ambient(source_.token());
    if (!socket.wait_in_kernel(kSlice)) return;
    static_cast<void>(converse(socket, handler_));
}

}  // namespace bench
