// EventRing: the last events of a Broadcaster, formatted, and numbered from 1.
//
// Any fiber or plain thread. A reader keeps a place, which is the number of the event that it needs
// next, and takes events from there; append() wakes the readers that wait. The oldest events are
// evicted when a limit is reached.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/base/result.h"
#include "weft/base/spin_lock.h"
#include "weft/base/time.h"
#include "weft/http/wire/sse.h"
#include "weft/sync/event.h"
#include "weft/sync/mutex.h"

namespace weft::http {

class EventRing {
public:
    // Shared by the ring and the readers that are writing it.
    using Text = std::shared_ptr<const std::string>;
    // How many events take() returns at most.
    static constexpr std::size_t kBatch = 16;
    using Batch = std::array<Text, kBatch>;

    EventRing(std::size_t events_max, std::size_t bytes_max);
    ~EventRing();
    EventRing(const EventRing&) = delete;
    EventRing& operator=(const EventRing&) = delete;

    // Adds an event, which must have no id, and gives it one. Limit for an event that is larger
    // than the whole ring, Closed after close(), Misuse for one that cannot be sent. It may wait
    // for another append().
    Result<void> append(wire::OutgoingEvent event);
    void close();  // idempotent

    // The place of a reader that has seen the event with this id; for any other id, the place of
    // the oldest event.
    std::uint64_t place_after(std::string_view id) const;
    std::uint64_t place_of_next() const;

    // Copies events from the place on into the batch, advances the place, and returns their number;
    // 0 if there are none yet. Closed when there will be none, Limit when the event at the place
    // was evicted.
    Result<std::size_t> take(std::uint64_t& place, Batch& batch);
    // Waits until there is an event at the place, or never will be. TimedOut, Cancelled.
    Result<void> wait(std::uint64_t place, Deadline deadline) const;

    std::uint64_t published() const { return place_of_next() - 1; }
    // Relaxed, both: statistics only.
    Atomic<std::size_t> subscribers{0};
    Atomic<std::uint64_t> dropped{0};

private:
    struct Slot {
        Text text;
        std::uint64_t offset = 0;  // the value of bytes_ before this event
    };
    Slot& slot(std::uint64_t number) { return slots_[number % slots_.size()]; }
    Text evict_for(std::size_t bytes);
    std::string id_of(std::uint64_t number) const;

    const std::size_t bytes_max_;
    // A random part of every id, so that ids from before a restart are not taken for those of now.
    const std::uint32_t run_id_;

    Mutex appending_;        // held by append(), which must know the id before it formats an event
    mutable SpinLock lock_;  // guards all members below
    std::vector<Slot> slots_;
    std::uint64_t first_ = 1;  // the number of the oldest event that is kept
    std::uint64_t next_ = 1;   // the number of the next event
    std::uint64_t bytes_ = 0;  // of all events so far
    bool closed_ = false;

    // append() sets this event and replaces it by a new one. A single event that is reset and used
    // again could be reset by a fast reader before a slow one has begun to wait. Shared with the
    // readers that wait.
    std::shared_ptr<Event> changed_ = std::make_shared<Event>();
};

}  // namespace weft::http
