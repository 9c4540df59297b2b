// DebugServer: where clients of V8's debugger come in, such as Chrome's developer tools and
// editors.
//
//     GET /json, /json/list       the isolates, as Node.js lists them
//     GET /json/version
//     WebSocket /<id>             a session of the DevTools protocol with one of them
//
// Whoever reaches it can run what he likes in the isolates. So pages in a browser must not: a Host
// that is a name, which may have been made to mean this machine, is refused, and so is a WebSocket
// of a page that is not one of the developer tools'.
//
// It serves on the workers without an isolate, so that one that stands at a breakpoint does not
// hold it up. Each client has a session of its own; what one of them stops stands still for all.
//
// Any fiber; open() and the destructor by one of a worker without an isolate.
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
        std::string path;  // of what it runs; absolute
        // Shared with the application and the sessions.
        std::shared_ptr<api::DebugDoor> door;
    };
    // Called for each isolate that was not there before, with the URL of its WebSocket.
    using OnTarget = std::function<void(std::string_view url)>;

    static Result<std::unique_ptr<DebugServer>> open(const net::Address& address,
                                                     OnTarget on_target);
    ~DebugServer();
    DebugServer(const DebugServer&) = delete;
    DebugServer& operator=(const DebugServer&) = delete;

    // An isolate, by a name for its place in the program. Where another one had that name, this one
    // takes over its id, and the sessions of the other end.
    void offer(std::string_view place, Target target);
    // Ends all sessions; what stood at a breakpoint goes on. Nobody comes in any more. Waits until
    // the clients have been told what there was to be told, but not for long. Idempotent.
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
bool names_no_foreign_host(std::string_view host);

}  // namespace weft::app
