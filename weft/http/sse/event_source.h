// EventSource: receives server-sent events, and connects again when the stream ends.
//
//     http::Client client;
//     http::EventSource source(client, WEFT_TRY(http::Url::parse("http://example.org/news")));
//     for (;;) {
//         auto event = WEFT_TRY(source.next());
//         use(event.type, event.data);
//     }
//
// It behaves as browsers do (https://html.spec.whatwg.org/multipage/server-sent-events.html). A
// stream that ends or cannot be reached is requested again after a delay, with the id of the last
// event, so that a server which keeps its events can send those that were missed. 204 means that
// there will be no more events. Any status other than 200, and any type other than
// text/event-stream, is final as well. Redirects are followed as the client's options say.
//
// The delay between two attempts is the one that the server has set. It doubles with each attempt
// that fails, up to a limit. A random addition keeps many clients from connecting all at once.
//
// Owned by one fiber at a time. The client outlives it. The destructor closes the connection.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "weft/base/bytes.h"
#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/http/client/client.h"
#include "weft/http/headers.h"
#include "weft/http/wire/sse.h"

namespace weft::http {

struct EventSourceOptions {
    Headers headers = {};                                       // sent with each request
    std::string last_event_id = {};                             // to resume from; empty: none
    std::chrono::milliseconds retry = std::chrono::seconds(2);  // until the server sets another
    Nanoseconds retry_max = std::chrono::seconds(60);           // to which the delay may double
    // A stream that is silent for this long is closed; servers send comments to prevent that.
    Nanoseconds idle = std::chrono::seconds(60);
    std::size_t event_bytes_max = wire::EventStreamParser::kEventBytesMax;
};

class EventSource {
public:
    struct Event {
        std::string type;  // "message" unless the server sets another
        std::string data;
        std::string last_event_id;
    };

    EventSource(Client& client, Url url, EventSourceOptions options = {});
    EventSource(const EventSource&) = delete;
    EventSource& operator=(const EventSource&) = delete;
    ~EventSource();

    // The next event; connects if no stream is open. TimedOut at the deadline, Cancelled with the
    // context: nothing of an open stream is lost, and it can be called again. Every other error is
    // final, and returned by every further call: Closed after 204, Refused for a response that is
    // no event stream, Limit for an event or a number of redirects beyond the limit, Misuse for
    // headers that cannot be sent.
    Result<Event> next(Deadline deadline = Deadline::never());

    std::string_view last_event_id() const { return last_event_id_; }
    // Whether a stream is open now, so that events arrive as they are published.
    bool is_open() const { return response_.has_value(); }

private:
    enum class WasOpen : bool { No, Yes };

    Result<Event> wait_for_event();
    Result<std::optional<Event>> parse();
    Result<void> connect();
    Result<void> open();
    Result<void> read();
    Result<void> retry_later(const Error& why, WasOpen was_open);
    Nanoseconds delay() const;

    Client& client_;
    const Url url_;
    const EventSourceOptions options_;
    std::string last_event_id_;
    std::chrono::milliseconds retry_;
    Deadline connect_after_ = Deadline::at(Instant::min());  // when the next attempt is due
    unsigned failures_ = 0;                                  // failed attempts in a row
    std::optional<Error> final_;                             // what next() returns from now on

    // The open stream, if there is one.
    std::optional<ClientResponse> response_;
    std::optional<wire::EventStreamParser> parser_;
    std::unique_ptr<std::byte[]> buffer_;
    Bytes unread_;  // in buffer_
};

}  // namespace weft::http
