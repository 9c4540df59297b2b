// Certificates for tests, made when they are needed. A test program that includes this links
// OpenSSL itself.
//
//     TestAuthority authority("Test CA");
//     TestIdentity server = authority.issue({.names = {"DNS:example.test", "IP:127.0.0.1"}});
//     ServerContext::create({.identities = {server.identity()}});
//     ClientContext::create({.authorities = authority.pem()});
#pragma once

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/net/tls/internal/openssl.h"
#include "weft/net/tls/tls_config.h"

namespace weft::net::tls {

inline void require_made(bool made) {
    if (!made) std::abort();
}

inline std::string pem_text(auto&& write) {
    OwnedBio bio(BIO_new(BIO_s_mem()));
    require_made(write(bio.get()) == 1);
    char* begin = nullptr;
    long size = BIO_get_mem_data(bio.get(), &begin);
    return std::string(begin, static_cast<std::size_t>(size));
}

struct TestIdentity {
    std::string certificate;  // PEM
    std::string key;

    Identity identity(std::vector<std::string> names = {}) const {
        return {
            .certificate = {.text = certificate}, .key = {.text = key}, .names = std::move(names)};
    }
};

struct TestRequest {
    std::vector<std::string> names = {};  // "DNS:example.test", "IP:127.0.0.1"
    std::string common_name = "weft test";
    long valid_from_seconds = -3600;  // from now
    long valid_until_seconds = 3600;
    unsigned rsa_bits = 0;  // 0: a key on the curve P-256
};

class TestAuthority {
public:
    explicit TestAuthority(const std::string& name = "weft test authority")
        : key_(EVP_EC_gen("P-256")), certificate_(X509_new()) {
        require_made(key_ && certificate_);
        prepare(*certificate_, *key_, {.common_name = name});
        extend(*certificate_, NID_basic_constraints, "critical,CA:TRUE");
        extend(*certificate_, NID_key_usage, "critical,keyCertSign,cRLSign");
        sign(*certificate_, X509_get_subject_name(certificate_.get()), *key_);
    }

    Pem pem() const { return {.text = text()}; }
    std::string text() const {
        return pem_text([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate_.get()); });
    }

    TestIdentity issue(const TestRequest& request) const {
        OwnedKey key(request.rsa_bits > 0 ? EVP_RSA_gen(request.rsa_bits) : EVP_EC_gen("P-256"));
        return make(request, *key, *key_, X509_get_subject_name(certificate_.get()));
    }

    static TestIdentity self_signed(const TestRequest& request) {
        OwnedKey key(EVP_EC_gen("P-256"));
        return make(request, *key, *key, nullptr);
    }

private:
    // Without an issuer the certificate is self-signed.
    static TestIdentity make(const TestRequest& request, EVP_PKEY& key, EVP_PKEY& issuer_key,
                             const X509_NAME* issuer) {
        OwnedCertificate made(X509_new());
        prepare(*made, key, request);
        std::string names;
        for (const std::string& name : request.names) names += (names.empty() ? "" : ",") + name;
        if (!names.empty()) extend(*made, NID_subject_alt_name, names);
        sign(*made, issuer ? issuer : X509_get_subject_name(made.get()), issuer_key);
        return {pem_text([&](BIO* bio) { return PEM_write_bio_X509(bio, made.get()); }),
                pem_text([&](BIO* bio) {
                    return PEM_write_bio_PrivateKey(bio, &key, nullptr, nullptr, 0, nullptr,
                                                    nullptr);
                })};
    }
    static void prepare(X509& certificate, EVP_PKEY& key, const TestRequest& request) {
        std::uint32_t serial = 0;
        RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial);
        ASN1_INTEGER_set_uint64(X509_get_serialNumber(&certificate), serial | 1U);
        X509_set_version(&certificate, X509_VERSION_3);
        X509_gmtime_adj(X509_getm_notBefore(&certificate), request.valid_from_seconds);
        X509_gmtime_adj(X509_getm_notAfter(&certificate), request.valid_until_seconds);
        X509_set_pubkey(&certificate, &key);
        const auto* name = reinterpret_cast<const unsigned char*>(request.common_name.c_str());
        X509_NAME_add_entry_by_txt(X509_get_subject_name(&certificate), "CN", MBSTRING_UTF8, name,
                                   -1, -1, 0);
    }
    static void extend(X509& certificate, int what, const std::string& value) {
        X509V3_CTX context;
        X509V3_set_ctx_nodb(&context);
        X509V3_set_ctx(&context, &certificate, &certificate, nullptr, nullptr, 0);
        X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, what, value.c_str());
        require_made(extension && X509_add_ext(&certificate, extension, -1) == 1);
        X509_EXTENSION_free(extension);
    }
    static void sign(X509& certificate, const X509_NAME* issuer, EVP_PKEY& key) {
        X509_set_issuer_name(&certificate, issuer);
        require_made(X509_sign(&certificate, &key, EVP_sha256()) > 0);
    }

    OwnedKey key_;
    OwnedCertificate certificate_;
};

}  // namespace weft::net::tls
