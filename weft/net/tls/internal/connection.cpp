#include "weft/net/tls/internal/connection.h"

#include <openssl/x509v3.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "weft/base/assert.h"
#include "weft/net/address.h"
#include "weft/net/tls/internal/contexts.h"

namespace weft::net::tls {
namespace {

std::string text_of(X509_NAME* name) {
    OwnedBio writer(BIO_new(BIO_s_mem()));
    X509_NAME_print_ex(writer.get(), name, 0, XN_FLAG_RFC2253);
    char* begin = nullptr;
    long size = BIO_get_mem_data(writer.get(), &begin);
    return std::string(begin, static_cast<std::size_t>(size));
}

}  // namespace

// ---------------------------------------------------------------- OpenSSL's input and output

// Made once, and never freed: connections that are still open at the end of the process use it.
const BIO_METHOD* Connection::bio_method() {
    static const BIO_METHOD* const method = [] {
        BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "weft");
        BIO_meth_set_read_ex(made, on_read);
        BIO_meth_set_write_ex(made, on_write);
        BIO_meth_set_ctrl(made, on_control);
        return made;
    }();
    return method;
}

int Connection::on_read(BIO* bio, char* space, std::size_t size, std::size_t* count) {
    auto& self = *static_cast<Connection*>(BIO_get_data(bio));
    BIO_clear_retry_flags(bio);
    *count = 0;
    if (self.is_flooded()) return 0;
    if (self.input_.empty()) {
        if (self.input_ended_) {
            self.end_was_read_ = true;
        } else {
            BIO_set_retry_read(bio);
        }
        return 0;
    }
    *count = std::min(size, self.input_.size());
    std::memcpy(space, self.input_.data(), *count);
    self.input_ = self.input_.subspan(*count);
    return 1;
}

int Connection::on_write(BIO* bio, const char* bytes, std::size_t size, std::size_t* count) {
    auto& self = *static_cast<Connection*>(BIO_get_data(bio));
    Bytes added = as_bytes(std::string_view(bytes, size));
    self.output_.insert(self.output_.end(), added.begin(), added.end());
    *count = size;
    return 1;
}

long Connection::on_control(BIO*, int command, long, void*) {
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

// ---------------------------------------------------------------- OpenSSL's callbacks

int Connection::on_certificate(SSL* ssl, void*) {
    Connection& self = of(ssl);
    WEFT_ASSERT(self.is_server_ && self.state_ == State::Handshake,
                "there is no renegotiation, and after the handshake no table");
    const char* name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    const Credentials& shown = self.table_->find(name ? name : "");
    return SSL_use_cert_and_key(ssl, shown.certificate.get(), shown.key.get(), shown.chain.get(),
                                1);
}

int Connection::on_ticket(SSL* ssl, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher,
                          EVP_MAC_CTX* hash, int seals) {
    WEFT_ASSERT(of(ssl).is_server_, "only servers make tickets");
    const TicketKeys* keys = of(ssl).tickets_.get();
    if (!keys) return -1;
    return seals ? keys->seal(name, iv, cipher, hash) : keys->open(name, iv, cipher, hash);
}

int Connection::on_session(SSL* ssl, SSL_SESSION* session) {
    WEFT_ASSERT(!of(ssl).is_server_, "only clients keep sessions");
    of(ssl).new_sessions_.emplace_back(session);
    return 1;  // the connection owns the reference now
}

void Connection::on_message(int is_written, int, int type, const void*, std::size_t, SSL* ssl,
                            void*) {
    Connection& self = of(ssl);
    if (!is_written && type == SSL3_RT_HANDSHAKE && self.state_ == State::Open)
        ++self.late_messages_;
}

// ---------------------------------------------------------------- making a connection

Result<void> Connection::open(SSL_CTX* context) {
    WEFT_ASSERT(!ssl_, "a connection is opened once");
    ERR_clear_error();
    ssl_.reset(SSL_new(context));
    BIO* bio = ssl_ ? BIO_new(bio_method()) : nullptr;
    if (!bio) return openssl_error("no TLS connection could be made");
    BIO_set_data(bio, this);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl_.get(), bio, bio);
    SSL_set_app_data(ssl_.get(), this);
    return {};
}

Result<std::unique_ptr<Connection>> Connection::for_server(ServerContext::State& context) {
    std::unique_ptr<Connection> made(new Connection);  // tidy: allow new: a private constructor
    made->is_server_ = true;
    made->verifies_ = context.config.client_certificates != ClientCertificates::None;
    made->table_ = context.table();
    made->tickets_ = WEFT_TRY(context.tickets.keys(Clock::now()));
    WEFT_TRY(made->open(context.context.get()));
    SSL_set_accept_state(made->ssl_.get());
    return made;
}

// RFC 6066 §3: a literal address is not a server name. RFC 9525: only the subject alternative names
// of a certificate count, not its subject, and a wildcard stands for a whole label.
Result<void> Connection::demand_name(std::string_view host) {
    WEFT_ASSERT(!is_server_ && host_.empty(), "a client demands one name");
    if (host.ends_with('.')) host.remove_suffix(1);
    if (host.empty() || host.size() > TLSEXT_MAXLEN_host_name ||
        host.find('\0') != std::string_view::npos) {
        return Error(ErrorKind::Tls,
                     "'" + std::string(host) + "' is no name that a certificate can have");
    }
    host_ = host;
    X509_VERIFY_PARAM* demands = SSL_get0_param(ssl_.get());
    X509_VERIFY_PARAM_set_hostflags(
        demands, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    bool done = false;
    if (Result<IpAddress> ip = IpAddress::parse(host)) {
        done = X509_VERIFY_PARAM_set1_ip(demands, ip->bytes().data(), ip->is_v4() ? 4 : 16) == 1;
    } else {
        done = SSL_set_tlsext_host_name(ssl_.get(), host_.c_str()) == 1 &&
               X509_VERIFY_PARAM_set1_host(demands, host_.data(), host_.size()) == 1;
    }
    if (!done) return openssl_error("the host name " + host_ + " cannot be verified");
    return {};
}

Result<std::unique_ptr<Connection>> Connection::for_client(ClientContext::State& context,
                                                           std::string_view host,
                                                           OwnedSession session) {
    std::unique_ptr<Connection> made(new Connection);  // tidy: allow new: a private constructor
    made->verifies_ = context.verification == Verification::Full;
    WEFT_TRY(made->open(context.context.get()));
    WEFT_TRY(made->demand_name(host));
    // A session that cannot be used is ignored, and the handshake is a full one.
    if (session) SSL_set_session(made->ssl_.get(), session.get());
    SSL_set_connect_state(made->ssl_.get());
    return made;
}

// ---------------------------------------------------------------- the protocol

// Gives the reason why the last call failed, and makes the connection Failed with that reason.
Error Connection::fail() {
    WEFT_ASSERT(state_ != State::Failed, "after a failure OpenSSL is not called any more");
    bool in_handshake = state_ == State::Handshake;
    long verified = verifies_ && in_handshake ? SSL_get_verify_result(ssl_.get()) : X509_V_OK;
    if (is_flooded()) {
        failure_ = Error::limit("the peer sends more messages after the handshake than",
                                kLateMessagesMax, "kLateMessagesMax");
    } else if (verified != X509_V_OK) {
        std::string whose = is_server_ ? "the client's" : "the server's";
        failure_ =
            Error(ErrorKind::Tls,
                  whose + " certificate was refused: " + X509_verify_cert_error_string(verified));
    } else if (end_was_read_ && in_handshake) {
        failure_ = Error(ErrorKind::Tls, "the peer closed");
    } else if (end_was_read_) {
        // Not Failed: the other direction still works, and the next read gives the same error.
        return Error(ErrorKind::Tls, "the peer closed without close_notify");
    } else {
        failure_ = openssl_error("");
    }
    ERR_clear_error();
    state_ = State::Failed;
    return failure_;
}

Result<bool> Connection::handshake() {
    if (state_ == State::Failed) return failure_;
    WEFT_ASSERT(state_ == State::Handshake, "the handshake is over");
    ERR_clear_error();
    int done = SSL_do_handshake(ssl_.get());
    if (done == 1) {
        state_ = State::Open;
        table_.reset();
        tickets_.reset();
        note_session();
        return true;
    }
    if (SSL_get_error(ssl_.get(), done) != SSL_ERROR_WANT_READ) return fail();
    WEFT_ASSERT(input_.empty() && !input_ended_, "OpenSSL wants more when it has read everything");
    return false;
}

Result<std::optional<std::size_t>> Connection::read(ByteSpace space) {
    if (state_ == State::Failed) return failure_;
    WEFT_DASSERT(state_ == State::Open, "there is nothing to read before the handshake is over");
    if (space.empty()) return std::optional<std::size_t>(0);
    // OpenSSL would find the same, but takes longer for it.
    if (is_drained()) return std::optional<std::size_t>();
    ERR_clear_error();
    std::size_t count = 0;
    int done = SSL_read_ex(ssl_.get(), space.data(), space.size(), &count);
    if (done == 1) {
        WEFT_DASSERT(count > 0 && count <= space.size(), "0 would be taken for the end");
        received_bytes_ += count;
        return std::optional<std::size_t>(count);
    }
    switch (SSL_get_error(ssl_.get(), done)) {
    case SSL_ERROR_WANT_READ:
        WEFT_DASSERT(input_.empty() && !input_ended_, "or the input would be overwritten");
        return std::optional<std::size_t>();
    case SSL_ERROR_ZERO_RETURN: return std::optional<std::size_t>(0);
    default: return fail();
    }
}

Result<void> Connection::write(Bytes bytes) {
    if (state_ == State::Failed) return failure_;
    if (writing_ended_) return ErrorKind::Closed;
    WEFT_DASSERT(state_ == State::Open, "nothing is written before the handshake is over");
    WEFT_DASSERT(!bytes.empty() && bytes.size() <= kRecordBytesMax, "a piece is one record");
    ERR_clear_error();
    std::size_t count = 0;
    int done = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &count);
    WEFT_DASSERT(done != 1 || count == bytes.size(), "partial writes are not enabled");
    if (done == 1) return {};
    // It fails for want of input where the peer has sent only the beginning of a handshake message.
    return fail();
}

void Connection::end_writing() {
    if (state_ != State::Open || std::exchange(writing_ended_, true)) return;
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
    ERR_clear_error();
}

void Connection::note_session() {
    WEFT_ASSERT(state_ == State::Open, "before that nothing is agreed on");
    SSL* ssl = ssl_.get();
    session_.protocol = SSL_get_version(ssl);
    session_.cipher = SSL_get_cipher_name(ssl);
    session_.resumed = SSL_session_reused(ssl) == 1;
    const unsigned char* alpn = nullptr;
    unsigned alpn_size = 0;
    SSL_get0_alpn_selected(ssl, &alpn, &alpn_size);
    if (alpn_size > 0) alpn_.assign(reinterpret_cast<const char*>(alpn), alpn_size);
    session_.alpn = alpn_;
    if (const char* name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name)) server_name_ = name;
    session_.server_name = server_name_;
    X509* peer = verifies_ ? SSL_get0_peer_certificate(ssl) : nullptr;
    if (peer) peer_name_ = text_of(X509_get_subject_name(peer));
    session_.peer_name = peer_name_;
}

}  // namespace weft::net::tls
