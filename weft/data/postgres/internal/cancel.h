// The request to stop a statement, sent over a connection of its own.
//
// PostgreSQL is asked by a new connection that names the session and shows its key; when it has
// passed the request on it closes that connection. Who has seen the end of both, of that connection
// and of the statement, knows that no cancel is under way any more. libpq's PQcancel() blocks (and
// before libpq 17 shows the key to the network even where the session has TLS), so it is not used.
#pragma once

#include <libpq-fe.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "weft/base/result.h"
#include "weft/net/address.h"
#include "weft/net/tls/tls_config.h"
#include "weft/sync/mutex.h"

namespace weft::data::postgres {

// What the connection of a cancel demands of the server, where that of its session is encrypted.
// Made when it is first needed, because that reads files. Any fiber.
class CancelContext {
public:
    explicit CancelContext(net::tls::ClientConfig config) : config_(std::move(config)) {}

    Result<net::tls::ClientContext*> get();

private:
    net::tls::ClientConfig config_;
    Mutex mutex_;  // context_
    std::optional<net::tls::ClientContext> context_;
};

struct CancelTls {
    std::shared_ptr<CancelContext> context;  // shared by the connector and its links
    std::string host;                        // whom the certificate must be for
};

class CancelKey {
public:
    // Of a session that is connected. Nothing if this libpq does not tell.
    static Result<std::optional<CancelKey>> of(PGconn* pg);

    // Returns when the server has passed the request on. Waits, and honours the ambient token.
    Result<void> send(PGconn* pg, const CancelTls& tls) const;

private:
    CancelKey() = default;
    Result<void> send_request(bool encrypted, const CancelTls& tls) const;

    net::Address address_;
    int process_ = 0;
    int key_ = 0;
};

}  // namespace weft::data::postgres
