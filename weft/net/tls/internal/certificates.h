// Loads certificates from PEM, and finds one by the name that a client asks for.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/result.h"
#include "weft/net/tls/internal/openssl.h"
#include "weft/net/tls/tls_config.h"

namespace weft::net::tls {

// A file above this is no certificate.
constexpr std::size_t kPemBytesMax = 1 << 20;

// What OpenSSL needs to show an Identity.
struct Credentials {
    OwnedCertificate certificate;
    OwnedCertificates chain;
    OwnedKey key;
};

// Refuses credentials that `context` cannot use, for instance because the key is too short.
Result<Credentials> load_credentials(const Identity& identity, SSL_CTX* context);
// At least one certificate.
Result<std::vector<OwnedCertificate>> load_certificates(const Pem& pem);

// Immutable once made.
class CertificateTable {
public:
    static Result<CertificateTable> load(std::vector<Identity> identities, SSL_CTX* context);

    // The exact name, else the wildcard for its parent, else the first of all.
    const Credentials& find(std::string_view server_name) const;
    const std::vector<Identity>& sources() const { return sources_; }

private:
    std::vector<Identity> sources_;
    std::vector<Credentials> credentials_;
    std::map<std::string, std::size_t, std::less<>> names_;  // in lower case
};

}  // namespace weft::net::tls
