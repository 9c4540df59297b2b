#include "weft/http/internal/incoming_body.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/planted.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/turn.h"

namespace weft::http {

using wire::Framing;
using wire::Progress;

void IncomingBody::begin(net::Stream& stream, ReadBuffer& buffer, Framing framing,
                         std::uint64_t length, const IncomingLimits& limits) {
    release_memory();
    stream_ = &stream;
    buffer_ = &buffer;
    framing_ = framing;
    length_ = left_ = framing == Framing::Length ? length : 0;
    finished_ = framing == Framing::None || (framing == Framing::Length && length == 0);
    failed_ = false;
    failure_status_ = 0;
    received_ = 0;
    rate_bytes_ = 0;
    rate_waited_ = {};
    deadline_ = Deadline::never();
    limits_ = limits;
    if (before_wait_) before_wait_ = nullptr;
    trailers_.clear();
    if (framing == Framing::Chunked) decoder_ = wire::ChunkedDecoder(limits.chunked);
}

// Limits and stream are left as they are: a finished body uses neither.
void IncomingBody::begin_without_body() {
    release_memory();
    framing_ = Framing::None;
    length_ = left_ = 0;
    finished_ = true;
    failed_ = false;
    failure_status_ = 0;
    received_ = 0;
    if (before_wait_) before_wait_ = nullptr;
    trailers_.clear();
}

std::optional<std::uint64_t> IncomingBody::size() const {
    if (framing_ == Framing::None || framing_ == Framing::Length) return length_;
    return std::nullopt;
}

Result<std::size_t> IncomingBody::read(ByteSpace space) {
    // Counts against the turn, since what is in the buffer is read without a wait.
    turn::may_wait("body.read", this);
    if (failed_) return error_;
    if (finished_ || space.empty()) return 0;
    switch (framing_) {
    case Framing::Length: return take_known(space);
    case Framing::Chunked: return take_chunked(space);
    default: return take_until_close(space);
    }
}

std::optional<Result<std::size_t>> IncomingBody::read_buffered(ByteSpace space) {
    WEFT_DASSERT(!only_buffered_);
    only_buffered_ = true;
    Result<std::size_t> count = read(space);
    // receive() has cleared it, instead of reading the stream.
    if (!std::exchange(only_buffered_, false)) return std::nullopt;
    return count;
}

Result<std::size_t> IncomingBody::fail(Error error, std::uint16_t status) {
    WEFT_ASSERT(!failed_, "a body fails once");
    failed_ = true;
    failure_status_ = status;
    error_ = std::move(error);
    return error_;
}

Result<std::size_t> IncomingBody::fail_too_large() {
    return fail(Error::limit("the body has more bytes than", limits_.bytes_max, "body_bytes"), 413);
}

Result<std::size_t> IncomingBody::count_received(std::size_t count) {
    received_ += count;
    if (received_ > limits_.bytes_max) return fail_too_large();
    return count;
}

std::size_t IncomingBody::take_buffered(ByteSpace space) {
    std::string_view buffered = buffer_->view();
    std::size_t count = std::min(space.size(), buffered.size());
    std::memcpy(space.data(), buffered.data(), count);
    buffer_->consume(count);
    return count;
}

std::optional<std::string_view> IncomingBody::take_whole() {
    bool is_here = framing_ == Framing::Length && left_ == length_ && !failed_ &&
                   length_ <= limits_.bytes_max && length_ <= buffer_->view().size();
    if (!is_here) return std::nullopt;
    std::string_view whole = buffer_->view().substr(0, length_);
    buffer_->consume(length_);
    received_ = length_;
    left_ = 0;
    finished_ = true;
    return whole;
}

Result<std::size_t> IncomingBody::take_known(ByteSpace space) {
    WEFT_DASSERT(left_ > 0 && left_ <= length_, "a body that is not finished has bytes left");
    if (length_ > limits_.bytes_max) return fail_too_large();
    space = space.first(std::min<std::uint64_t>(space.size(), left_));
    std::size_t count = 0;
    if (buffer_->empty()) {
        count = WEFT_TRY(receive(space));
        if (count == 0) return fail(Error(ErrorKind::Closed, "the body was cut off"), 400);
    } else {
        count = take_buffered(space);
    }
    left_ -= count;
    finished_ = left_ == 0;
    return count_received(count);
}

Result<std::size_t> IncomingBody::take_chunked(ByteSpace space) {
    for (;;) {
        // Content that does not fit must be decoded later, so the decoder gets no more than fits.
        std::string_view bytes = buffer_->view();
        auto step = decoder_.decode(bytes.substr(0, std::max<std::size_t>(space.size(), 1)));
        buffer_->consume(step.used);
        if (step.progress == Progress::Failed) {
            return fail(decoder_.error().to_error("the body is malformed"),
                        decoder_.error().status);
        }
        finished_ = step.progress == Progress::Done;
        if (finished_) trailers_ = std::move(decoder_.trailers());
        if (!step.content.empty()) {
            WEFT_ASSERT(step.content.size() <= space.size(), "the decoder gives what it was given");
            std::memcpy(space.data(), step.content.data(), step.content.size());
            return count_received(step.content.size());
        }
        if (finished_) return 0;
        if (step.used > 0 && !buffer_->empty()) continue;
        ByteSpace more = buffer_->space();
        if (more.empty()) return fail(ErrorKind::OutOfMemory, 503);
        std::size_t count = WEFT_TRY(receive(more));
        finished_ = count == 0 && WEFT_PLANTED("body.takes_a_part_for_the_whole");
        if (finished_) return 0;
        if (count == 0) return fail(Error(ErrorKind::Closed, "the body was cut off"), 400);
        buffer_->filled(count);
    }
}

Result<std::size_t> IncomingBody::take_until_close(ByteSpace space) {
    if (!buffer_->empty()) return count_received(take_buffered(space));
    std::size_t count = WEFT_TRY(receive(space));
    if (count == 0) {
        finished_ = true;
        return 0;
    }
    return count_received(count);
}

// Reads from the stream. A failure is kept for later calls.
Result<std::size_t> IncomingBody::receive(ByteSpace space) {
    if (std::exchange(only_buffered_, false)) return ErrorKind::Cancelled;
    if (before_wait_) {
        auto before_wait = std::exchange(before_wait_, nullptr);
        if (auto ready = before_wait(); !ready) return fail(ready.error(), 0);
    }
    Instant begun = Clock::now();
    auto count = stream_->read(space, next_deadline(begun));
    WEFT_ASSERT(!count || *count <= space.size(), "a stream gives no more than there is room for");
    if (count && has_rate()) count_rate(*count, Clock::now() - begun);
    // A wait that the end of the caller's context has interrupted is no failure of the body.
    if (count || CancelToken::current().is_cancelled()) return count;
    return fail(count.error(), count.error().kind() == ErrorKind::TimedOut ? 408 : 0);
}

// The next byte must come within the idle limit, and before the end of the time over which the rate
// is measured. Only the time of waiting counts, because a slow reader holds the sender back.
Deadline IncomingBody::next_deadline(Instant now) const {
    Deadline deadline = std::min(deadline_, Deadline::after(limits_.idle, now));
    if (!has_rate()) return deadline;
    WEFT_DASSERT(rate_waited_ <= limits_.grace);
    return std::min(deadline, Deadline::after(limits_.grace - rate_waited_, now));
}

// Each measurement begins anew when its bytes have come, so bytes that came early do not count
// later. Otherwise a sender that sends all but the end and then stops would be waited for as long
// as the whole body may take.
void IncomingBody::count_rate(std::size_t count, Nanoseconds waited) {
    rate_bytes_ += count;
    rate_waited_ = std::min(rate_waited_ + waited, limits_.grace);
    double owed = std::chrono::duration<double>(limits_.grace).count() *
                  static_cast<double>(limits_.bytes_per_second);
    if (static_cast<double>(rate_bytes_) < owed) return;
    rate_bytes_ = 0;
    rate_waited_ = {};
}

Result<void> IncomingBody::hold(std::uint64_t bytes) {
    held_ += bytes;
    if (!limits_.memory) return {};
    while (held_ > memory_taken_ + BodyMemory::kUncountedBytes) {
        if (!limits_.memory->take_part())
            return fail(Error::limit("the bodies of all requests hold more bytes than",
                                     limits_.memory->bytes_max(), "ServerLimits::bodies_bytes"),
                        503)
                .error();
        memory_taken_ += BodyMemory::kPartBytes;
    }
    return {};
}

void IncomingBody::release_memory() {
    held_ = 0;
    WEFT_DASSERT(memory_taken_ == 0 || limits_.memory, "memory is given back where it was taken");
    if (memory_taken_ != 0) limits_.memory->give_back(std::exchange(memory_taken_, 0));
}

bool IncomingBody::can_be_dropped(std::uint64_t bytes_max) const {
    if (finished_) return true;
    return !failed_ && !before_wait_ && (framing_ != Framing::Length || left_ <= bytes_max);
}

bool IncomingBody::drop_rest(std::uint64_t bytes_max, Deadline deadline) {
    if (framing_ == Framing::Length && left_ > bytes_max) return false;
    deadline_ = deadline;
    limits_.bytes_max = UINT64_MAX;
    std::array<std::byte, 4096> dropped;
    std::uint64_t count = 0;
    while (!finished_) {
        auto some = read(dropped);
        if (!some) return false;
        count += *some;
        if (count > bytes_max) return false;
    }
    return true;
}

bool IncomingBody::drop_buffered() {
    if (failed_) return false;
    if (framing_ == Framing::Length) {
        std::size_t count = std::min<std::uint64_t>(left_, buffer_->view().size());
        buffer_->consume(count);
        left_ -= count;
        finished_ = left_ == 0;
        return finished_;
    }
    while (framing_ == Framing::Chunked && !finished_ && !buffer_->empty()) {
        auto step = decoder_.decode(buffer_->view());
        buffer_->consume(step.used);
        if (step.progress == Progress::Failed) return false;
        finished_ = step.progress == Progress::Done;
    }
    return finished_;
}

}  // namespace weft::http
