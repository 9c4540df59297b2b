// TlsStream: TLS over another Stream, as a server or as a client.
//
//     auto socket = std::make_unique<Socket>(WEFT_TRY(listener.accept()));
//     auto stream = WEFT_TRY(TlsStream::accept(std::move(socket), context, Deadline::after(10s)));
//
// It keeps all promises of Stream, with two additions. When a peer closes without a close_notify,
// somebody in between may have cut the connection: reading then ends with an error of kind Tls and
// not with 0. And bytes that try_write() did not report as taken may be encrypted already: the next
// write must begin with the same bytes.
//
// A failed handshake closes the stream below. Errors of that stream pass unchanged; those of TLS
// are of kind Tls, with OpenSSL's reason, and when a certificate was refused with the host and the
// reason. A peer that sends too many handshake messages gives Limit.
//
// Any fiber and any thread; one may read while another writes and a third closes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/spin_lock.h"
#include "weft/net/stream.h"
#include "weft/net/tls/tls_config.h"

namespace weft {
class Semaphore;
}

namespace weft::net {

namespace tls {
class Connection;
class HandshakeSlots;
class SessionCache;
}  // namespace tls

class TlsStream final : public Stream {
public:
    // A silent client holds the connection until the deadline, so there should be one.
    static Result<std::unique_ptr<TlsStream>> accept(std::unique_ptr<Stream> below,
                                                     tls::ServerContext& context,
                                                     Deadline deadline);
    // `host` is the name, or the IP address, that the server's certificate must be valid for.
    static Result<std::unique_ptr<TlsStream>> connect(std::unique_ptr<Stream> below,
                                                      tls::ClientContext& context,
                                                      std::string_view host, Deadline deadline);
    ~TlsStream() override;

    Result<std::size_t> read(ByteSpace space, Deadline deadline = Deadline::never()) override;
    Result<std::optional<std::size_t>> try_read(ByteSpace space) override;
    Result<void> write_all(Bytes bytes, Deadline deadline = Deadline::never()) override;
    Result<void> write_all(std::span<const Bytes> parts,
                           Deadline deadline = Deadline::never()) override;
    Result<std::size_t> try_write(std::span<const Bytes> parts) override;
    Result<void> send_file(int file, std::uint64_t offset, std::uint64_t count,
                           Deadline deadline = Deadline::never()) override;
    // Sends close_notify, then ends the direction of writing of the stream below.
    Result<void> shutdown_write(Deadline deadline = Deadline::never()) override;
    // Sends close_notify if that is possible without waiting.
    void close() override;
    Result<void> reset_on_close() override { return below_->reset_on_close(); }

    Descriptor& descriptor() override { return below_->descriptor(); }
    bool has_buffered() const override;
    Address peer_address() const override;
    Address local_address() const override;
    const TlsSession* tls() const override;

private:
    class Parts;

    TlsStream(std::unique_ptr<Stream> below, std::unique_ptr<tls::Connection> connection);

    Error with_peer(const Error& error, std::string_view action) const;
    // A null `slots`: every step is computed at once, as clients do.
    Result<void> shake_hands(Deadline deadline, tls::HandshakeSlots* slots);
    Result<bool> step_handshake();
    Result<bool> step_handshake_in_slot(Semaphore& slot, Deadline deadline);
    Result<bool> check_peer_gone();
    Result<std::optional<std::size_t>> read_once(ByteSpace space, Deadline deadline);
    void keep_sessions();

    bool has_input() const;
    ByteSpace input_space();
    void supply(ByteSpace space, std::size_t count);
    Result<void> fill(Deadline deadline);
    Result<bool> try_fill();

    Result<std::size_t> encrypt(Parts& parts);
    Result<bool> try_flush();
    Result<void> flush(Deadline deadline);

    const std::unique_ptr<Stream> below_;

    // OpenSSL's object allows one caller at a time. The lock is held while a record is encrypted or
    // decrypted, never over a wait or a system call.
    mutable SpinLock lock_;
    const std::unique_ptr<tls::Connection> connection_;
    // What the protocol itself had to send since the output was last empty; under lock_.
    std::size_t replies_bytes_ = 0;

    // Received ciphertext. Only the reader uses it; the connection borrows it.
    std::unique_ptr<std::byte[]> input_;
    std::size_t input_bytes_ = 0;
    bool input_was_full_ = false;

    // Ciphertext to send: the reader sends as well, on behalf of the protocol. The lock is held
    // over writes to the stream below that do not wait.
    SpinLock sending_lock_;
    std::vector<std::byte> sending_;
    std::size_t sent_ = 0;  // of sending_

    // Plaintext that is encrypted, but was not reported as taken. Only the writer uses it.
    std::size_t unreported_bytes_ = 0;

    // Of clients. Shared by the context and its streams.
    std::shared_ptr<tls::SessionCache> sessions_;
    std::string server_;  // "host:port", in sessions_
};

}  // namespace weft::net
