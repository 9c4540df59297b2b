// SocketLink: a WebSocket between a script and the fibers that speak for it.
//
// One fiber writes what the script has sent, in order: that of the connection on a server, a task's
// on a client. Another one, a task for each message, receives. So a script that is slow to take
// messages slows its peer down, and one that sends faster than the peer takes is told by
// buffered().
//
// The WebSocket lives in the frame of run(), which returns when the connection is closed, nobody
// receives any more and the script has been told of the end.
//
// Owner's thread only: its loop (put, close, go_away) and its fibers.
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

// How a connection ended, as the close event says it.
struct SocketEnd {
    std::uint16_t code = http::wire::websocket::close_code::kAbnormal;
    std::string reason;
    std::string failure;  // not empty: it was no proper end
};

class SocketLink {
public:
    // A script that has more than this waiting has lost touch with its peer: the connection fails.
    static constexpr std::size_t kBufferedMax = std::size_t{16} * 1024 * 1024;

    // ---- the script
    // False: it would be too much, and the connection ends. After close() nothing is taken.
    bool put(http::MessageType type, std::string payload);
    // When what was sent before has left. The first one counts.
    void close(std::uint16_t code, std::string reason);
    std::size_t buffered() const { return buffered_; }

    // ---- whoever ends the application
    // Closes with kGoingAway.
    void go_away();
    // The same at once: there is nobody to be told of the end any more.
    void forget_script();

    // ---- fibers
    // The connection is there, and is spoken for until it is closed.
    void run(http::WebSocket& socket);
    // It never came to be: the client went away before.
    void never_began();
    // Waits until one of the two; true: it is there.
    Result<bool> opened();
    // The next message, or nothing: then end() says how it ended.
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
    Event wake_;                         // of run(): something to write, or the end
    Event begun_;                        // run() has begun, or never will
    Event left_;                         // nobody is in receive()
    Event told_;                         // the script knows of the end
    http::WebSocket* socket_ = nullptr;  // while run() runs
    bool receiving_ = false;
    bool over_ = false;  // the peer has closed or is gone
    SocketEnd end_;
};

}  // namespace weft::api
