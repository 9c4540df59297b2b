// The sessions that a client keeps, to resume them with the same server.
#pragma once

#include <cstddef>
#include <list>
#include <string>

#include "weft/base/spin_lock.h"
#include "weft/net/tls/internal/openssl.h"

namespace weft::net::tls {

// The sessions that came last, by server ("host:port"). Any thread.
class SessionCache {
public:
    // So many for one server, as a client may open several connections to it at once.
    static constexpr std::size_t kSessionsOfServerMax = 4;

    explicit SessionCache(std::size_t sessions_max) : sessions_max_(sessions_max) {}

    void put(const std::string& server, OwnedSession session);
    // Null when there is none. A ticket of TLS 1.3 is used once (RFC 8446 §C.4), or an observer
    // could tell that two connections are of the same client.
    OwnedSession take(const std::string& server);

private:
    struct Entry {
        std::string server;
        OwnedSession session;
    };

    const std::size_t sessions_max_;
    SpinLock lock_;
    std::list<Entry> entries_;  // the newest first
};

}  // namespace weft::net::tls
