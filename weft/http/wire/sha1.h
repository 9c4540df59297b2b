// SHA-1 (FIPS 180-4), for the handshake of WebSocket, which asks for it (RFC 6455 §4.2.2). It is no
// protection against forgery: use it for nothing else. Any thread.
#pragma once

#include <array>
#include <cstddef>

#include "weft/base/bytes.h"
#include "weft/base/result.h"

namespace weft::http::wire {

// Unavailable where OpenSSL is configured to refuse it, as in FIPS mode.
Result<std::array<std::byte, 20>> sha1(Bytes bytes);

}  // namespace weft::http::wire
