// EventRing: the last events of a Broadcaster, ready to be sent, numbered from 1.
//
// Any fiber or plain thread. Readers hold a place, the number of the event that they need next, and
// take events from there; append() wakes those that wait. No more is kept than the limits allow.
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
    // Shared by the ring and the readers that are about to write it.
    using Text = std::shared_ptr<const std::string>;
    // What is taken at once; more than a few wait only after a burst.
    static constexpr std::size_t kBatch = 16;
    using Batch = std::array<Text, kBatch>;

    EventRing(std::size_t events_max, std::size_t bytes_max);

    Result<void> append(wire::OutgoingEvent event);
    void close();

    // The place of who has seen this event last; of any other id, the oldest event's.
    std::uint64_t place_after(std::string_view id) const;
    std::uint64_t place_of_next() const;

    // The events at the place, which moves on; 0 if there are none yet. Closed when there will be
    // none, Limit when the place is further back than the ring reaches.
    Result<std::size_t> take(std::uint64_t& place, Batch& batch);
    // Until there is something to take at the place, or never will be. TimedOut, Cancelled.
    Result<void> wait(std::uint64_t place, Deadline deadline) const;

    std::uint64_t published() const { return place_of_next() - 1; }
    // Relaxed, both: they are counted, and order nothing.
    Atomic<std::size_t> subscribers{0};
    Atomic<std::uint64_t> dropped{0};

private:
    struct Slot {
        Text text;
        std::uint64_t offset = 0;  // the bytes of all events before
    };
    Slot& slot(std::uint64_t number) { return slots_[number % slots_.size()]; }
    Text evict_for(std::size_t bytes);
    std::string id_of(std::uint64_t number) const;

    const std::size_t bytes_max_;
    // Ids of an earlier life of the server are not taken for those of this one.
    const std::uint32_t life_;

    Mutex appending_;        // one at a time, so that ids are known before an event is formatted
    mutable SpinLock lock_;  // all below
    std::vector<Slot> slots_;
    std::uint64_t first_ = 1;  // that is kept
    std::uint64_t next_ = 1;   // that will come
    std::uint64_t bytes_ = 0;  // of all events ever
    bool closed_ = false;

    // Set by the next change, which puts a new one in its place: one that were reset and used again
    // could be reset by a fast reader before a slow one has begun to wait. Shared with who waits.
    std::shared_ptr<Event> changed_ = std::make_shared<Event>();
};

}  // namespace weft::http
