// What a server shows and a client demands in a TLS handshake.
//
//     auto server = WEFT_TRY(tls::ServerContext::create({
//         .identities = {{.certificate = {.file = "a.pem"}, .key = {.file = "a.key"}}},
//         .alpn = {"http/1.1"}}));
//     auto client = WEFT_TRY(tls::ClientContext::create({}));     // verifies, by the system's CAs
//
// TLS 1.2 with forward secrecy and authenticated ciphers, and TLS 1.3; nothing older, no
// compression, no renegotiation, no early data. Sessions are resumed by tickets, so a server keeps
// nothing for a client that is gone. Each worker computes one handshake at a time, and every other
// ready fiber of that worker runs before the next one: a flood of handshakes delays a request by
// one of them, not by all.
//
// Contexts: any fiber and any thread; streams made from one may outlive it. Failures are
// ErrorKind::Tls and name the file or the certificate that is at fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"
#include "weft/base/time.h"

namespace weft::net {
class TlsStream;
}

namespace weft::net::tls {

enum class Protocol : std::uint8_t { Tls12, Tls13 };

// PEM text, or the file that holds it. A file is read by create() and reload() only.
struct Pem {
    std::string text = {};
    std::string file = {};

    bool is_empty() const { return text.empty() && file.empty(); }
};

// A certificate, followed by the chain above it, and its private key (without a password).
struct Identity {
    Pem certificate;
    Pem key;
    // The server names for which it is shown: "example.org", "*.example.org". Empty: the DNS names
    // in the certificate.
    std::vector<std::string> names = {};
};

enum class ClientCertificates : std::uint8_t { None, Optional, Required };

// What a handshake may agree on, in OpenSSL's names, the preferred ones first. A name that OpenSSL
// does not know is refused by create().
struct Algorithms {
    // Strong groups that cost a server little. With larger ones a flood of handshakes costs the
    // attacker little: one with ffdhe8192 takes a server 700 times as long as one with X25519.
    std::string groups = "X25519:P-256:P-384";
    // Of TLS 1.2: those with forward secrecy and authenticated encryption.
    std::string ciphers =
        "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
        "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305:"
        "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384";
    // Of TLS 1.3.
    std::string cipher_suites =
        "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_256_GCM_SHA384";
};

struct ServerConfig {
    // Chosen by server name: an exact name before a wildcard; the first one where none matches.
    std::vector<Identity> identities = {};
    // In order of preference. A client that offers only others is refused.
    std::vector<std::string> alpn = {};
    ClientCertificates client_certificates = ClientCertificates::None;
    Pem client_authorities = {};  // who may have signed them
    Protocol minimum = Protocol::Tls12;
    Protocol maximum = Protocol::Tls13;
    Algorithms algorithms = {};
    // How long a key for tickets is used; after that it is accepted for the same time again.
    Nanoseconds ticket_key_lifetime = std::chrono::hours(1);
};

class ServerContext {
public:
    static Result<ServerContext> create(ServerConfig config);
    ServerContext(ServerContext&&) noexcept;
    ServerContext& operator=(ServerContext&&) noexcept;
    ~ServerContext();

    // Reads the files of all identities again and uses them from the next handshake on; open
    // connections stay. After an error everything is as it was.
    Result<void> reload();
    // The same with other identities.
    Result<void> reload(std::vector<Identity> identities);
    // Whether the certificate that is shown to a client which asks for `server_name` is valid for
    // `host`, a name or an IP address, too. A certificate without any names is valid for all.
    bool covers(std::string_view server_name, std::string_view host) const;

    struct State;  // OpenSSL's part

private:
    friend class net::TlsStream;
    explicit ServerContext(std::unique_ptr<State> state);

    std::unique_ptr<State> state_;
};

// Insecure accepts every certificate: anybody on the network path can read and change everything.
enum class Verification : std::uint8_t { Full, Insecure };

struct ClientConfig {
    Verification verification = Verification::Full;
    Pem authorities = {};                // none: those of the system
    Identity identity = {};              // shown when the server asks for one
    std::vector<std::string> alpn = {};  // in order of preference
    Protocol minimum = Protocol::Tls12;
    Algorithms algorithms = {};
    std::size_t sessions_max = 256;  // kept for resumption; 0: none
};

class ClientContext {
public:
    static Result<ClientContext> create(const ClientConfig& config);
    ClientContext(ClientContext&&) noexcept;
    ClientContext& operator=(ClientContext&&) noexcept;
    ~ClientContext();

    struct State;  // OpenSSL's part

private:
    friend class net::TlsStream;
    explicit ClientContext(std::unique_ptr<State> state);

    std::unique_ptr<State> state_;
};

}  // namespace weft::net::tls
