// Connection: the TLS protocol of one connection, without I/O.
//
// The owner supplies the ciphertext that it has received and sends the ciphertext that is made; it
// does all waiting. So no wait happens inside OpenSSL, and the errors in its queue, which belongs
// to the thread, are always those of the call that was just made. In simulation, where one thread
// plays all, no step may happen inside OpenSSL either: its callbacks take no lock and touch no
// atomic.
//
// One caller at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/assert.h"
#include "weft/base/bytes.h"
#include "weft/base/result.h"
#include "weft/net/stream.h"
#include "weft/net/tls/internal/certificates.h"
#include "weft/net/tls/internal/openssl.h"
#include "weft/net/tls/internal/tickets.h"
#include "weft/net/tls/tls_config.h"

namespace weft::net::tls {

constexpr std::size_t kRecordBytesMax = 16 * 1024;  // of plaintext
// Handshake messages after the handshake (key updates, tickets, attempts to renegotiate) cost the
// receiver more than the sender. A peer may send kLateMessagesMax of them, and one more with each
// kBytesPerLateMessage of data.
constexpr std::uint64_t kLateMessagesMax = 32;
constexpr std::uint64_t kBytesPerLateMessage = 1 << 20;

class Connection {
public:
    static Result<std::unique_ptr<Connection>> for_server(ServerContext::State& context);
    // A session to resume, if there is one.
    static Result<std::unique_ptr<Connection>> for_client(ClientContext::State& context,
                                                          std::string_view host,
                                                          OwnedSession session);
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    // Supplies ciphertext from the peer, which is borrowed until it is consumed. The input is empty
    // before, or is the beginning of the new one.
    void supply(Bytes input) {
        WEFT_ASSERT(!input_ended_, "nothing comes behind the end of the stream");
        WEFT_ASSERT(
            input_.empty() || (input.data() == input_.data() && input.size() >= input_.size()),
            "input that was not consumed would be lost");
        input_ = input;
    }
    void supply_end() {
        WEFT_ASSERT(input_.empty(), "whoever reads the end has no input left");
        input_ended_ = true;
    }
    Bytes input() const { return input_; }
    bool has_input() const { return !input_.empty(); }
    // Ciphertext for the peer. Whoever sends it empties it.
    std::vector<std::byte>& output() { return output_; }

    // False: more input is needed.
    Result<bool> handshake();
    // No value: more input is needed. 0: the peer has sent close_notify.
    Result<std::optional<std::size_t>> read(ByteSpace space);
    // Encrypts 1 to kRecordBytesMax bytes.
    Result<void> write(Bytes bytes);
    // Makes the close_notify; nothing can be written afterwards. Does nothing unless the handshake
    // has succeeded.
    void end_writing();

    bool has_plaintext() const { return SSL_pending(ssl_.get()) > 0; }
    const TlsSession& session() const { return session_; }
    // The sessions that the server has offered since the last call.
    std::vector<OwnedSession> take_sessions() { return std::exchange(new_sessions_, {}); }
    bool has_sessions() const { return !new_sessions_.empty(); }

    // OpenSSL's callbacks.
    static int on_certificate(SSL* ssl, void* unused);
    static int on_ticket(SSL* ssl, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher,
                         EVP_MAC_CTX* hash, int seals);
    static int on_session(SSL* ssl, SSL_SESSION* session);
    static void on_message(int is_written, int version, int type, const void* bytes,
                           std::size_t size, SSL* ssl, void* unused);

private:
    enum class State : std::uint8_t { Handshake, Open, Failed };

    Connection() = default;
    static const BIO_METHOD* bio_method();
    static int on_read(BIO* bio, char* space, std::size_t size, std::size_t* count);
    static int on_write(BIO* bio, const char* bytes, std::size_t size, std::size_t* count);
    static long on_control(BIO* bio, int command, long number, void* pointer);
    static Connection& of(SSL* ssl) { return *static_cast<Connection*>(SSL_get_app_data(ssl)); }

    Result<void> open(SSL_CTX* context);
    Result<void> demand_name(std::string_view host);
    void note_session();
    Error fail();
    bool is_drained() const {
        return input_.empty() && !input_ended_ && !has_plaintext() &&
               !(SSL_get_shutdown(ssl_.get()) & SSL_RECEIVED_SHUTDOWN);
    }
    bool is_flooded() const {
        return late_messages_ > kLateMessagesMax + received_bytes_ / kBytesPerLateMessage;
    }

    // Of servers, during the handshake. Shared with the context.
    std::shared_ptr<const CertificateTable> table_;
    std::shared_ptr<const TicketKeys> tickets_;

    State state_ = State::Handshake;
    bool is_server_ = false;
    bool verifies_ = false;
    bool input_ended_ = false;
    bool end_was_read_ = false;
    bool writing_ended_ = false;
    Error failure_ = ErrorKind::Tls;  // in State::Failed
    Bytes input_;
    std::vector<std::byte> output_;
    std::uint64_t late_messages_ = 0;
    std::uint64_t received_bytes_ = 0;
    std::vector<OwnedSession> new_sessions_;
    std::string host_;  // of the server; empty in servers
    std::string server_name_;
    std::string peer_name_;
    std::string alpn_;
    TlsSession session_;
    OwnedSsl ssl_;  // last, so destroyed first: its callbacks use the other members
};

}  // namespace weft::net::tls
