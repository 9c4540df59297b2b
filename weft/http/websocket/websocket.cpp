#include "weft/http/websocket/websocket.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/base/format.h"
#include "weft/http/limits.h"
#include "weft/http/wire/sha1.h"

namespace weft::http {
namespace {

namespace close_code = wire::websocket::close_code;
using wire::websocket::Event;

// How long, and how many bytes, are read and dropped after the Close; see linger().
constexpr Nanoseconds kLingerTime = std::chrono::seconds(1);
constexpr std::size_t kLingerBytes = 256 * 1024;
// The largest frame that is sent. A larger message is sent in several frames, because some peers
// limit the size of one.
constexpr std::size_t kFrameBytesSent = 1024 * 1024;
// The buffer for outgoing frames is kept for the next message up to this size.
constexpr std::size_t kKeptBytesMax = 64 * 1024;

}  // namespace

WebSocket::MaskKeys::MaskKeys()
    : secret_{env::random(RandomStream::Secret), env::random(RandomStream::Secret), 0} {}

std::uint32_t WebSocket::MaskKeys::next() {
    ++secret_[2];
    auto digest = wire::sha1(std::as_bytes(std::span(secret_)));
    // Without SHA-1 take a random number, which is as unpredictable, but costs a system call for
    // each frame.
    if (!digest) return static_cast<std::uint32_t>(env::random(RandomStream::Secret));
    std::uint32_t key = 0;
    std::memcpy(&key, digest->data(), sizeof key);
    return key;
}

WebSocket::WebSocket(net::Stream& stream, Bytes early, WebSocketRole role,
                     const WebSocketOptions& options)
    : stream_(&stream),
      role_(role),
      options_(options),
      receiver_(role, options.limits, options.deflate),
      buffer_(std::max(early.size(), kReadBufferBytes)),
      last_heard_(Clock::now()),
      sender_(role, {.deflate = options.deflate,
                     .frame_bytes = std::min(options.limits.frame_bytes, kFrameBytesSent),
                     .mask_key = [this] { return mask_keys_.next(); }}) {
    std::ranges::copy(early, buffer_.begin());
    unread_ = Bytes(buffer_).first(early.size());
}

WebSocket::WebSocket(std::unique_ptr<net::Stream> stream, Bytes early, WebSocketRole role,
                     const WebSocketOptions& options)
    : WebSocket(*stream, early, role, options) {
    owned_ = std::move(stream);
}

WebSocket::~WebSocket() {
    if (owned_) owned_->close();
}

Result<WebSocket::Message> WebSocket::receive(Deadline deadline) {
    WEFT_TRY(receiving_.lock_cancellable(deadline));
    std::lock_guard guard(receiving_, std::adopt_lock);
    bool read = false;
    while (!ended_) {
        Event event = receiver_.receive(unread_);
        switch (event.kind) {
        case Event::Kind::Message: return Message{event.type, receiver_.take_message()};
        case Event::Kind::Ping:
            WEFT_TRY(write_while_receiving([&] { return sender_.pong(frames_, event.payload); }));
            break;
        case Event::Kind::Pong: break;
        case Event::Kind::Close:
        case Event::Kind::Failed: return end_receiving(event);
        case Event::Kind::NeedMore:
            // The deadline must hold even if pings keep arriving, so that reads never wait.
            if (std::exchange(read, true) && deadline.expired(Clock::now())) {
                return ErrorKind::TimedOut;
            }
            WEFT_TRY(await_bytes(deadline));
            break;
        }
    }
    return ErrorKind::Closed;
}

// Reads bytes into unread_, or fails at the caller's deadline. Pings a silent peer meanwhile.
Result<void> WebSocket::await_bytes(Deadline deadline) {
    WEFT_ASSERT(unread_.empty(), "bytes that were not parsed would be lost");
    for (;;) {
        Deadline silence =
            Deadline::after(pinged_ ? options_.pong_timeout : options_.ping_interval, last_heard_);
        auto count = stream_->read(buffer_, earlier(deadline, silence));
        if (count && *count > 0) {
            WEFT_ASSERT(*count <= buffer_.size(), "a read fills its space at most");
            unread_ = Bytes(buffer_).first(*count);
            last_heard_ = Clock::now();
            pinged_ = false;
            return {};
        }
        if (!count && count.error().kind() == ErrorKind::Cancelled) return count.error();
        if (!count && count.error().kind() == ErrorKind::TimedOut) {
            // The deadline of the caller has passed, or the ambient one, which read() honours too.
            if (!silence.expired(Clock::now())) return count.error();
            if (!pinged_) {
                WEFT_TRY(ping_silent_peer());
                continue;
            }
        }
        ended_ = true;
        stream_->close();
        if (count) return Error(ErrorKind::Closed, "the peer has gone without a Close");
        if (count.error().kind() != ErrorKind::TimedOut) return count.error();
        return Error(ErrorKind::Closed,
                     format("the peer has not answered a ping for {} ms "
                            "(WebSocketOptions::pong_timeout)",
                            options_.pong_timeout / std::chrono::milliseconds(1)));
    }
}

Result<void> WebSocket::ping_silent_peer() {
    WEFT_ASSERT(!pinged_, "a peer that does not answer a ping has gone");
    pinged_ = true;
    last_heard_ = Clock::now();
    return write_while_receiving([&] { return sender_.ping(frames_); });
}

// Ends receiving after a Close of the peer, or after an error, of which the peer is told by a
// Close.
Result<WebSocket::Message> WebSocket::end_receiving(const Event& event) {
    WEFT_ASSERT(!ended_, "receiving ends once");
    WEFT_ASSERT(event.kind == Event::Kind::Close || event.kind == Event::Kind::Failed);
    ended_ = true;
    bool failed = event.kind == Event::Kind::Failed;
    Error error = failed ? Error(ErrorKind::Other, event.payload) : Error(ErrorKind::Closed);
    if (event.limit_name)
        error =
            Error::limit(event.payload, event.limit, "websocket::" + std::string(event.limit_name));
    std::uint16_t code = event.close_code;
    if (!failed) {
        peer_code_ = code;
        peer_reason_ = event.payload;
    }
    // The connection ends here in any case, so that a failure to send the Close does not matter.
    static_cast<void>(write([&] {
        close_sent_ = true;
        return sender_.close(frames_, code);
    }));
    linger();
    return error;
}

template <class Append>
Result<void> WebSocket::write(Append append) {
    Deadline deadline = Deadline::after(options_.write_time);
    WEFT_TRY(sending_.lock_cancellable(deadline));
    std::lock_guard guard(sending_, std::adopt_lock);
    if (close_sent_) return ErrorKind::Closed;
    frames_.clear();
    WEFT_TRY(append());
    WEFT_DASSERT(frames_.size() >= 2, "no frame is smaller");
    auto written = stream_->write_all(as_bytes(frames_), deadline);
    if (frames_.capacity() > kKeptBytesMax) frames_ = {};
    if (written) return {};
    close_sent_ = true;  // a part of a frame may have been sent, and nothing can follow that
    stream_->close();
    return written;
}

// Sends a frame for receive(), whose TimedOut means that nothing is lost: a peer that does not take
// the frame in time has gone.
template <class Append>
Result<void> WebSocket::write_while_receiving(Append append) {
    Result<void> sent = write(append);
    // Closed: a Close was sent, which no frame may follow (RFC 6455 §5.5.1).
    if (sent || sent.error().kind() == ErrorKind::Closed) return {};
    if (sent.error().kind() != ErrorKind::TimedOut) return sent;
    ended_ = true;
    stream_->close();
    return Error(ErrorKind::Closed, format("the peer has taken no ping and no pong for {} ms "
                                           "(WebSocketOptions::write_time)",
                                           options_.write_time / std::chrono::milliseconds(1)));
}

Result<void> WebSocket::send(MessageType type, std::string_view payload) {
    return write([&] { return sender_.message(frames_, type, payload); });
}

Result<void> WebSocket::ping(std::string_view payload) {
    return write([&] { return sender_.ping(frames_, payload); });
}

Result<void> WebSocket::close(std::uint16_t code, std::string_view reason) {
    auto sent = write([&] {
        auto appended = sender_.close(frames_, code, reason);
        if (appended) close_sent_ = true;
        return appended;
    });
    // Closed: a Close was sent before. Then only the peer's Close has to be awaited.
    if (!sent && sent.error().kind() != ErrorKind::Closed) return sent;
    auto answered = await_close();
    if (!answered) stream_->close();
    return answered;
}

Result<void> WebSocket::await_close() {
    Deadline deadline = Deadline::after(options_.close_time);
    for (;;) {
        auto message = receive(deadline);
        if (message) {
            if (deadline.expired(Clock::now())) return ErrorKind::TimedOut;
            continue;
        }
        if (message.error().kind() == ErrorKind::Closed) return {};
        return message.error();
    }
}

// Reads and drops what the peer still sends, and closes the stream. A socket that is closed with
// bytes unread sends a reset, which can overtake our Close. RFC 6455 §7.1.1: the server is the
// first to close.
void WebSocket::linger() {
    WEFT_ASSERT(ended_, "what still comes is dropped");
    Deadline deadline = Deadline::after(kLingerTime);
    std::size_t dropped = 0;
    if (role_ == WebSocketRole::Client || stream_->shutdown_write(deadline)) {
        while (dropped < kLingerBytes) {
            auto count = stream_->read(buffer_, deadline);
            if (!count || *count == 0) break;
            dropped += *count;
        }
    }
    stream_->close();
}

}  // namespace weft::http
