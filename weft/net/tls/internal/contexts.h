// The state behind ServerContext and ClientContext.
#pragma once

#include <memory>

#include "weft/base/spin_lock.h"
#include "weft/net/tls/internal/certificates.h"
#include "weft/net/tls/internal/openssl.h"
#include "weft/net/tls/internal/session_cache.h"
#include "weft/net/tls/internal/tickets.h"
#include "weft/net/tls/tls_config.h"

namespace weft::net::tls {

struct ServerContext::State {
    explicit State(ServerConfig given)
        : config(std::move(given)), tickets(config.ticket_key_lifetime) {}

    std::shared_ptr<const CertificateTable> table() {
        SpinGuard guard(table_lock);
        return current_table;
    }

    const ServerConfig config;  // without the identities, which are in the table
    OwnedSslContext context;
    std::vector<unsigned char> alpn;  // as on the wire
    TicketRing tickets;
    SpinLock table_lock;
    // Shared by the context and the handshakes that began under this table.
    std::shared_ptr<const CertificateTable> current_table;
};

struct ClientContext::State {
    Verification verification = Verification::Full;
    OwnedSslContext context;
    // Shared by the context and its streams, which hear of new sessions as long as they read.
    std::shared_ptr<SessionCache> sessions;
};

}  // namespace weft::net::tls
