// Response and Handler: what a handler gives back, and what a handler is.
//
//     Response hello(Request& request, async::Context&) {
//         return Response::text("hello, " + std::string(request.path()));
//     }
//
// The server adds Date, Content-Length or Transfer-Encoding, and Connection; a handler that sets
// one of the last three itself gets 500. For HEAD the body is left out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "weft/async/context.h"
#include "weft/base/function.h"
#include "weft/base/result.h"
#include "weft/http/body.h"
#include "weft/http/headers.h"
#include "weft/net/stream.h"

namespace weft::http {

class Request;

// After 101, or 2xx to CONNECT: the connection belongs to the function, until it returns.
struct Upgraded {
    net::Stream& stream;
    Bytes early;             // what the client has already sent behind its request
    CancelToken drain = {};  // cancelled when the server drains
};
using Upgrade = std::move_only_function<void(Upgraded& connection)>;

struct Response {
    std::uint16_t status = 200;
    Headers headers;
    Body body;
    Upgrade upgrade;
    // Called when the response has been sent, by the fiber of the connection, which then goes on to
    // the next request: what is still to be read of this one's body can be read.
    std::move_only_function<void()> afterwards;

    static Response text(std::string text, std::uint16_t status = 200);
    static Response html(std::string text, std::uint16_t status = 200);
    static Response json(std::string text, std::uint16_t status = 200);
    // Without a body of its own: the reason phrase as text, where the status allows a body.
    static Response plain(std::uint16_t status);
    static Response redirect(std::string_view location, std::uint16_t status = 302);
    static Response stream(std::string_view content_type, Body::Producer producer);

    // For chains: Response::text("...").with("cache-control", "no-store")
    Response&& with(std::string_view name, std::string_view value) && {
        headers.set(name, value);
        return std::move(*this);
    }
};

// Called on the fiber of the connection; it may wait. The context ends when the client goes away,
// the server is shut down or the time for the request is over, and is the ambient one, so waits
// honour it unasked. An error becomes 500, or the status that a failed read of the body deserves.
// One handler is called by many fibers at once.
using Handler = std::function<Result<Response>(Request&, async::Context&)>;

// Wraps a handler in something that happens before and after: a plain function.
using Middleware = std::function<Handler(Handler)>;

}  // namespace weft::http
