// EventStream: server-sent events for one client, written by a handler.
//
//     Result<Response> handler(Request&, async::Context&) {
//         return event_stream([](EventStream& stream) -> Result<void> {
//             for (int i = 1; i <= 3; ++i) WEFT_TRY(stream.send({.data = std::to_string(i)}));
//             return {};                        // the client asks again, unless it has enough
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

    // It is on its way when this returns. Misuse for what cannot be read back (see wire/sse.h),
    // which leaves the stream as it was; any other error means that the client is gone.
    Result<void> send(const OutgoingEvent& event);
    // No event, but it shows whether the client is still there, and keeps proxies from closing.
    Result<void> comment(std::string_view text = {});

private:
    BodyWriter& writer_;
};

// Never cached, never held back by proxies. The function runs on the fiber of the connection after
// the head was sent; its waits end when the client goes away, and when the server drains: then the
// stream ends as if the function had returned nothing but success.
Response event_stream(std::move_only_function<Result<void>(EventStream&)> write);
// The same for who formats the events by other means.
Response event_stream_response(Body::Producer producer);

}  // namespace weft::http
