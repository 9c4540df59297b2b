#include "weft/net/tls/tls_stream.h"

#include <algorithm>
#include <array>
#include <utility>

#include "weft/base/assert.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/io.h"
#include "weft/fiber/turn.h"
#include "weft/net/address.h"
#include "weft/net/internal/peer_name.h"
#include "weft/net/internal/sent_file.h"
#include "weft/net/tls/internal/connection.h"
#include "weft/net/tls/internal/contexts.h"
#include "weft/sync/semaphore.h"

namespace weft::net {
namespace {

// Sizes of the input buffer: between requests the small one is enough; the large one holds a
// record.
constexpr std::size_t kInputBytesMin = 4 * 1024;
constexpr std::size_t kInputBytesMax = 17 * 1024;
// How much is encrypted before it is sent, and how large a buffer is kept afterwards.
constexpr std::size_t kOutputBytesMax = 64 * 1024;
constexpr std::size_t kOutputBytesKept = 4 * 1024;
// How much output of the protocol itself may gather for a peer that does not read.
constexpr std::size_t kRepliesBytesMax = 16 * 1024;
// Parts of a message below this share a record.
constexpr std::size_t kGatheredBytesMax = 4 * 1024;
constexpr std::size_t kFileBytes = 64 * 1024;
constexpr std::byte kHandshakeRecord{22};  // RFC 8446 §5.1

}  // namespace

// The parts of a message, cut into pieces for records.
class TlsStream::Parts {
public:
    explicit Parts(std::span<const Bytes> parts) : parts_(parts) { skip_empty(); }

    bool is_empty() const { return parts_.empty(); }

    // Removes the next piece from the front: a large part in place, small ones copied together.
    Bytes next() {
        if (first().size() >= kGatheredBytesMax || parts_.size() == 1)
            return take(std::min(first().size(), tls::kRecordBytesMax));
        std::size_t filled = 0;
        while (!is_empty() && filled < gathered_.size()) {
            Bytes piece = take(std::min(first().size(), gathered_.size() - filled));
            std::ranges::copy(piece, gathered_.begin() + static_cast<std::ptrdiff_t>(filled));
            filled += piece.size();
        }
        return Bytes(gathered_).first(filled);
    }

    // Removes `count` bytes, or all if there are fewer; returns how many.
    std::size_t skip(std::size_t count) {
        std::size_t skipped = 0;
        while (skipped < count && !is_empty())
            skipped += take(std::min(first().size(), count - skipped)).size();
        return skipped;
    }

private:
    Bytes first() const {
        WEFT_DASSERT(!is_empty() && taken_ < parts_.front().size(), "the first part is not empty");
        return parts_.front().subspan(taken_);
    }
    Bytes take(std::size_t count) {
        WEFT_DASSERT(count > 0 && count <= first().size(), "or loops over pieces would not end");
        Bytes piece = first().first(count);
        taken_ += count;
        skip_empty();
        return piece;
    }
    void skip_empty() {
        while (!parts_.empty() && taken_ == parts_.front().size()) {
            parts_ = parts_.subspan(1);
            taken_ = 0;
        }
    }

    std::span<const Bytes> parts_;
    std::size_t taken_ = 0;  // of the first
    std::array<std::byte, kGatheredBytesMax> gathered_;
};

// ---------------------------------------------------------------- opening and closing

TlsStream::TlsStream(std::unique_ptr<Stream> below, std::unique_ptr<tls::Connection> connection)
    : below_(std::move(below)), connection_(std::move(connection)) {}

TlsStream::~TlsStream() { TlsStream::close(); }

Result<std::unique_ptr<TlsStream>> TlsStream::accept(std::unique_ptr<Stream> below,
                                                     tls::ServerContext& context,
                                                     Deadline deadline) {
    auto connection = WEFT_TRY(tls::Connection::for_server(*context.state_));
    // tidy: allow new: a private constructor
    std::unique_ptr<TlsStream> made(new TlsStream(std::move(below), std::move(connection)));
    Result<void> agreed = made->shake_hands(deadline, &context.state_->handshake_slots);
    if (!agreed) return made->with_peer(agreed.error(), "tls handshake with");
    return made;
}

Result<std::unique_ptr<TlsStream>> TlsStream::connect(std::unique_ptr<Stream> below,
                                                      tls::ClientContext& context,
                                                      std::string_view host, Deadline deadline) {
    std::string server(host);
    server += ':' + std::to_string(below->peer_address().port());
    std::shared_ptr<tls::SessionCache> sessions = context.state_->sessions;
    auto connection =
        WEFT_TRY(tls::Connection::for_client(*context.state_, host, sessions->take(server)));
    // tidy: allow new: a private constructor
    std::unique_ptr<TlsStream> made(new TlsStream(std::move(below), std::move(connection)));
    made->sessions_ = std::move(sessions);
    made->server_ = std::move(server);
    Result<void> agreed = made->shake_hands(deadline, nullptr);
    if (!agreed) return made->with_peer(agreed.error(), "tls handshake with");
    return made;
}

// Closed and Cancelled were caused on purpose, by this side, and are passed unchanged.
Error TlsStream::with_peer(const Error& error, std::string_view action) const {
    if (error.kind() == ErrorKind::Closed || error.kind() == ErrorKind::Cancelled) return error;
    return error.with_context(action, server_.empty() ? peer_name(peer_address()) : server_);
}

Result<bool> TlsStream::step_handshake() {
    SpinGuard guard(lock_);
    return connection_->handshake();
}

// To answer a ClientHello costs the server a thousand times what it costs to send one. So the next
// handshake is computed when every other ready fiber of this worker has had a turn, and nothing is
// computed for a peer that has left, or whose deadline has passed, meanwhile.
Result<bool> TlsStream::step_handshake_in_slot(Semaphore& slot, Deadline deadline) {
    WEFT_TRY(slot.acquire_until(deadline));
    struct Taken {
        ~Taken() { slot.release(); }
        Semaphore& slot;
    } taken{slot};
    WEFT_TRY(CancelToken::current().check());
    if (deadline.expired(Clock::now())) return ErrorKind::TimedOut;
    if (WEFT_TRY(check_peer_gone())) return Error(ErrorKind::Tls, "the peer closed");
    Result<bool> done = step_handshake();
    // What the peer waits for is sent before this fiber yields; shake_hands() sends the rest, and
    // reports the error if this attempt fails.
    static_cast<void>(try_flush());
    yield();
    return done;
}

Result<void> TlsStream::shake_hands(Deadline deadline, tls::HandshakeSlots* slots) {
    for (;;) {
        bool in_slot = slots && connection_->has_input();
        Result<bool> done =
            in_slot ? step_handshake_in_slot(slots->here(), deadline) : step_handshake();
        if (!done) {
            // Sends the alert that tells the peer the reason.
            static_cast<void>(try_flush());
            return done.error();
        }
        WEFT_TRY(flush(deadline));
        if (*done) break;
        WEFT_TRY(fill(deadline));
    }
    keep_sessions();
    return {};
}

Result<void> TlsStream::shutdown_write(Deadline deadline) {
    {
        SpinGuard guard(lock_);
        connection_->end_writing();
    }
    WEFT_TRY(flush(deadline));
    return below_->shutdown_write(deadline);
}

void TlsStream::close() {
    // A call that is under way gets Closed from the stream below. If it holds the lock, no
    // close_notify is sent, and the peer notices only the end of the stream.
    if (lock_.try_lock()) {
        connection_->end_writing();
        lock_.unlock();
        static_cast<void>(try_flush());
    }
    below_->close();
}

Address TlsStream::peer_address() const { return below_->peer_address(); }
Address TlsStream::local_address() const { return below_->local_address(); }
const TlsSession* TlsStream::tls() const { return &connection_->session(); }

// ---------------------------------------------------------------- reading

// The space for the next ciphertext. The connection has consumed what was in it.
ByteSpace TlsStream::input_space() {
    WEFT_DASSERT(!has_input(), "the connection borrows the buffer until it has consumed it");
    std::size_t size = input_was_full_ ? kInputBytesMax : kInputBytesMin;
    if (size != input_bytes_) {
        input_ = std::make_unique_for_overwrite<std::byte[]>(size);
        input_bytes_ = size;
    }
    return {input_.get(), input_bytes_};
}

void TlsStream::supply(ByteSpace space, std::size_t count) {
    WEFT_ASSERT(count <= space.size(), "the stream below gave more bytes than there was space");
    // A large buffer stays until a read shows that a small one would have done.
    input_was_full_ = count == space.size() || (input_was_full_ && count > kInputBytesMin);
    SpinGuard guard(lock_);
    if (count == 0) {
        connection_->supply_end();
    } else {
        connection_->supply(space.first(count));
    }
}

Result<void> TlsStream::fill(Deadline deadline) {
    ByteSpace space = input_space();
    std::size_t count = WEFT_TRY(below_->read(space, deadline));
    supply(space, count);
    return {};
}

// Whether the stream has ended right behind the handshake message that is buffered; ciphertext that
// came behind it is added to the input. A buffered alert is always processed, because it says why
// the peer has left.
Result<bool> TlsStream::check_peer_gone() {
    Bytes said = connection_->input();
    WEFT_ASSERT(!said.empty(), "only the reader consumes it, and is here");
    if (said.front() != kHandshakeRecord) return false;
    std::size_t end = static_cast<std::size_t>(said.data() - input_.get()) + said.size();
    WEFT_ASSERT(end <= input_bytes_, "what the connection has borrowed is in the buffer");
    ByteSpace space = ByteSpace(input_.get(), input_bytes_).subspan(end);
    if (space.empty()) return false;
    std::optional<std::size_t> count = WEFT_TRY(below_->try_read(space));
    if (!count) return false;
    WEFT_ASSERT(*count <= space.size(), "the stream below gave more bytes than there was space");
    SpinGuard guard(lock_);
    connection_->supply({said.data(), said.size() + *count});
    return *count == 0;
}

Result<bool> TlsStream::try_fill() {
    ByteSpace space = input_space();
    std::optional<std::size_t> count = WEFT_TRY(below_->try_read(space));
    if (!count) {
        // Without a read that waits the buffer is freed: an idle connection keeps none.
        input_.reset();
        input_bytes_ = 0;
        return false;
    }
    supply(space, *count);
    return true;
}

// No value: more ciphertext is needed.
Result<std::optional<std::size_t>> TlsStream::read_once(ByteSpace space, Deadline deadline) {
    bool has_replied = false;
    bool has_too_many_replies = false;
    bool has_sessions = false;
    Result<std::optional<std::size_t>> count = [&] {
        SpinGuard guard(lock_);
        std::size_t before = connection_->output().size();
        auto outcome = connection_->read(space);
        WEFT_DASSERT(connection_->output().size() >= before, "output is taken under the lock only");
        // Without what a writer has put there: a reader must not wait until that is sent, or two
        // peers that both read and write would wait for each other.
        has_replied = connection_->output().size() > before;
        replies_bytes_ += connection_->output().size() - before;
        has_too_many_replies = replies_bytes_ > kRepliesBytesMax;
        has_sessions = connection_->has_sessions();
        return outcome;
    }();
    if (has_sessions) keep_sessions();
    if (!count) count.error() = with_peer(count.error(), "tls read from");
    // The protocol's own output (an alert, a key update) is sent now if that is possible without
    // waiting, else with the next write. Above the limit the reader waits until it is sent, so that
    // a peer which provokes replies and never reads them cannot fill the memory.
    if (has_too_many_replies) {
        WEFT_TRY(flush(deadline));
    } else if (has_replied) {
        static_cast<void>(try_flush());
    }
    return count;
}

Result<std::size_t> TlsStream::read(ByteSpace space, Deadline deadline) {
    // A record serves many small reads, none of which reaches the descriptor, so they count against
    // the turn here. A cancel is noticed when the record is used up.
    turn::may_wait("tls.read", this);
    for (;;) {
        std::optional<std::size_t> count = WEFT_TRY(read_once(space, deadline));
        if (count) return *count;
        WEFT_TRY(fill(deadline));
    }
}

Result<std::optional<std::size_t>> TlsStream::try_read(ByteSpace space) {
    for (;;) {
        std::optional<std::size_t> count = WEFT_TRY(read_once(space, Deadline::at(Instant::min())));
        if (count) return count;
        bool filled = WEFT_TRY(try_fill());
        if (!filled) return std::optional<std::size_t>();
    }
}

bool TlsStream::has_input() const {
    SpinGuard guard(lock_);
    return connection_->has_input();
}

bool TlsStream::has_buffered() const {
    SpinGuard guard(lock_);
    return connection_->has_plaintext() || connection_->has_input();
}

void TlsStream::keep_sessions() {
    if (!sessions_) return;
    std::vector<tls::OwnedSession> added = [&] {
        SpinGuard guard(lock_);
        return connection_->take_sessions();
    }();
    for (tls::OwnedSession& session : added) sessions_->put(server_, std::move(session));
}

// ---------------------------------------------------------------- writing

// Encrypts from the front until kOutputBytesMax is there to be sent; returns how much plaintext
// that was.
Result<std::size_t> TlsStream::encrypt(Parts& parts) {
    std::size_t count = 0;
    while (!parts.is_empty()) {
        Result<void> written;
        {
            SpinGuard guard(lock_);
            if (connection_->output().size() >= kOutputBytesMax) break;
            Bytes piece = parts.next();
            written = connection_->write(piece);
            count += piece.size();
        }
        if (!written) return with_peer(written.error(), "tls write to");
    }
    return count;
}

// True when all that was encrypted so far is sent.
Result<bool> TlsStream::try_flush() {
    SpinGuard guard(sending_lock_);
    for (;;) {
        if (sent_ == sending_.size()) {
            sending_.clear();
            sent_ = 0;
            if (sending_.capacity() > kOutputBytesKept) std::vector<std::byte>().swap(sending_);
            SpinGuard connection_guard(lock_);
            std::swap(sending_, connection_->output());
            if (sending_.empty()) replies_bytes_ = 0;
        }
        WEFT_DASSERT(sent_ <= sending_.size(), "no more was sent than was to send");
        if (sending_.empty()) return true;
        Bytes rest = Bytes(sending_).subspan(sent_);
        std::size_t count = WEFT_TRY(below_->try_write(std::span(&rest, 1)));
        WEFT_ASSERT(count <= rest.size(), "the stream below took more bytes than it was given");
        if (count == 0) return false;
        sent_ += count;
    }
}

Result<void> TlsStream::flush(Deadline deadline) {
    for (;;) {
        bool done = WEFT_TRY(try_flush());
        if (done) return {};
        WEFT_TRY(below_->descriptor().wait_writable(deadline));
    }
}

Result<void> TlsStream::write_all(Bytes bytes, Deadline deadline) {
    return write_all(std::span(&bytes, 1), deadline);
}

Result<void> TlsStream::write_all(std::span<const Bytes> given, Deadline deadline) {
    Parts parts(given);
    unreported_bytes_ -= parts.skip(unreported_bytes_);
    WEFT_DASSERT(parts.is_empty() || unreported_bytes_ == 0, "or bytes would be sent twice");
    do {
        std::size_t count = WEFT_TRY(encrypt(parts));
        WEFT_TRY(flush(deadline));
        // flush() only tries the stream below, which does not count against the turn.
        turn::may_wait("tls.write", this, turn::cost_of(count));
    } while (!parts.is_empty());
    return {};
}

// Only what was sent counts as taken: nobody would send the rest if the caller read next. What was
// encrypted but not sent is remembered, and skipped when the caller writes it again.
Result<std::size_t> TlsStream::try_write(std::span<const Bytes> given) {
    bool sent = WEFT_TRY(try_flush());
    if (!sent) return 0;
    Parts parts(given);
    std::size_t taken = parts.skip(unreported_bytes_);
    unreported_bytes_ -= taken;
    while (!parts.is_empty()) {
        WEFT_DASSERT(unreported_bytes_ == 0, "or bytes would be sent twice");
        std::size_t encrypted = WEFT_TRY(encrypt(parts));
        sent = WEFT_TRY(try_flush());
        if (!sent) {
            unreported_bytes_ = encrypted;
            return taken;
        }
        taken += encrypted;
    }
    return taken;
}

Result<void> TlsStream::send_file(int file, std::uint64_t offset, std::uint64_t count,
                                  Deadline deadline) {
    auto buffer = std::make_unique_for_overwrite<std::byte[]>(kFileBytes);
    while (count > 0) {
        std::size_t wanted = std::min<std::uint64_t>(count, kFileBytes);
        std::size_t got = WEFT_TRY(read_sent_file(file, offset, {buffer.get(), wanted}, deadline));
        WEFT_ASSERT(got > 0 && got <= count, "or the loop would not end with the count");
        Bytes bytes(buffer.get(), got);
        WEFT_TRY(write_all(bytes, deadline));
        offset += bytes.size();
        count -= bytes.size();
    }
    return {};
}

}  // namespace weft::net
