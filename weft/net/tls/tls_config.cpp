#include "weft/net/tls/tls_config.h"

#include <openssl/x509v3.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/format.h"
#include "weft/fiber/schedule/placement.h"
#include "weft/net/tls/internal/connection.h"
#include "weft/net/tls/internal/contexts.h"

namespace weft::net::tls {
namespace {

// RFC 7301 §3.1: names of 1 to 255 bytes, each after its length.
Result<std::vector<unsigned char>> alpn_on_wire(const std::vector<std::string>& names) {
    std::vector<unsigned char> wire;
    for (const std::string& name : names) {
        if (name.empty() || name.size() > 255)
            return Error(ErrorKind::Tls, "'" + name + "' cannot be a protocol name of ALPN");
        wire.push_back(static_cast<unsigned char>(name.size()));
        wire.insert(wire.end(), name.begin(), name.end());
    }
    return wire;
}

int version_of(Protocol protocol) {
    return protocol == Protocol::Tls13 ? TLS1_3_VERSION : TLS1_2_VERSION;
}

Result<void> allow(SSL_CTX* context, const Algorithms& algorithms) {
    ERR_clear_error();
    if (SSL_CTX_set1_groups_list(context, algorithms.groups.c_str()) != 1)
        return openssl_error(format("'{}' is no list of groups", algorithms.groups));
    if (SSL_CTX_set_cipher_list(context, algorithms.ciphers.c_str()) != 1)
        return openssl_error(format("'{}' is no list of ciphers", algorithms.ciphers));
    if (SSL_CTX_set_ciphersuites(context, algorithms.cipher_suites.c_str()) != 1)
        return openssl_error(format("'{}' is no list of cipher suites", algorithms.cipher_suites));
    return {};
}

Result<OwnedSslContext> make_context(const SSL_METHOD* method, Protocol minimum, Protocol maximum,
                                     const Algorithms& algorithms) {
    ERR_clear_error();
    OwnedSslContext context(SSL_CTX_new(method));
    if (!context || SSL_CTX_set_min_proto_version(context.get(), version_of(minimum)) != 1 ||
        SSL_CTX_set_max_proto_version(context.get(), version_of(maximum)) != 1) {
        return openssl_error("no TLS context could be made");
    }
    WEFT_TRY(allow(context.get(), algorithms));
    SSL_CTX_set_options(context.get(), SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                           SSL_OP_CIPHER_SERVER_PREFERENCE |
                                           SSL_OP_PRIORITIZE_CHACHA);
    // There may be many idle connections: they keep no record buffers.
    SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY);
    SSL_CTX_set_msg_callback(context.get(), Connection::on_message);
    return context;
}

Result<void> trust(SSL_CTX* context, const Pem& authorities) {
    std::vector<OwnedCertificate> trusted = WEFT_TRY(load_certificates(authorities));
    ERR_clear_error();
    for (const OwnedCertificate& certificate : trusted) {
        if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), certificate.get()) != 1)
            return openssl_error("a certificate authority cannot be used");
    }
    return {};
}

// The name is used when the certificate is chosen. Acknowledging it here makes OpenSSL store it in
// the session, so that it is known when the session is resumed.
int on_server_name(SSL*, int*, void*) { return SSL_TLSEXT_ERR_OK; }

// Chooses the first of our protocols, which are `names`, that the client offers as well.
int on_alpn(SSL*, const unsigned char** chosen, unsigned char* chosen_size,
            const unsigned char* offered, unsigned offered_size, void* names) {
    const std::vector<unsigned char>& ours = *static_cast<std::vector<unsigned char>*>(names);
    unsigned char* found = nullptr;
    int outcome = SSL_select_next_proto(&found, chosen_size, ours.data(),
                                        static_cast<unsigned>(ours.size()), offered, offered_size);
    *chosen = found;
    // RFC 7301 §3.2: without a common protocol the handshake fails, or a client could be led to
    // speak one protocol to a server of another (ALPACA).
    return outcome == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

Result<void> ask_for_client_certificates(SSL_CTX* context, const ServerConfig& config) {
    if (config.client_certificates == ClientCertificates::None) return {};
    if (config.client_authorities.is_empty())
        return Error(ErrorKind::Tls, "client certificates are asked for, but nobody may sign them");
    WEFT_TRY(trust(context, config.client_authorities));
    // Their names tell the client which of its certificates to show.
    std::vector<OwnedCertificate> signers = WEFT_TRY(load_certificates(config.client_authorities));
    for (const OwnedCertificate& signer : signers) SSL_CTX_add_client_CA(context, signer.get());
    int mode = SSL_VERIFY_PEER;
    if (config.client_certificates == ClientCertificates::Required)
        mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    SSL_CTX_set_verify(context, mode, nullptr);
    return {};
}

}  // namespace

Semaphore& HandshakeSlots::here() { return slots_[worker_here().value_or(0) % slots_.size()].free; }

// ---------------------------------------------------------------- servers

ServerContext::ServerContext(std::unique_ptr<State> state) : state_(std::move(state)) {}
ServerContext::ServerContext(ServerContext&&) noexcept = default;
ServerContext& ServerContext::operator=(ServerContext&&) noexcept = default;
ServerContext::~ServerContext() = default;

Result<ServerContext> ServerContext::create(ServerConfig config) {
    std::vector<Identity> identities = std::exchange(config.identities, {});
    auto state = std::make_unique<State>(std::move(config));
    state->context = WEFT_TRY(make_context(TLS_server_method(), state->config.minimum,
                                           state->config.maximum, state->config.algorithms));
    state->alpn = WEFT_TRY(alpn_on_wire(state->config.alpn));
    SSL_CTX* context = state->context.get();
    WEFT_TRY(ask_for_client_certificates(context, state->config));
    SSL_CTX_set_tlsext_servername_callback(context, on_server_name);
    SSL_CTX_set_cert_cb(context, Connection::on_certificate, nullptr);
    SSL_CTX_set_tlsext_ticket_key_evp_cb(context, Connection::on_ticket);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    auto lifetime = std::chrono::ceil<std::chrono::seconds>(state->config.ticket_key_lifetime);
    SSL_CTX_set_timeout(context, static_cast<long>(lifetime.count()));
    constexpr std::string_view kPurpose = "weft";  // resuming with client certificates needs it
    SSL_CTX_set_session_id_context(context, reinterpret_cast<const unsigned char*>(kPurpose.data()),
                                   kPurpose.size());
    if (!state->alpn.empty()) SSL_CTX_set_alpn_select_cb(context, on_alpn, &state->alpn);
    ServerContext made(std::move(state));
    WEFT_TRY(made.reload(std::move(identities)));
    return made;
}

Result<void> ServerContext::reload() {
    WEFT_ASSERT(state_, "this context has been moved from");
    return reload(state_->table()->sources());
}

Result<void> ServerContext::reload(std::vector<Identity> identities) {
    WEFT_ASSERT(state_, "this context has been moved from");
    auto table = std::make_shared<const CertificateTable>(
        WEFT_TRY(CertificateTable::load(std::move(identities), state_->context.get())));
    SpinGuard guard(state_->table_lock);
    std::swap(state_->current_table, table);
    return {};
}

bool ServerContext::covers(std::string_view server_name, std::string_view host) const {
    WEFT_ASSERT(state_, "this context has been moved from");
    std::shared_ptr<const CertificateTable> table = state_->table();
    X509* certificate = table->find(server_name).certificate.get();
    if (X509_get_ext_by_NID(certificate, NID_subject_alt_name, -1) < 0) return true;
    if (X509_check_host(certificate, host.data(), host.size(), 0, nullptr) == 1) return true;
    std::string number(host);
    if (number.starts_with('[') && number.ends_with(']'))
        number = number.substr(1, number.size() - 2);
    return X509_check_ip_asc(certificate, number.c_str(), 0) == 1;
}

// ---------------------------------------------------------------- clients

ClientContext::ClientContext(std::unique_ptr<State> state) : state_(std::move(state)) {}
ClientContext::ClientContext(ClientContext&&) noexcept = default;
ClientContext& ClientContext::operator=(ClientContext&&) noexcept = default;
ClientContext::~ClientContext() = default;

Result<ClientContext> ClientContext::create(const ClientConfig& config) {
    auto state = std::make_unique<State>();
    state->verification = config.verification;
    state->sessions = std::make_shared<SessionCache>(config.sessions_max);
    state->context = WEFT_TRY(
        make_context(TLS_client_method(), config.minimum, Protocol::Tls13, config.algorithms));
    SSL_CTX* context = state->context.get();
    if (!config.authorities.is_empty()) {
        WEFT_TRY(trust(context, config.authorities));
    } else if (SSL_CTX_set_default_verify_paths(context) != 1) {
        return openssl_error("the certificate authorities of the system cannot be read");
    }
    bool verifies = config.verification == Verification::Full;
    SSL_CTX_set_verify(context, verifies ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
    if (!config.identity.certificate.is_empty()) {
        Credentials own = WEFT_TRY(load_credentials(config.identity, context));
        ERR_clear_error();
        if (SSL_CTX_use_cert_and_key(context, own.certificate.get(), own.key.get(), own.chain.get(),
                                     1) != 1) {
            return openssl_error("the client's certificate cannot be used");
        }
    }
    std::vector<unsigned char> alpn = WEFT_TRY(alpn_on_wire(config.alpn));
    // Unlike the other functions this one returns 0 on success.
    if (SSL_CTX_set_alpn_protos(context, alpn.data(), static_cast<unsigned>(alpn.size())) != 0)
        return openssl_error("the protocols of ALPN cannot be used");
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(context, Connection::on_session);
    return ClientContext(std::move(state));
}

}  // namespace weft::net::tls
