// Broadcaster: sends the same server-sent events to many clients.
//
//     http::Broadcaster news;
//     router.get("/news", [&](Request& request, async::Context&) {
//         return news.subscribe(request);
//     });
//     ...
//     news.publish({.type = "headline", .data = text});       // from any fiber or thread
//
// The last events are kept in one ring, and each subscriber has only a position in it: an event is
// formatted once and shared by all. A subscriber that falls behind the oldest event in the ring is
// dropped: its stream is cut off, at the latest when the server's write_time has passed. So memory
// does not grow with the number of slow clients.
//
// Every event gets an id. A client that connects again names the last id that it has seen, and is
// first sent the events that it has missed. If that event is no longer in the ring, or was sent
// before the server was restarted, the client is sent everything in the ring. A new client gets
// only events that are published after it has subscribed.
//
// The streams end when their server drains, or by close().
//
// After each silence of `heartbeat` a comment is sent, which reveals clients that have gone without
// closing their connections.
//
// publish(): any fiber or plain thread; it may briefly wait for another publish(), never for a
// subscriber. subscribe(): a handler. close() and counters(): any thread; they do not wait. The
// streams may outlive this object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/http/response.h"
#include "weft/http/sse/event_stream.h"

namespace weft::http {

class EventRing;
class Request;

struct BroadcasterOptions {
    // How much the ring keeps, for clients that connect again and for slow subscribers.
    std::size_t events_max = 256;  // at least 1
    std::size_t bytes_max = 256 * 1024;
    Nanoseconds heartbeat = std::chrono::seconds(15);  // a comment is sent after such a silence
    // How long clients shall wait before they connect again; nothing: the client decides.
    std::optional<std::chrono::milliseconds> retry = {};
};

struct BroadcasterCounters {
    std::uint64_t published = 0;
    std::size_t subscribers = 0;  // now
    std::uint64_t dropped = 0;    // subscribers that were too slow for the ring or for write_time
};

class Broadcaster {
public:
    explicit Broadcaster(const BroadcasterOptions& options = {});
    ~Broadcaster();  // closes
    Broadcaster(const Broadcaster&) = delete;
    Broadcaster& operator=(const Broadcaster&) = delete;

    // Misuse for an event with an id, or one that cannot be sent; Limit for one that is larger than
    // the ring; Closed after close().
    Result<void> publish(const OutgoingEvent& event);
    // A stream that begins with the events missed since Last-Event-ID, if the request has one, and
    // goes on with what is published from now on.
    Response subscribe(const Request& request);
    // Ends all streams, present and future, once they have sent what was published before. Clients
    // will connect again, perhaps to another server.
    void close();

    BroadcasterCounters counters() const;

private:
    const std::optional<std::chrono::milliseconds> retry_;
    const Nanoseconds heartbeat_;
    std::shared_ptr<EventRing> ring_;  // shared with the streams
};

}  // namespace weft::http
