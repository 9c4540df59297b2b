// SocketLink: connects the WebSocket object of a script with the fibers that send and receive for
// it.
//
// One fiber writes what the script has sent, in order: the connection's fiber on a server, a task's
// fiber on a client. Messages are received by another fiber, one task per message. So a script that
// takes messages slowly slows its peer down. A script that sends faster than the peer takes can see
// this by buffered().
//
// The http::WebSocket belongs to the caller of run(), which returns when the connection is closed,
// no fiber is in receive(), and the script was told of the end.
//
// Owning worker only: its loop (put, close, go_away) and its fibers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "weft/base/result.h"
#include "weft/http/websocket/websocket.h"
#include "weft/sync/event.h"

namespace weft::api {

// How a connection ended, as the close event reports it.
struct SocketEnd {
    std::uint16_t code = http::wire::websocket::close_code::kAbnormal;
    std::string reason;
    std::string failure;  // not empty if the connection was not closed properly
};

class SocketLink {
public:
    // Limit on the bytes that wait to be sent. Beyond it the connection fails.
    static constexpr std::size_t kBufferedMax = std::size_t{16} * 1024 * 1024;

    // ---- the script
    // Returns false if the limit was exceeded; the connection ends then. After close() messages are
    // ignored.
    bool put(http::MessageType type, std::string payload);
    // Closes the connection after everything sent so far was written. Only the first call has an
    // effect.
    void close(std::uint16_t code, std::string reason);
    std::size_t buffered() const { return buffered_; }

    // ---- called at the end of the application
    // Closes with kGoingAway.
    void go_away();
    // The same, when no script remains that could be told of the end.
    void forget_script();

    // ---- fibers
    // Sends for the open connection until it is closed.
    void run(http::WebSocket& socket);
    // The connection was never opened, because the client went away before.
    void never_began();
    // Waits until the connection is open or has failed to open; true if it is open.
    Result<bool> opened();
    // The next message. If it gives nothing, the connection has ended, and end() says how.
    std::optional<http::WebSocket::Message> receive();
    const SocketEnd& end() const { return end_; }

private:
    struct Closing {
        std::uint16_t code;
        std::string reason;
    };

    void write_all(http::WebSocket& socket);
    void note_end(const Error& error);

    std::deque<http::WebSocket::Message> waiting_;
    std::size_t buffered_ = 0;
    std::optional<Closing> closing_;
    Event wake_;                         // wakes run(): there is something to write, or the end
    Event begun_;                        // run() has begun, or never will
    Event left_;                         // no fiber is in receive()
    Event told_;                         // the script was told of the end
    http::WebSocket* socket_ = nullptr;  // not null while run() runs
    bool receiving_ = false;
    bool over_ = false;  // the peer has closed or is gone
    SocketEnd end_;
};

}  // namespace weft::api
