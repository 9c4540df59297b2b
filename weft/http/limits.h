// The limits of this folder, and what their breach gives.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/base/time.h"
#include "weft/http/wire/chunked.h"
#include "weft/http/wire/head.h"

namespace weft::http {

// Of a server; each can be set in ServerOptions.
struct ServerLimits {
    wire::HeadLimits head;                   // 414, 431
    wire::ChunkedLimits chunked;             // 400
    std::uint64_t body_bytes = 1024 * 1024;  // 413; a route may raise it
    // Of the bodies of all requests together, as far as read_all() has them in memory, until their
    // requests end; 503 with Retry-After.
    std::uint64_t bodies_bytes = 256 * 1024 * 1024;

    Nanoseconds header_time = std::chrono::seconds(10);  // from its first byte; 408
    Nanoseconds body_idle = std::chrono::seconds(15);    // without a byte; 408
    // A body must come with at least this rate, counted anew over each body_grace; 408.
    std::uint64_t body_bytes_per_second = 1024;
    Nanoseconds body_grace = std::chrono::seconds(5);
    Nanoseconds idle = std::chrono::seconds(60);        // between requests; closed
    Nanoseconds write_time = std::chrono::seconds(30);  // without progress; closed
    Nanoseconds handshake = std::chrono::seconds(10);   // TLS; closed
    Nanoseconds request_time = Nanoseconds::max();      // of a handler; its context ends, 503

    std::uint64_t requests_per_connection = 10'000;      // Connection: close
    Nanoseconds connection_age = std::chrono::hours(1);  // give or take 15 %; Connection: close
    // A request whose body was not read: so much more is read and dropped, else closed.
    std::uint64_t linger_bytes = 256 * 1024;
    Nanoseconds linger_time = std::chrono::seconds(2);

    // 0: what the process may have of descriptors but for an eighth, at most 65,536. One more takes
    // the place of the one that has been idle for longest; where nobody is, it is closed at once.
    std::size_t connections = 0;
    // 0: a quarter of those, at least 64. A /64 of IPv6 is one address. Closed at once.
    std::size_t connections_per_address = 0;
    // These hold for the whole server, however many workers serve.
    std::size_t requests = 16'384;                      // in handlers at once; the others wait
    std::size_t requests_waiting = 4'096;               // 503 with Retry-After
    Nanoseconds queue_delay = std::chrono::seconds(1);  // 503 with Retry-After
};

// To a client: more responses of the 1xx kind than this before the real one are Limit.
inline constexpr unsigned kInformationalMax = 32;
// Of what one connection reads at a time.
inline constexpr std::size_t kReadBufferBytes = 16 * 1024;
// Responses to pipelined requests are gathered up to this.
inline constexpr std::size_t kWriteGatherBytes = 16 * 1024;
// Of a body in memory: so much is copied behind its head to leave in one piece.
inline constexpr std::size_t kSmallBodyBytes = 4 * 1024;
// Handed to the kernel at once; write_time counts for each.
inline constexpr std::size_t kWriteSliceBytes = 256 * 1024;

}  // namespace weft::http
