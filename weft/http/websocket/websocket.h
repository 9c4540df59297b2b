// WebSocket: messages both ways over a stream whose handshake is done (RFC 6455, RFC 7692).
//
//     WebSocket socket(upgraded.stream, upgraded.early, Role::Server, {.deflate = agreed});
//     while (auto message = socket.receive()) {
//         if (!socket.send(message->type, message->payload)) break;
//     }
//     log(socket.close_code());
//
// One fiber at a time receives; any fiber may send, ping and close meanwhile. Pings are answered,
// and sent to a peer that is silent, inside receive(): who does not receive does not notice that
// the peer has gone.
//
// An error other than TimedOut and Cancelled of receive() ends the connection, and so does any
// error of sending, since a frame may have been cut; both close the stream. The destructor closes
// an owned stream without a handshake and does not wait: call close() before.
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
    std::string protocol = {};                                       // the same; empty: none
    // A peer that was silent for so long is sent a ping, and has then so long to say anything.
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

    // `early` is what was read behind the handshake. The stream is borrowed and outlives this, or
    // is owned.
    WebSocket(net::Stream& stream, Bytes early, WebSocketRole role,
              const WebSocketOptions& options = {});
    WebSocket(std::unique_ptr<net::Stream> stream, Bytes early, WebSocketRole role,
              const WebSocketOptions& options = {});
    WebSocket(const WebSocket&) = delete;
    WebSocket& operator=(const WebSocket&) = delete;
    ~WebSocket();

    // The next message. Closed when the peer has closed the connection, has vanished, or does not
    // answer pings; Other when it broke the protocol, and was told so. TimedOut at the deadline:
    // nothing is lost, and it can be called again.
    Result<Message> receive(Deadline deadline = Deadline::never());

    // Whole messages, one after the other. Misuse for what must not be sent (see wire/websocket.h),
    // Closed once a Close was sent; neither ends the connection.
    Result<void> send(MessageType type, std::string_view payload);
    Result<void> send_text(std::string_view text) { return send(MessageType::Text, text); }
    Result<void> send_binary(std::string_view bytes) { return send(MessageType::Binary, bytes); }
    Result<void> ping(std::string_view payload = {});

    // Tells the peer, waits until it has answered, drops what it still says, and closes the stream.
    // TimedOut when it has not answered within close_time. Idempotent.
    Result<void> close(std::uint16_t code = wire::websocket::close_code::kNormal,
                       std::string_view reason = {});

    // Of the peer's Close: kNoStatus if it had none, kAbnormal while or if there was none. To be
    // asked by whom receive() or close() has given an answer.
    std::uint16_t close_code() const { return peer_code_; }
    std::string_view close_reason() const { return peer_reason_; }

    std::string_view protocol() const { return options_.protocol; }  // the subprotocol
    net::Stream& stream() { return *stream_; }

private:
    // RFC 6455 §10.3: keys that the peer cannot foresee though it sees those before.
    class MaskKeys {
    public:
        MaskKeys();
        std::uint32_t next();

    private:
        std::array<std::uint64_t, 3> secret_;  // the last is a counter
    };

    Result<void> await_bytes(Deadline deadline);
    Result<void> keep_alive();
    Result<Message> end(const wire::websocket::Event& event);
    Result<void> await_close();
    // Writes what `append` puts into the frames; under sending_.
    template <class Append>
    Result<void> write(Append append);
    void linger();

    std::unique_ptr<net::Stream> owned_;
    net::Stream* stream_;
    WebSocketRole role_;
    WebSocketOptions options_;

    // Of whom receives.
    Mutex receiving_;
    wire::websocket::Receiver receiver_;
    std::vector<std::byte> buffer_;
    Bytes unread_;         // in buffer_
    Instant heard_;        // when the peer last sent anything
    bool pinged_ = false;  // since then
    bool ended_ = false;
    std::uint16_t peer_code_ = wire::websocket::close_code::kAbnormal;
    std::string peer_reason_;

    // Of whom sends.
    Mutex sending_;
    MaskKeys mask_keys_;
    wire::websocket::Sender sender_;
    std::string frames_;
    bool close_sent_ = false;
};

}  // namespace weft::http
