// Opens a client's connection: looks up the name, connects by TCP, asks a proxy by CONNECT where
// there is one, and does the TLS handshake. Any fiber; it waits.
#pragma once

#include <memory>

#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/net/stream.h"

namespace weft::http {

class Origin;
struct ClientTimeouts;

// An error names the destination and the phase.
Result<std::unique_ptr<net::Stream>> open_connection(const Origin& origin,
                                                     const ClientTimeouts& timeouts,
                                                     Deadline total);

}  // namespace weft::http
