// A room for people with WebSockets: what one says, all hear. Shared by two of the examples.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "weft/async/scope.h"
#include "weft/http/websocket/upgrade.h"
#include "weft/sync/channel.h"
#include "weft/sync/mutex.h"

class ChatRoom {
public:
    // For accept_websocket(): returns when the guest has left, or the room is closed. Notes are
    // sent as they are, what people say as "name<TAB>text".
    void enter(weft::http::WebSocket& socket) {
        // Who listens slowly has 64 lines of patience, and then misses some; nobody waits for them.
        weft::Channel<std::string> heard(64);
        std::string name = add(heard);
        static_cast<void>(weft::async::run_scope(
            weft::async::ScopeKind::Request, [&](weft::async::Scope& scope) -> weft::Result<void> {
                WEFT_TRY(scope.spawn("listen", [&] {
                    auto told = heard.for_each(
                        [&](const std::string& line) { return socket.send_text(line); });
                    if (!told) return;  // the guest has gone
                    static_cast<void>(
                        socket.close(weft::http::wire::websocket::close_code::kGoingAway));
                }));
                tell(name + " is here");
                while (auto message = socket.receive()) tell(name + "\t" + message->payload);
                return {};
            }));
        remove(name);
        tell(name + " has left");
    }

    void close() {
        std::lock_guard guard(mutex_);
        closed_ = true;
        for (auto& [name, heard] : guests_) heard->close();
    }

private:
    std::string add(weft::Channel<std::string>& heard) {
        std::lock_guard guard(mutex_);
        std::string name = "Guest " + std::to_string(++count_);
        guests_[name] = &heard;
        if (closed_) heard.close();
        return name;
    }
    void remove(const std::string& name) {
        std::lock_guard guard(mutex_);
        guests_.erase(name);
    }
    void tell(const std::string& line) {
        std::lock_guard guard(mutex_);
        for (auto& [name, heard] : guests_) static_cast<void>(heard->try_send(line));
    }

    weft::Mutex mutex_;
    std::map<std::string, weft::Channel<std::string>*> guests_;
    unsigned count_ = 0;
    bool closed_ = false;
};
