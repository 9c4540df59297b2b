// The state behind ServerContext and ClientContext.
#pragma once

#include <array>
#include <memory>

#include "weft/base/spin_lock.h"
#include "weft/net/tls/internal/certificates.h"
#include "weft/net/tls/internal/openssl.h"
#include "weft/net/tls/internal/session_cache.h"
#include "weft/net/tls/internal/tickets.h"
#include "weft/net/tls/tls_config.h"
#include "weft/sync/semaphore.h"

namespace weft::net::tls {

// Lets one fiber of each worker at a time compute a handshake, so that fibers which are ready for
// something else wait for one handshake and not for all that have come. Any fiber.
class HandshakeSlots {
public:
    Semaphore& here();

private:
    static constexpr std::size_t kWorkers = 16;  // further workers share the slots
    struct alignas(64) Slot {
        Semaphore free{1};
    };
    std::array<Slot, kWorkers> slots_;
};

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
    HandshakeSlots handshake_slots;
    SpinLock table_lock;
    // Shared by the context and the handshakes that began under this table.
    std::shared_ptr<const CertificateTable> current_table;
};

struct ClientContext::State {
    Verification verification = Verification::Full;
    OwnedSslContext context;
    // Shared by the context and its streams, which add new sessions as long as they read.
    std::shared_ptr<SessionCache> sessions;
};

}  // namespace weft::net::tls
