#include "weft/http/client/internal/request_writer.h"

#include <algorithm>
#include <array>

#include "weft/base/assert.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/turn.h"
#include "weft/http/client/internal/peer_watch.h"
#include "weft/http/client/internal/phase.h"
#include "weft/http/internal/unsent.h"
#include "weft/http/limits.h"
#include "weft/http/wire/chunked.h"

namespace weft::http {

Result<void> RequestWriter::send(Body& body) {
    if (auto text = body.text()) return send_text(*text);
    if (const Body::FilePart* part = body.as_file()) return send_file(*part);
    Body::Produced& produced = *body.as_produced();
    begin(produced.size);
    WEFT_TRY(send_head());
    Result<void> outcome;
    try {
        outcome = produced.producer(*this);
    } catch (...) {  // user code: what it throws ends the request, as its errors do
        outcome = Error::from_current_exception();
    }
    WEFT_TRY(outcome);
    return end();
}

Result<void> RequestWriter::send_head() {
    Bytes part = as_bytes(connection_.output);
    Result<void> sent = send_parts(std::span(&part, 1));
    reset_output();
    return sent;
}

Result<void> RequestWriter::send_text(std::string_view text) {
    if (text.empty()) return send_head();
    std::array<Bytes, 2> parts{as_bytes(connection_.output), as_bytes(text)};
    Result<void> sent = send_parts(parts);
    reset_output();
    return sent;
}

// To be called after send_parts(). Empties the output; after an interruption the output becomes the
// unsent bytes, those of the parts behind it included.
void RequestWriter::reset_output() {
    connection_.output.clear();
    if (!interrupted_.empty()) connection_.output.swap(interrupted_);
}

Result<void> RequestWriter::send_file(const Body::FilePart& part) {
    WEFT_TRY(send_head());
    std::uint64_t sent = 0;
    while (sent < part.count) {
        std::uint64_t slice = std::min<std::uint64_t>(part.count - sent, kWriteSliceBytes);
        Deadline deadline = earlier(limits_.whole.deadline, Deadline::after(limits_.idle));
        Result<void> outcome =
            connection_.stream().send_file(part.file->fd(), part.offset + sent, slice, deadline);
        if (!outcome) return write_failed(outcome.error());
        sent += slice;
        bool answered = WEFT_TRY(connection_.try_receive_head());
        if (answered && sent < part.count) return answered_early();
    }
    return {};
}

// ---------------------------------------------------------------- a body in pieces

void RequestWriter::begin(std::optional<std::uint64_t> size) {
    WEFT_ASSERT(written_ == 0 && gathered_.empty(), "a writer sends one body");
    is_chunked_ = !size;
    length_ = size.value_or(0);
}

Result<void> RequestWriter::write(Bytes bytes) {
    // Writes that are gathered, or that the kernel takes at once, never park: count them.
    turn::may_wait("body.write", this, turn::cost_of(bytes.size()));
    if (bytes.empty()) return {};
    WEFT_DASSERT(is_chunked_ || written_ <= length_, "what is left would be huge");
    if (!is_chunked_ && bytes.size() > length_ - written_)
        return Error(ErrorKind::Misuse, "a body is longer than its request said");
    written_ += bytes.size();
    if (gathered_.size() + bytes.size() <= kWriteGatherBytes) {
        gathered_.append(as_text(bytes));
        return {};
    }
    WEFT_DASSERT(gathered_.size() <= kWriteGatherBytes);
    return send_gathered(bytes);
}

Result<void> RequestWriter::flush() {
    turn::may_wait("body.flush", this);
    return send_gathered({});
}

// Sends what was gathered and `more`, as one chunk if the body is chunked.
Result<void> RequestWriter::send_gathered(Bytes more) {
    std::size_t size = gathered_.size() + more.size();
    if (size == 0 && connection_.output.empty()) return {};
    wire::ChunkHead chunk;
    bool chunked = is_chunked_ && size > 0;
    if (chunked) chunk = wire::chunk_head(size);
    std::array<Bytes, 5> parts{as_bytes(connection_.output), as_bytes(chunk.view()),
                               as_bytes(gathered_), more,
                               as_bytes(chunked ? wire::kChunkEnd : std::string_view())};
    Result<void> sent = send_parts(parts);
    reset_output();
    gathered_.clear();
    return sent;
}

Result<void> RequestWriter::end() {
    if (!is_chunked_) {
        WEFT_TRY(flush());
        if (written_ == length_) return {};
        return Error(ErrorKind::Misuse, "a body is shorter than its request said");
    }
    if (!trailers_.is_valid()) return Error(ErrorKind::Misuse, "a trailer cannot be sent");
    std::string& output = connection_.output;
    if (!gathered_.empty()) {
        output.append(wire::chunk_head(gathered_.size()).view());
        output.append(gathered_);
        output.append(wire::kChunkEnd);
        gathered_.clear();
    }
    wire::append_last_chunk(output, trailers_);
    return send_head();
}

// ---------------------------------------------------------------- sending bytes

Result<void> RequestWriter::resume() {
    WEFT_ASSERT(was_answered_ && keeps_interrupted_, "there is nothing to go on with");
    WEFT_ASSERT(watches_server_, "a request is resumed once");
    was_answered_ = false;
    watches_server_ = false;
    return send_head();
}

void RequestWriter::keep_unsent(std::span<const Bytes> parts) {
    if (!keeps_interrupted_) return;
    WEFT_ASSERT(interrupted_.empty(), "a request is interrupted once");
    for (Bytes part : parts) interrupted_.append(as_text(part));
}

Result<void> RequestWriter::send_parts(std::span<Bytes> parts) {
    if (!watches_server_) {
        Deadline deadline = earlier(limits_.whole.deadline, Deadline::after(limits_.idle));
        Result<void> sent = connection_.stream().write_all(std::span<const Bytes>(parts), deadline);
        has_failed_ |= !sent;
        return sent;
    }
    std::size_t since_turn = 0;
    parts = unsent(parts, 0);
    while (!parts.empty()) {
        auto count = connection_.stream().try_write(parts);
        if (!count) return write_failed(count.error());
        parts = unsent(parts, *count);
        since_turn += *count;
        if (parts.empty()) break;
        // A server that takes everything at once must not keep this fiber on its worker for ever.
        if (*count > 0 && since_turn < kWriteSliceBytes) continue;
        if (*count > 0) {
            WEFT_TRY(checkpoint());
            since_turn = 0;
        }
        auto answered = connection_.try_receive_head();
        if (!answered) return write_failed(answered.error());
        if (*answered) {
            keep_unsent(parts);
            return answered_early();
        }
        if (*count > 0) continue;
        if (auto waited = wait_for_room(); !waited) return write_failed(waited.error());
    }
    return {};
}

// Waits until the server takes more, or has sent something.
Result<void> RequestWriter::wait_for_room() {
    Descriptor& descriptor = connection_.stream().descriptor();
    PeerWatch watch(descriptor);
    if (!watch.start()) return {};
    Deadline deadline = earlier(limits_.whole.deadline, Deadline::after(limits_.idle));
    Result<void> waited = descriptor.wait_writable(deadline, watch.token());
    watch.stop();
    if (waited || (watch.has_fired() && CancelToken::current().check())) return {};
    return waited;
}

Result<void> RequestWriter::answered_early() {
    WEFT_DASSERT(connection_.has_head(), "the answer has not come");
    WEFT_DASSERT(watches_server_, "another fiber reads the response");
    was_answered_ = true;
    connection_.keep_alive = false;
    return Error(ErrorKind::Closed, "the server answered before it had the whole request");
}

Result<bool> RequestWriter::try_receive_answer() {
    auto answered = connection_.try_receive_head();
    if (!answered) has_failed_ = true;
    if (answered && *answered) static_cast<void>(answered_early());
    return answered;
}

// The server takes no more. An answer that it sent before it closed may have arrived.
Result<void> RequestWriter::write_failed(const Error& error) {
    has_failed_ = true;
    if (auto answered = connection_.try_receive_head(); answered && *answered)
        return answered_early();
    return in_phase(error, {"send the request", limits_.idle, "ClientTimeouts::idle"},
                    limits_.whole);
}

}  // namespace weft::http
