#include "weft/net/tls/internal/session_cache.h"

#include <utility>

#include "weft/base/assert.h"

namespace weft::net::tls {

void SessionCache::put(const std::string& server, OwnedSession session) {
    if (sessions_max_ == 0) return;
    // Allocated before the lock is taken and freed after it is released.
    std::list<Entry> added;
    std::list<Entry> dropped;
    added.push_back({server, std::move(session)});
    SpinGuard guard(lock_);
    entries_.splice(entries_.begin(), added);
    std::size_t of_server = 0;
    for (auto entry = entries_.begin(); entry != entries_.end();) {
        auto here = entry++;
        if (here->server == server && ++of_server > kSessionsOfServerMax)
            dropped.splice(dropped.end(), entries_, here);
    }
    if (entries_.size() > sessions_max_)
        dropped.splice(dropped.end(), entries_, std::prev(entries_.end()));
    WEFT_ASSERT(entries_.size() <= sessions_max_, "a new session makes at most one too many");
}

OwnedSession SessionCache::take(const std::string& server) {
    std::list<Entry> taken;
    SpinGuard guard(lock_);
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
        if (entry->server != server) continue;
        if (SSL_SESSION_get_protocol_version(entry->session.get()) < TLS1_3_VERSION) {
            SSL_SESSION_up_ref(entry->session.get());
            return OwnedSession(entry->session.get());
        }
        taken.splice(taken.end(), entries_, entry);
        return std::move(taken.front().session);
    }
    return nullptr;
}

}  // namespace weft::net::tls
