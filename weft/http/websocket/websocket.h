// WebSocket: sends and receives messages over a stream after the handshake (RFC 6455, RFC 7692).
//
//     WebSocket socket(upgraded.stream, upgraded.early, Role::Server, {.deflate = agreed});
//     while (auto message = socket.receive()) {
//         if (!socket.send(message->type, message->payload)) break;
//     }
//     log(socket.close_code());
//
// One fiber at a time receives; any fiber may send, ping and close at the same time. receive()
// answers pings, and pings a silent peer: a program that does not call it does not notice that the
// peer has gone.
//
// An error of receive() other than TimedOut and Cancelled ends the connection and closes the
// stream. So does a failed write, because a part of a frame may have been sent. The destructor
// closes an owned stream without a closing handshake, and does not wait: call close() before.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/http/wire/websocket.h"
#include "weft/net/stream.h"
#include "weft/sync/mutex.h"

namespace weft::http {

using WebSocketRole = wire::websocket::Role;
using MessageType = wire::websocket::MessageType;

struct WebSocketOptions {
    wire::websocket::Limits limits = {};
    std::optional<wire::websocket::DeflateParameters> deflate = {};  // as the handshake agreed
    std::string protocol = {};  // the subprotocol, as the handshake agreed; empty: none
    // A peer that was silent for ping_interval is sent a ping, and must then send something within
    // pong_timeout.
    Nanoseconds ping_interval = std::chrono::seconds(30);
    Nanoseconds pong_timeout = std::chrono::seconds(10);
    Nanoseconds write_time = std::chrono::seconds(30);  // of each message
    Nanoseconds close_time = std::chrono::seconds(5);   // for the peer to answer a Close
};

class WebSocket {
public:
    struct Message {
        MessageType type = MessageType::Binary;
        std::string payload;  // Text is UTF-8
    };

    // `early` are the bytes that were read behind the handshake. The stream is owned, or borrowed
    // and outlives this object.
    WebSocket(net::Stream& stream, Bytes early, WebSocketRole role,
              const WebSocketOptions& options = {});
    WebSocket(std::unique_ptr<net::Stream> stream, Bytes early, WebSocketRole role,
              const WebSocketOptions& options = {});
    WebSocket(const WebSocket&) = delete;
    WebSocket& operator=(const WebSocket&) = delete;
    ~WebSocket();

    // The next message. Closed when the peer has closed the connection, has vanished, does not
    // answer pings, or does not take ours. Other when it broke the protocol, Limit when a limit was
    // exceeded; the peer is then sent a Close with the reason. TimedOut at the deadline: nothing is
    // lost, and it can be called again.
    Result<Message> receive(Deadline deadline = Deadline::never());

    // Sends a whole message; messages of several fibers are not mixed. Misuse for what must not be
    // sent (see wire/websocket.h), Closed once a Close was sent; neither ends the connection.
    Result<void> send(MessageType type, std::string_view payload);
    Result<void> send_text(std::string_view text) { return send(MessageType::Text, text); }
    Result<void> send_binary(std::string_view bytes) { return send(MessageType::Binary, bytes); }
    Result<void> ping(std::string_view payload = {});

    // Sends a Close, waits for the peer's, drops messages that still arrive, and closes the stream.
    // TimedOut when the peer has not answered within close_time. Idempotent.
    Result<void> close(std::uint16_t code = wire::websocket::close_code::kNormal,
                       std::string_view reason = {});

    // From the peer's Close: kNoStatus if it had no code, kAbnormal if none has come. To be asked
    // by the fiber that receives, after receive() or close() has returned.
    std::uint16_t close_code() const { return peer_code_; }
    std::string_view close_reason() const { return peer_reason_; }

    std::string_view protocol() const { return options_.protocol; }  // the subprotocol
    net::Stream& stream() { return *stream_; }

private:
    // RFC 6455 §10.3: masking keys that the peer cannot predict from those it has seen.
    class MaskKeys {
    public:
        MaskKeys();
        std::uint32_t next();

    private:
        std::array<std::uint64_t, 3> secret_;  // the last is a counter
    };

    Result<void> await_bytes(Deadline deadline);
    Result<void> ping_silent_peer();
    Result<Message> end_receiving(const wire::websocket::Event& event);
    Result<void> await_close();
    // Locks sending_, calls append(), and sends what that has put into frames_.
    template <class Append>
    Result<void> write(Append append);
    template <class Append>
    Result<void> write_while_receiving(Append append);
    void linger();

    std::unique_ptr<net::Stream> owned_;  // null: the stream is borrowed
    net::Stream* stream_;
    WebSocketRole role_;
    WebSocketOptions options_;

    // The state of the receiver, guarded by receiving_.
    Mutex receiving_;
    wire::websocket::Receiver receiver_;
    std::vector<std::byte> buffer_;
    Bytes unread_;         // in buffer_
    Instant last_heard_;   // when the peer last sent anything, or was pinged
    bool pinged_ = false;  // a ping was sent at last_heard_
    bool ended_ = false;   // nothing more is received
    std::uint16_t peer_code_ = wire::websocket::close_code::kAbnormal;
    std::string peer_reason_;

    // The state of the sender, guarded by sending_.
    Mutex sending_;
    MaskKeys mask_keys_;
    wire::websocket::Sender sender_;
    std::string frames_;
    bool close_sent_ = false;  // or a frame was cut: nothing more may be sent
};

}  // namespace weft::http
