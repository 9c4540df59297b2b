#include "weft/api/websocket/socket_link.h"

#include <utility>

#include "weft/base/assert.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"

namespace weft::api {
namespace {

namespace close_code = http::wire::websocket::close_code;

// Time limits for sending one message and for the peer's answer to the Close frame. They apply even
// when the fiber is cancelled, because an incomplete frame would break the connection.
constexpr Nanoseconds kWriteTime = std::chrono::seconds(30);
constexpr Nanoseconds kCloseTime = std::chrono::seconds(2);
// Time limit for the script to learn of the end.
constexpr Nanoseconds kTellTime = std::chrono::seconds(2);

}  // namespace

bool SocketLink::put(http::MessageType type, std::string payload) {
    if (closing_ || over_) return true;
    WEFT_ASSERT(buffered_ <= kBufferedMax, "each message was checked against the limit");
    if (payload.size() > kBufferedMax - buffered_) {
        waiting_.clear();
        close(close_code::kPolicy, "the peer is too slow");
        end_.failure = "more is waiting to be sent than the peer takes";
        return false;
    }
    buffered_ += payload.size();
    waiting_.push_back({type, std::move(payload)});
    wake_.set();
    return true;
}

void SocketLink::close(std::uint16_t code, std::string reason) {
    if (!closing_) closing_.emplace(Closing{code, std::move(reason)});
    wake_.set();
}

void SocketLink::go_away() { close(close_code::kGoingAway, {}); }

void SocketLink::forget_script() {
    waiting_.clear();
    go_away();
    told_.set();
}

void SocketLink::never_began() {
    if (begun_.is_set()) return;
    over_ = true;
    end_.failure = "the client went away";
    begun_.set();
}

Result<bool> SocketLink::opened() {
    WEFT_TRY(begun_.wait());
    return !over_;
}

void SocketLink::run(http::WebSocket& socket) {
    WEFT_ASSERT(!socket_, "one fiber runs the connection");
    socket_ = &socket;
    begun_.set();
    write_all(socket);
    WEFT_ASSERT(over_ || closing_, "writing ends when the connection is over or is to be closed");
    shield(Deadline::after(kCloseTime), [&] {
        // An error ends the connection too, and receive() reports it.
        if (!over_) static_cast<void>(socket.close(closing_->code, closing_->reason));
    });
    socket.stream().close();
    shield(Deadline::after(kTellTime), [&] {
        // The stream is closed, so a fiber in receive() leaves without waiting.
        while (receiving_) {
            left_.reset();
            if (!left_.wait()) yield();
        }
        if (!over_) note_end(Error(ErrorKind::Closed));
        socket_ = nullptr;
        static_cast<void>(told_.wait());
    });
}

// Writes until the script has closed and everything was written, or until the connection is over.
void SocketLink::write_all(http::WebSocket& socket) {
    while (!over_) {
        if (!waiting_.empty()) {
            http::WebSocket::Message message = std::move(waiting_.front());
            waiting_.pop_front();
            Result<void> sent = shield(Deadline::after(kWriteTime),
                                       [&] { return socket.send(message.type, message.payload); });
            WEFT_ASSERT(buffered_ >= message.payload.size(), "every message was counted in put()");
            buffered_ -= message.payload.size();
            if (!sent) return close(close_code::kGoingAway, {});
            continue;
        }
        if (closing_) return;
        wake_.reset();
        // Cancelled: the server drains, or the request of this connection is over.
        if (!wake_.wait()) go_away();
    }
}

std::optional<http::WebSocket::Message> SocketLink::receive() {
    static_cast<void>(begun_.wait());
    if (socket_ && !over_) {
        WEFT_DASSERT(!receiving_, "the script asks for one message at a time");
        receiving_ = true;
        Result<http::WebSocket::Message> message = socket_->receive();
        receiving_ = false;
        left_.set();
        if (message) return std::move(*message);
        note_end(message.error());
    }
    told_.set();
    return std::nullopt;
}

void SocketLink::note_end(const Error& error) {
    // The fiber was cancelled, which says nothing about the connection; run() closes it with a
    // Close frame.
    if (error.kind() == ErrorKind::Cancelled || error.kind() == ErrorKind::TimedOut)
        return go_away();
    if (socket_ && socket_->close_code() != close_code::kAbnormal) {
        end_.code = socket_->close_code();
        end_.reason = socket_->close_reason();
    } else if (end_.failure.empty() && error.kind() != ErrorKind::Closed) {
        end_.failure = error.message();
    }
    over_ = true;
    wake_.set();
}

}  // namespace weft::api
