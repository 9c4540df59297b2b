// EventStream: writes server-sent events for one client, in a handler.
//
//     Result<Response> handler(Request&, async::Context&) {
//         return event_stream([](EventStream& stream) -> Result<void> {
//             for (int i = 1; i <= 3; ++i) WEFT_TRY(stream.send({.data = std::to_string(i)}));
//             return {};                        // a client that wants more connects again
//         });
//     }
//
// For the same events to many clients see broadcaster.h. Owned by the fiber that writes it.
#pragma once

#include <string_view>

#include "weft/base/function.h"
#include "weft/base/result.h"
#include "weft/http/body.h"
#include "weft/http/response.h"
#include "weft/http/wire/sse.h"

namespace weft::http {

using wire::OutgoingEvent;

class EventStream {
public:
    explicit EventStream(BodyWriter& writer) : writer_(writer) {}

    // Sends the event; nothing is held back when this returns. Misuse for an event that could not
    // be read back (see wire/sse.h), which leaves the stream as it was; any other error means that
    // the client has gone.
    Result<void> send(const OutgoingEvent& event);
    // Sends a comment, which is no event. It shows whether the client is still there, and keeps
    // proxies from closing an idle stream.
    Result<void> comment(std::string_view text = {});

private:
    BodyWriter& writer_;
};

// A response that is not cached, and not buffered by proxies. `write` runs on the fiber of the
// connection after the head was sent. Its waits end when the client goes away, and when the server
// drains; after a drain the stream ends properly, whatever `write` returns.
Response event_stream(std::move_only_function<Result<void>(EventStream&)> write);
// The same for a producer that formats the events itself.
Response event_stream_response(Body::Producer producer);

}  // namespace weft::http
