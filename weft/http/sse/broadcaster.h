// Broadcaster: the same server-sent events to many clients.
//
//     http::Broadcaster news;
//     router.get("/news", [&](Request& request, async::Context&) {
//         return news.subscribe(request);
//     });
//     ...
//     news.publish({.type = "headline", .data = text});       // from anywhere
//
// The last events are kept in one ring, and each subscriber has just a place in it: an event is
// formatted once and shared by all. A subscriber that is further behind than the ring reaches back
// is dropped: its stream is cut off, at the latest when the server's write_time is over. So memory
// does not grow with the number of slow clients.
//
// Every event gets an id. A client that connects again says the last one that it has seen, and is
// first sent what it has missed. If the ring does not know that id any more, or not yet since the
// server was started anew, it is sent everything in the ring. A new client begins with what comes.
//
// The streams end when their server drains; close() ends them before.
//
// A client that went away without a word is noticed by the comment that is sent after each silence.
//
// publish(): any fiber or plain thread; it may wait a moment for others that publish, never for a
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
    // What the ring keeps: to be sent again, and how far a subscriber may be behind.
    std::size_t events_max = 256;  // at least 1
    std::size_t bytes_max = 256 * 1024;
    Nanoseconds heartbeat = std::chrono::seconds(15);  // of silence, then a comment
    // After how long clients shall connect again; nothing: as they like.
    std::optional<std::chrono::milliseconds> retry = {};
};

struct BroadcasterCounters {
    std::uint64_t published = 0;
    std::size_t subscribers = 0;  // now
    std::uint64_t dropped = 0;    // because they were too slow, for the ring or for write_time
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
    // A stream of what is published from now on, after what Last-Event-ID says was missed.
    Response subscribe(const Request& request);
    // Ends all streams, also those to come, after what was published before. Clients will connect
    // again, to another server perhaps.
    void close();

    BroadcasterCounters counters() const;

private:
    const std::optional<std::chrono::milliseconds> retry_;
    const Nanoseconds heartbeat_;
    std::shared_ptr<EventRing> ring_;  // with the streams
};

}  // namespace weft::http
