#include "weft/http/sse/internal/event_ring.h"

#include <algorithm>
#include <charconv>
#include <mutex>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/env.h"

namespace weft::http {

EventRing::EventRing(std::size_t events_max, std::size_t bytes_max)
    : bytes_max_(bytes_max),
      run_id_(static_cast<std::uint32_t>(env::random(RandomStream::Workload))),
      slots_(std::max<std::size_t>(events_max, 1)) {}

EventRing::~EventRing() {
    // Relaxed: whoever dropped the last reference has seen all changes.
    WEFT_ASSERT(subscribers.load(std::memory_order_relaxed) == 0, "a subscriber shares its ring");
}

// For example "1f3a9c02-17".
std::string EventRing::id_of(std::uint64_t number) const {
    std::array<char, 32> text;
    char* end = std::to_chars(text.begin(), text.end(), run_id_, 16).ptr;
    *end++ = '-';
    end = std::to_chars(end, text.end(), number).ptr;
    return std::string(text.begin(), end);
}

Result<void> EventRing::append(wire::OutgoingEvent event) {
    WEFT_ASSERT(!event.id, "the ring gives events their ids");
    std::lock_guard appending(appending_);
    // Only append() changes the number, and appending_ is held.
    std::uint64_t number = place_of_next();
    std::string id = id_of(number);
    event.id = id;
    std::string formatted = WEFT_TRY(wire::format_event(event));
    if (formatted.size() > bytes_max_)
        return Error::limit("an event has more bytes than", bytes_max_,
                            "BroadcasterOptions::bytes_max");
    auto text = std::make_shared<const std::string>(std::move(formatted));
    // Memory is allocated and freed without the spin lock.
    while (evict_for(text->size())) {}
    auto changed = std::make_shared<Event>();
    {
        SpinGuard guard(lock_);
        if (closed_) return Error(ErrorKind::Closed, "the broadcaster is closed");
        std::size_t size = text->size();
        WEFT_ASSERT(next_ == number, "the id names the event");
        WEFT_ASSERT(next_ - first_ < slots_.size(), "evict_for() has made room");
        WEFT_ASSERT(!slot(next_).text, "the event that lay there was evicted");
        WEFT_DASSERT(first_ == next_ || bytes_ - slot(first_).offset + size <= bytes_max_);
        slot(next_) = {std::move(text), bytes_};
        bytes_ += size;
        ++next_;
        changed_.swap(changed);
    }
    changed->set();
    return {};
}

// Removes the oldest event and returns it, if it has to make room; null otherwise. Readers that
// still need it will get Limit.
EventRing::Text EventRing::evict_for(std::size_t bytes) {
    WEFT_ASSERT(bytes <= bytes_max_, "no number of events makes room for it");
    SpinGuard guard(lock_);
    WEFT_ASSERT(first_ <= next_ && next_ - first_ <= slots_.size());
    if (first_ == next_) return nullptr;
    WEFT_ASSERT(slot(first_).text, "a kept event has its text");
    WEFT_DASSERT(slot(first_).offset <= bytes_);
    bool has_slot = next_ - first_ < slots_.size();
    bool has_bytes = bytes_ - slot(first_).offset + bytes <= bytes_max_;
    if (has_slot && has_bytes) return nullptr;
    return std::exchange(slot(first_++).text, nullptr);
}

void EventRing::close() {
    std::shared_ptr<Event> changed;
    {
        SpinGuard guard(lock_);
        closed_ = true;
        changed = changed_;
    }
    changed->set();
}

std::uint64_t EventRing::place_of_next() const {
    SpinGuard guard(lock_);
    return next_;
}

std::uint64_t EventRing::place_after(std::string_view id) const {
    std::uint32_t run_id = 0;
    std::uint64_t number = 0;
    const char* end = id.data() + id.size();
    auto parsed = std::from_chars(id.data(), end, run_id, 16);
    bool is_ours =
        parsed.ec == std::errc() && run_id == run_id_ && parsed.ptr != end && *parsed.ptr == '-';
    if (is_ours) {
        parsed = std::from_chars(parsed.ptr + 1, end, number);
        is_ours = parsed.ec == std::errc() && parsed.ptr == end;
    }
    SpinGuard guard(lock_);
    return is_ours && number < next_ ? std::max(number + 1, first_) : first_;
}

Result<std::size_t> EventRing::take(std::uint64_t& place, Batch& batch) {
    SpinGuard guard(lock_);
    WEFT_ASSERT(place <= next_, "a place is at most that of the next event");
    if (place < first_)
        return Error::limit("a subscriber is too slow: it is behind by more events than",
                            slots_.size(), "BroadcasterOptions::events_max");
    std::size_t count = std::min<std::uint64_t>(next_ - place, kBatch);
    for (std::size_t i = 0; i < count; ++i) batch[i] = slot(place++).text;
    if (count > 0) return count;
    if (closed_) return Error(ErrorKind::Closed, "the broadcaster is closed");
    return 0;
}

Result<void> EventRing::wait(std::uint64_t place, Deadline deadline) const {
    std::shared_ptr<Event> changed;
    {
        SpinGuard guard(lock_);
        WEFT_ASSERT(place <= next_, "a place is at most that of the next event");
        if (place < next_ || closed_) return {};
        changed = changed_;
    }
    return changed->wait_until(deadline);
}

}  // namespace weft::http
