#include "weft/http/proxy/internal/upload.h"

#include <algorithm>
#include <array>
#include <span>

#include "weft/base/assert.h"
#include "weft/fiber/cancel.h"
#include "weft/http/limits.h"

namespace weft::http {

Result<BodyStart> BodyStart::read(BodyReader& body, std::size_t bytes_max) {
    BodyStart start;
    std::optional<std::uint64_t> size = body.size();
    start.text.reserve(std::min<std::uint64_t>(size.value_or(kReadBufferBytes), bytes_max));
    while (start.text.size() < bytes_max) {
        std::size_t before = start.text.size();
        WEFT_DASSERT(!size || before <= *size, "a body has no more bytes than its head says");
        std::uint64_t wanted = size ? *size - before : kReadBufferBytes;
        start.text.resize(before + std::min<std::uint64_t>(wanted, bytes_max - before));
        std::size_t count =
            WEFT_TRY(body.read(std::as_writable_bytes(std::span(start.text)).subspan(before)));
        WEFT_ASSERT(before + count <= start.text.size(), "a read fills its space at most");
        start.text.resize(before + count);
        start.is_whole = count == 0 || size == start.text.size();
        if (start.is_whole) break;
    }
    WEFT_ASSERT(start.text.size() <= bytes_max);
    return start;
}

Upload::Upload(Request& request, ClientConnection& connection, Nanoseconds idle)
    : request_(request), connection_(connection), writer_(connection, {idle, {}}) {
    WEFT_ASSERT(!connection.output.empty(), "the head of the request comes first");
    writer_.keep_interrupted();
    writer_.begin(request.body().size());
}

Result<bool> Upload::send_head_first(Nanoseconds patience) {
    WEFT_ASSERT(is_untouched_, "send() would have sent the head");
    using Reaction = ClientConnection::Reaction;
    WEFT_TRY(writer_.send_head());
    watches_upstream_ = true;  // the upstream may answer from now on
    Result<Reaction> reaction = connection_.wait_for_continue(Deadline::after(patience));
    has_failed_ = !reaction;
    if (!reaction) return reaction.error();
    // The upstream may or may not still wait for the body that is not sent, so that the connection
    // cannot be used again.
    if (*reaction == Reaction::Answer) connection_.keep_alive = false;
    return *reaction != Reaction::Answer;
}

Result<void> Upload::send(const BodyStart& start) {
    WEFT_ASSERT(is_untouched_, "a body can be read once");
    is_untouched_ = false;
    read_ = start.text.size();
    is_read_ = start.is_whole;
    if (is_read_ && request_.body().size()) {
        has_ended_ = true;
        WEFT_TRY(writer_.send_text(start.text));
        is_whole_ = true;
        return {};
    }
    if (!start.text.empty()) WEFT_TRY(send_start(start));
    WEFT_TRY(forward_body());
    return end();
}

Result<void> Upload::send_start(const BodyStart& start) {
    WEFT_TRY(writer_.write(as_bytes(start.text)));
    if (is_read_) return {};
    watches_upstream_ = true;
    return writer_.flush();
}

Result<void> Upload::send_interrupted() {
    WEFT_ASSERT(writer_.was_answered() && !was_answered_early_, "nothing was interrupted");
    watches_upstream_ = false;
    was_answered_early_ = true;
    watch_.reset();
    WEFT_TRY(writer_.resume());
    if (!has_ended_) {
        WEFT_TRY(forward_body());
        WEFT_TRY(end());
    }
    is_whole_ = true;
    // The early answer had cleared it, because the request was incomplete; now it is complete.
    connection_.keep_alive = true;
    return {};
}

Result<void> Upload::forward_body() {
    std::array<std::byte, kReadBufferBytes> space;
    while (!is_read_) {
        std::size_t count = WEFT_TRY(read(space));
        WEFT_ASSERT(count <= space.size(), "a read fills its space at most");
        read_ += count;
        is_read_ = count == 0 || request_.body().size() == read_;
        WEFT_DASSERT(read_ <= request_.body().size().value_or(read_), "no body exceeds its head");
        // The last piece is not flushed: it is sent together with the end of the body.
        WEFT_TRY(writer_.write(Bytes(space).first(count)));
        if (!is_read_) WEFT_TRY(writer_.flush());
        // The upstream may answer as soon as it has some bytes, unless it has answered already.
        watches_upstream_ = !was_answered_early_;
    }
    return {};
}

// Reads the next piece from the client. Closed when the upstream has answered.
Result<std::size_t> Upload::read(ByteSpace space) {
    BodyReader& body = request_.body();
    // If nothing was sent yet, the upstream has nothing to answer: do not watch it.
    if (!watches_upstream_) return body.read(space);
    for (;;) {
        if (!watch_) watch_.emplace(connection_.stream().descriptor(), CancelToken::current());
        // An error unless the read below replaces it: 0 would be taken for the end of the body, and
        // a part of the request for the whole.
        Result<std::size_t> count = ErrorKind::Cancelled;
        bool started = watch_->start();
        if (started) {
            CancelScope scope(watch_->token());
            count = body.read(space);
        }
        watch_->stop();
        bool may_have_answered = !started || (!count && watch_->has_fired());
        // A watch fires once: if it did, the next wait needs another one, also where the client's
        // bytes have come at the same time.
        if (watch_->has_fired()) watch_.reset();
        if (!may_have_answered || !CancelToken::current().check()) return count;
        bool answered = WEFT_TRY(writer_.try_receive_answer());
        if (answered) return Error(ErrorKind::Closed, "the upstream has answered");
    }
}

Result<void> Upload::end() {
    WEFT_ASSERT(is_read_ && !has_ended_, "a part of the body would be taken for the whole");
    has_ended_ = true;
    for (const Headers::Field& field : request_.body().trailers())
        writer_.trailers().add_borrowed(field.name, field.value);
    WEFT_TRY(writer_.end());
    is_whole_ = true;
    return {};
}

}  // namespace weft::http
