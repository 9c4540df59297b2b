// Opens the connections of a client: names, TCP, the proxy's CONNECT, TLS.
#pragma once

#include <memory>

#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/net/stream.h"

namespace weft::http {

class Origin;
struct ClientTimeouts;

// An error says where to, and in which phase.
Result<std::unique_ptr<net::Stream>> open_connection(const Origin& origin,
                                                     const ClientTimeouts& timeouts,
                                                     Deadline total);

}  // namespace weft::http
