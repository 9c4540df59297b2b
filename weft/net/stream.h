// Stream: an ordered, two-way stream of bytes to one other side.
//
// A Socket (socket.h) is one, and TLS over another Stream (tls/tls_stream.h) is one; protocols are
// written against this interface and know neither. Every wait parks a fiber, or blocks a plain
// thread, and honours the ambient token and the deadline.
//
// Any fiber and any thread; one may read while another writes and a third closes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "weft/base/bytes.h"
#include "weft/base/result.h"
#include "weft/base/time.h"

namespace weft {
class Descriptor;
}

namespace weft::net {

class Address;

// What was agreed on by a handshake. The texts live as long as the stream.
struct TlsSession {
    std::string_view protocol;     // "TLSv1.3"
    std::string_view cipher;       // OpenSSL's name
    std::string_view alpn;         // empty: none
    std::string_view server_name;  // SNI; empty: none
    std::string_view peer_name;    // of the verified certificate, RFC 2253; empty: none
    bool resumed = false;
};

class Stream {
public:
    virtual ~Stream() = default;

    // At least one byte, or 0 at the end (or for an empty space).
    virtual Result<std::size_t> read(ByteSpace space, Deadline deadline = Deadline::never()) = 0;
    // Without waiting: nothing when there is nothing yet.
    virtual Result<std::optional<std::size_t>> try_read(ByteSpace space) = 0;

    // All of it; an error may come after a part was written.
    virtual Result<void> write_all(Bytes bytes, Deadline deadline = Deadline::never()) = 0;
    // The parts one after the other, in as few system calls as can be.
    virtual Result<void> write_all(std::span<const Bytes> parts,
                                   Deadline deadline = Deadline::never()) = 0;
    // Without waiting: how much the other side could take now, perhaps nothing.
    virtual Result<std::size_t> try_write(std::span<const Bytes> parts) = 0;
    // `count` bytes of a file from `offset` on; Closed when the file ends before.
    virtual Result<void> send_file(int file, std::uint64_t offset, std::uint64_t count,
                                   Deadline deadline = Deadline::never()) = 0;

    // No more will be written; the other side reads to the end.
    virtual Result<void> shutdown_write(Deadline deadline = Deadline::never()) = 0;
    // Wakes everybody with Closed. Idempotent, does not wait.
    virtual void close() = 0;
    // Closing discards what was not sent and tells the peer by a reset.
    virtual Result<void> reset_on_close() = 0;

    // What to sleep on and to watch for hang-up.
    virtual Descriptor& descriptor() = 0;
    // Bytes that read() would give without asking the kernel: do not sleep on the descriptor.
    virtual bool has_buffered() const { return false; }

    virtual Address peer_address() const = 0;
    virtual Address local_address() const = 0;
    virtual const TlsSession* tls() const { return nullptr; }

protected:
    Stream() = default;
    Stream(Stream&&) = default;
    Stream& operator=(Stream&&) = default;
};

}  // namespace weft::net
