#include "weft/http/sse/broadcaster.h"

#include <string>
#include <utility>

#include "weft/base/assert.h"
#include "weft/fiber/cancel.h"
#include "weft/http/request.h"
#include "weft/http/sse/internal/event_ring.h"
#include "weft/http/wire/sse.h"

namespace weft::http {
namespace {

// One client's stream, from its position in the ring on. Owned by the fiber that writes the stream.
class Subscription {
public:
    Subscription(std::shared_ptr<EventRing> ring, std::uint64_t place, Nanoseconds heartbeat)
        : ring_(std::move(ring)), place_(place), heartbeat_(heartbeat) {
        // Relaxed, here and below: statistics only.
        ring_->subscribers.fetch_add(1, std::memory_order_relaxed);
    }
    Subscription(Subscription&&) = default;
    ~Subscription() {
        if (!ring_) return;
        std::size_t before = ring_->subscribers.fetch_sub(1, std::memory_order_relaxed);
        WEFT_ASSERT(before > 0, "the constructor has counted it");
    }

    Result<void> write_to(BodyWriter& writer) {
        WEFT_ASSERT(ring_, "the subscription was moved from");
        for (;;) {
            Result<void> written = write_pending(writer);
            if (!written && written.error().kind() == ErrorKind::Closed && ended_) return {};
            if (written) written = writer.flush();
            if (!written) return count_if_slow(written.error());
            Result<void> waited = ring_->wait(place_, Deadline::after(heartbeat_));
            if (waited) continue;
            if (waited.error().kind() != ErrorKind::TimedOut) return waited.error();
            // TimedOut also when the context's deadline has passed, which ends the stream.
            WEFT_TRY(CancelToken::current().check());
            WEFT_TRY(writer.write(wire::format_comment()));
        }
    }

private:
    // Writes the events that are in the ring; the writer gathers them.
    Result<void> write_pending(BodyWriter& writer) {
        EventRing::Batch batch;
        for (;;) {
            Result<std::size_t> count = ring_->take(place_, batch);
            if (!count) {
                ended_ = count.error().kind() == ErrorKind::Closed;
                return count.error();
            }
            if (*count == 0) return {};
            WEFT_DASSERT(*count <= batch.size());
            for (std::size_t i = 0; i < *count; ++i) {
                WEFT_TRY(writer.write(*batch[i]));
                batch[i].reset();
            }
        }
    }
    // Counts the client as dropped if it was too slow: it fell behind the ring (Limit), or a write
    // to it took too long (TimedOut). A client that has gone does not count.
    Error count_if_slow(const Error& error) {
        bool is_slow = error.kind() == ErrorKind::Limit || error.kind() == ErrorKind::TimedOut;
        // Relaxed: statistics only.
        if (is_slow) ring_->dropped.fetch_add(1, std::memory_order_relaxed);
        return error;
    }

    std::shared_ptr<EventRing> ring_;  // shared with the broadcaster, which may end first
    std::uint64_t place_;              // the number of the next event
    Nanoseconds heartbeat_;
    bool ended_ = false;  // the broadcaster was closed: Closed does not come from the connection
};

}  // namespace

Broadcaster::Broadcaster(const BroadcasterOptions& options)
    : retry_(options.retry),
      heartbeat_(options.heartbeat),
      ring_(std::make_shared<EventRing>(options.events_max, options.bytes_max)) {}

Broadcaster::~Broadcaster() { close(); }

Result<void> Broadcaster::publish(const OutgoingEvent& event) {
    if (event.id) return Error(ErrorKind::Misuse, "the broadcaster itself gives events their ids");
    return ring_->append(event);
}

Response Broadcaster::subscribe(const Request& request) {
    auto last = request.header("last-event-id");
    std::uint64_t place = last ? ring_->place_after(*last) : ring_->place_of_next();
    auto producer = [subscription = Subscription(ring_, place, heartbeat_),
                     retry = retry_](BodyWriter& writer) mutable -> Result<void> {
        if (retry) {
            std::string text = WEFT_TRY(wire::format_event({.retry = retry}));
            WEFT_TRY(writer.write(text));
        }
        return subscription.write_to(writer);
    };
    return event_stream_response(std::move(producer));
}

void Broadcaster::close() { ring_->close(); }

BroadcasterCounters Broadcaster::counters() const {
    // Relaxed, both: statistics only.
    return {.published = ring_->published(),
            .subscribers = ring_->subscribers.load(std::memory_order_relaxed),
            .dropped = ring_->dropped.load(std::memory_order_relaxed)};
}

}  // namespace weft::http
