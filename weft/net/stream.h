// Stream: an ordered, two-way stream of bytes to one peer.
//
// It is implemented by Socket (socket.h) and by TlsStream (TLS over another Stream,
// tls/tls_stream.h); protocols are written against this interface and do not know which of them
// carries them. Every wait parks a fiber, or blocks a plain thread, and honours the ambient token
// and the deadline.
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

// What a TLS handshake has agreed on. The texts live as long as the stream.
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

    // Reads at least one byte; 0 at the end of the stream (or for an empty space).
    virtual Result<std::size_t> read(ByteSpace space, Deadline deadline = Deadline::never()) = 0;
    // The same without waiting: no value when no byte has arrived yet.
    virtual Result<std::optional<std::size_t>> try_read(ByteSpace space) = 0;

    // Writes all of it. After an error a part may have been written.
    virtual Result<void> write_all(Bytes bytes, Deadline deadline = Deadline::never()) = 0;
    // Writes the parts one after the other, in as few system calls as possible.
    virtual Result<void> write_all(std::span<const Bytes> parts,
                                   Deadline deadline = Deadline::never()) = 0;
    // Writes without waiting, and returns how many bytes were taken, perhaps 0.
    virtual Result<std::size_t> try_write(std::span<const Bytes> parts) = 0;
    // Sends `count` bytes of a file from `offset` on; Closed when the file ends before that.
    virtual Result<void> send_file(int file, std::uint64_t offset, std::uint64_t count,
                                   Deadline deadline = Deadline::never()) = 0;

    // Ends the direction of writing: the peer reads what was sent and then the end of the stream.
    virtual Result<void> shutdown_write(Deadline deadline = Deadline::never()) = 0;
    // Ends every call that is under way, and every later one, with Closed. Idempotent, does not
    // wait.
    virtual void close() = 0;
    // From now on close() discards what was not sent and resets the connection.
    virtual Result<void> reset_on_close() = 0;

    // The descriptor that carries the stream: an idle connection waits for it to become readable,
    // and a disconnect watch for the peer to be gone.
    virtual Descriptor& descriptor() = 0;
    // True when read() has bytes without asking the kernel. Then do not wait for the descriptor: it
    // may never become readable.
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
