// Owners for OpenSSL's objects, and its errors as weft::Error.
//
// OpenSSL keeps errors in a queue of the thread. A fiber may resume on another thread after a wait,
// so the queue is cleared before a call and read right after it; nothing in between waits.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>
#include <string_view>

#include "weft/base/error.h"

namespace weft::net::tls {

template <auto kFree>
struct Free {
    template <class T>
    void operator()(T* object) const {
        kFree(object);
    }
};
inline void free_certificates(STACK_OF(X509) * certificates) {
    sk_X509_pop_free(certificates, X509_free);
}

using OwnedSslContext = std::unique_ptr<SSL_CTX, Free<SSL_CTX_free>>;
using OwnedSsl = std::unique_ptr<SSL, Free<SSL_free>>;
using OwnedSession = std::unique_ptr<SSL_SESSION, Free<SSL_SESSION_free>>;
using OwnedCertificate = std::unique_ptr<X509, Free<X509_free>>;
using OwnedCertificates = std::unique_ptr<STACK_OF(X509), Free<free_certificates>>;
using OwnedKey = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using OwnedBio = std::unique_ptr<BIO, Free<BIO_free>>;

// An error that names `what` and OpenSSL's reason for it, which is taken from the queue.
Error openssl_error(std::string_view what);

}  // namespace weft::net::tls
