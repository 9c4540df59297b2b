// DebugServer: the HTTP server for clients of V8's debugger, such as Chrome's developer tools and
// editors.
//
//     GET /json, /json/list       the isolates, as Node.js lists them
//     GET /json/version
//     WebSocket /<id>             a session of the DevTools protocol with one of them
//
// A client can run any code in the isolates, so pages in a browser must not connect. A request
// whose Host is a name is refused, because DNS may have been made to resolve that name to this
// machine (DNS rebinding); and so is a WebSocket from a page other than the developer tools.
//
// It serves on workers without an isolate, so that a worker that is paused at a breakpoint does
// not block it. Each client has a session of its own; when one of them pauses an isolate, it is
// paused for all.
//
// Any fiber; open() and the destructor only on a worker without an isolate.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/api/host.h"
#include "weft/base/result.h"
#include "weft/http/response.h"
#include "weft/http/server/server.h"
#include "weft/net/address.h"
#include "weft/sync/mutex.h"
#include "weft/sync/wait_group.h"

namespace weft::http {
class Request;
class WebSocket;
}  // namespace weft::http

namespace weft::app {

class DebugServer {
public:
    struct Target {
        std::string title;
        std::string path;  // of its script; absolute
        // Shared with the application and the sessions.
        std::shared_ptr<api::DebugDoor> door;
    };
    // Called for each new isolate, with the URL of its WebSocket.
    using OnTarget = std::function<void(std::string_view url)>;

    static Result<std::unique_ptr<DebugServer>> open(const net::Address& address,
                                                     OnTarget on_target);
    ~DebugServer();
    DebugServer(const DebugServer&) = delete;
    DebugServer& operator=(const DebugServer&) = delete;

    // Adds an isolate. `place` names its position in the program: if another isolate had that name,
    // this one takes over its id, and the sessions of the other one end.
    void offer(std::string_view place, Target target);
    // Ends all sessions, so that paused isolates go on, and accepts no more clients. Waits a
    // limited time until the clients have received their last messages. Idempotent.
    void close();

private:
    struct Entry {
        std::string place;
        std::string id;
        Target target;
    };

    explicit DebugServer(OnTarget on_target);
    Result<http::Response> answer(http::Request& request);
    http::Response connect(const http::Request& request);
    std::string list(std::string_view host);
    std::shared_ptr<api::DebugDoor> door_of(std::string_view id);

    OnTarget on_target_;
    net::Address address_;
    Mutex lock_;
    std::vector<Entry> entries_;
    bool closed_ = false;
    WaitGroup clients_;
    std::unique_ptr<http::Server> server_;
};

// Whether a Host field is an address, or localhost; with or without a port.
bool is_address_or_localhost(std::string_view host);

}  // namespace weft::app
