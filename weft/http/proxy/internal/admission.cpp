#include "weft/http/proxy/internal/admission.h"

#include <algorithm>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/fiber/cancel.h"

namespace weft::http {
namespace {

// The finish of splitmix64: every bit of the input changes half of the output.
std::uint64_t mix(std::uint64_t value) {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31);
}

}  // namespace

// ---------------------------------------------------------------- shares

bool Shares::take(ClientKey client) {
    WEFT_ASSERT(client.first < ClientKey::kCounters && client.second < ClientKey::kCounters);
    if (free_ == 0) return false;
    std::size_t held = std::min(first_[client.first], second_[client.second]);
    if (is_fair_ && client.is_known && held >= free_) return false;
    --free_;
    ++first_[client.first];
    ++second_[client.second];
    return true;
}

void Shares::give_back(ClientKey client) {
    WEFT_ASSERT(client.first < ClientKey::kCounters && client.second < ClientKey::kCounters);
    WEFT_ASSERT(first_[client.first] > 0 && second_[client.second] > 0, "take() has counted it");
    ++free_;
    --first_[client.first];
    --second_[client.second];
}

// ---------------------------------------------------------------- admission

Admission::Admission(const ProxyOptions& options)
    : seed_(env::random(RandomStream::Workload)),
      waiting_max_(options.limits.waiting_per_origin),
      connections_(options.limits.connections_per_origin, options.client_share),
      waiting_(options.limits.waiting_per_origin, options.client_share),
      streams_(options.streams_per_upstream, options.client_share) {}

Admission::~Admission() { WEFT_ASSERT(queue_.empty(), "a request still waits"); }

ClientKey Admission::key_of(const net::Address& client) const {
    if (client.kind() == net::Address::Kind::Unix) return {.is_known = false};
    net::IpAddress ip = client.ip().unmapped();
    // One IPv6 subscriber has at least 2^64 addresses, which share their first 64 bits.
    std::size_t count = ip.is_v4() ? 4 : 8;
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < count; ++i) number = number << 8 | ip.bytes()[i];
    std::uint64_t hash = mix(number ^ seed_);
    return {static_cast<std::uint16_t>(hash % ClientKey::kCounters),
            static_cast<std::uint16_t>((hash >> 32) % ClientKey::kCounters)};
}

Result<Admission::Pass> Admission::enter(const net::Address& client, Nanoseconds patience) {
    ClientKey key = key_of(client);
    {
        SpinGuard guard(lock_);
        // This does not overtake anybody: a waiter that could take a free connection would have got
        // it from admit_next() already.
        if (connections_.take(key)) return Pass(*this, key);
        if (!waiting_.take(key))
            return Error::limit("more requests wait for a connection than", waiting_max_,
                                "ClientLimits::waiting_per_origin");
    }
    Waiter waiter(key);
    WEFT_TRY(wait_in_queue(waiter, patience));
    return Pass(*this, key);
}

Result<void> Admission::wait_in_queue(Waiter& waiter, Nanoseconds patience) {
    Queue admitted;
    {
        SpinGuard guard(lock_);
        queue_.push_back(waiter);
        // A connection may have become free since enter() released the lock.
        admit_next(admitted);
    }
    wake(admitted);
    Result<void> waited = waiter.admitted.wait_until(Deadline::after(patience));
    if (waited) {
        WEFT_ASSERT(waiter.is_admitted && !waiter.link.is_linked(), "see admit_next() and wake()");
        return {};
    }
    {
        SpinGuard guard(lock_);
        if (!waiter.is_admitted) {
            WEFT_ASSERT(waiter.link.is_linked(), "only admit_next() takes it out of the queue");
            queue_.erase(waiter);
            waiting_.give_back(waiter.client);
            return waited;
        }
    }
    // Admitted at the last moment. The fiber that did it may not have called set() yet, which uses
    // the waiter: it must be awaited before the waiter is destroyed.
    static_cast<void>(shield(Deadline::never(), [&] { return waiter.admitted.wait(); }));
    return {};
}

// Under the lock: gives free connections to the waiters, in their order, that may take one. The
// caller wakes `admitted` after the lock is released.
void Admission::admit_next(Queue& admitted) {
    WEFT_DASSERT(lock_.is_locked());
    for (Waiter* waiter = queue_.front(); waiter && connections_.has_free();) {
        Waiter* next = Queue::next(*waiter);
        WEFT_DASSERT(!waiter->is_admitted, "an admitted waiter has left the queue");
        if (connections_.take(waiter->client)) {
            queue_.erase(*waiter);
            waiting_.give_back(waiter->client);
            waiter->is_admitted = true;
            admitted.push_back(*waiter);
        }
        waiter = next;
    }
}

void Admission::wake(Queue& admitted) {
    while (Waiter* waiter = admitted.pop_front()) waiter->admitted.set();
}

// ---------------------------------------------------------------- the pass

Admission::Pass::Pass(Pass&& other) noexcept
    : admission_(std::exchange(other.admission_, nullptr)),
      client_(other.client_),
      is_stream_(other.is_stream_) {}

bool Admission::Pass::become_stream() {
    WEFT_ASSERT(admission_ && !is_stream_, "the pass has been released, or counts as a stream");
    Queue admitted;
    {
        SpinGuard guard(admission_->lock_);
        if (!admission_->streams_.take(client_)) return false;
        is_stream_ = true;
        admission_->connections_.give_back(client_);
        admission_->admit_next(admitted);
    }
    wake(admitted);
    return true;
}

void Admission::Pass::release() {
    Admission* admission = std::exchange(admission_, nullptr);
    if (!admission) return;
    Queue admitted;
    {
        SpinGuard guard(admission->lock_);
        (is_stream_ ? admission->streams_ : admission->connections_).give_back(client_);
        if (!is_stream_) admission->admit_next(admitted);
    }
    wake(admitted);
}

}  // namespace weft::http
