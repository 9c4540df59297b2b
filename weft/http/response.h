// Response: what a handler returns. Handler and Middleware: the types of such functions.
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

// For a 101, or a 2xx to CONNECT: the connection is the function's until it returns, and is closed
// then.
struct Upgraded {
    net::Stream& stream;
    Bytes early;             // what the client has sent behind its request by now
    CancelToken drain = {};  // cancelled when the server drains
};
using Upgrade = std::move_only_function<void(Upgraded& connection)>;

struct Response {
    std::uint16_t status = 200;
    Headers headers;
    Body body;
    Upgrade upgrade;
    // Called by the fiber of the connection when the response has been sent, and before the next
    // request is read: what is left of this request's body can be read in it.
    std::move_only_function<void()> afterwards;

    static Response text(std::string text, std::uint16_t status = 200);
    static Response html(std::string text, std::uint16_t status = 200);
    static Response json(std::string text, std::uint16_t status = 200);
    // The body is the reason phrase, where the status allows a body.
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
// the server is shut down or the time for the request is over. It is the ambient context, so waits
// honour it unasked. An error is answered with 500, or with the status for a body that could not be
// read.
// One handler is called by many fibers at once.
using Handler = std::function<Result<Response>(Request&, async::Context&)>;

// A function that wraps a handler in one that does something before and after it.
using Middleware = std::function<Handler(Handler)>;

}  // namespace weft::http
