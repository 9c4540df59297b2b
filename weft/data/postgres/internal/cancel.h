// CancelKey: asks the server to stop the statement of a session, over a separate connection.
//
// The cancelling connection names the session and shows its key; the server closes it after it has
// passed the request on. When both that connection and the statement have ended, no cancel is under
// way any more. libpq's PQcancel() is not used: it blocks, and before libpq 17 it sends the key in
// clear text even where the session uses TLS. Fibers and plain threads.
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

// The TLS settings of cancelling connections, for sessions that are encrypted. The context is
// created when first needed, because that reads files. Any fiber.
class CancelContext {
public:
    explicit CancelContext(net::tls::ClientConfig config) : config_(std::move(config)) {}

    Result<net::tls::ClientContext*> get();

private:
    net::tls::ClientConfig config_;
    Mutex mutex_;  // protects context_
    std::optional<net::tls::ClientContext> context_;
};

struct CancelTls {
    std::shared_ptr<CancelContext> context;  // shared by the connector and its links
    std::string host;                        // the name that the certificate must match
};

class CancelKey {
public:
    // The key of a connected session; empty if this version of libpq does not reveal it.
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
