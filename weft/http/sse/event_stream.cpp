#include "weft/http/sse/event_stream.h"

#include <string>
#include <utility>

#include "weft/http/internal/drain_scope.h"

namespace weft::http {

Result<void> EventStream::send(const OutgoingEvent& event) {
    std::string text = WEFT_TRY(wire::format_event(event));
    WEFT_TRY(writer_.write(text));
    return writer_.flush();
}

Result<void> EventStream::comment(std::string_view text) {
    WEFT_TRY(writer_.write(wire::format_comment(text)));
    return writer_.flush();
}

Response event_stream(std::move_only_function<Result<void>(EventStream&)> write) {
    auto producer = [write = std::move(write)](BodyWriter& writer) mutable -> Result<void> {
        WEFT_TRY(writer.flush());  // the client learns that it is connected
        EventStream stream(writer);
        return write(stream);
    };
    return event_stream_response(std::move(producer));
}

Response event_stream_response(Body::Producer producer) {
    auto until_drain = [producer =
                            std::move(producer)](BodyWriter& writer) mutable -> Result<void> {
        DrainScope scope(writer.drain());
        Result<void> outcome = producer(writer);
        // A drain ends the stream properly; the client connects again, perhaps to another server.
        if (scope.has_begun()) return {};
        return outcome;
    };
    return Response::stream("text/event-stream", std::move(until_drain))
        .with("cache-control", "no-store")
        .with("x-accel-buffering", "no");  // tells nginx and similar proxies not to buffer
}

}  // namespace weft::http
