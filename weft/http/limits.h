// The limits of this folder, and the response or the error when one is passed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/base/time.h"
#include "weft/http/wire/chunked.h"
#include "weft/http/wire/head.h"

namespace weft::http {

// Of a server; each can be set in ServerOptions. The comments name the status of the response when
// a limit is passed; "closed": there is none.
struct ServerLimits {
    wire::HeadLimits head;                   // 414, 431
    wire::ChunkedLimits chunked;             // 400
    std::uint64_t body_bytes = 1024 * 1024;  // 413; a route may change it
    // Of the bodies of all requests together that read_all() has in memory, until their requests
    // end; 503 with Retry-After.
    std::uint64_t bodies_bytes = 256 * 1024 * 1024;

    Nanoseconds header_time = std::chrono::seconds(10);  // from its first byte; 408
    Nanoseconds body_idle = std::chrono::seconds(15);    // without a byte; 408
    // A body must come at least at this rate, measured over each body_grace of waiting for it; 408.
    std::uint64_t body_bytes_per_second = 1024;
    Nanoseconds body_grace = std::chrono::seconds(5);
    Nanoseconds idle = std::chrono::seconds(60);        // between requests; closed
    Nanoseconds write_time = std::chrono::seconds(30);  // without progress; closed
    Nanoseconds handshake = std::chrono::seconds(10);   // TLS; closed
    Nanoseconds request_time = Nanoseconds::max();      // of a handler; its context ends, 503

    std::uint64_t requests_per_connection = 1'000'000;   // Connection: close
    Nanoseconds connection_age = std::chrono::hours(1);  // give or take 15 %; Connection: close
    // What a handler has left of a body is read and dropped up to this, so that the connection can
    // be kept; else it is closed.
    std::uint64_t linger_bytes = 256 * 1024;
    Nanoseconds linger_time = std::chrono::seconds(2);

    // 0: seven eighths of the descriptors that the process may have, at most 65,536. One more
    // evicts the connection that has been idle for longest; where none is idle, it is closed at
    // once.
    std::size_t connections = 0;
    // 0: a quarter of `connections`, at least 64. A /64 of IPv6 is one address. Closed at once.
    std::size_t connections_per_address = 0;
    // These are for the whole server, however many workers serve.
    std::size_t requests = 16'384;                      // in handlers at once; the others wait
    std::size_t requests_waiting = 4'096;               // 503 with Retry-After
    Nanoseconds queue_delay = std::chrono::seconds(1);  // 503 with Retry-After
};

// A client takes at most so many 1xx responses before the final one; more are Limit.
inline constexpr unsigned kInformationalMax = 32;
// The read buffer of a connection.
inline constexpr std::size_t kReadBufferBytes = 16 * 1024;
// Responses to pipelined requests are gathered up to this.
inline constexpr std::size_t kWriteGatherBytes = 16 * 1024;
// A body in memory up to this is copied behind its head, to be sent in one piece with it.
inline constexpr std::size_t kSmallBodyBytes = 4 * 1024;
// What is given to the kernel at once; write_time is for each slice.
inline constexpr std::size_t kWriteSliceBytes = 256 * 1024;
static_assert(kSmallBodyBytes <= kWriteGatherBytes, "a small body can be gathered");

}  // namespace weft::http
