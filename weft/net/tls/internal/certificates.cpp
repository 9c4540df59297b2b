#include "weft/net/tls/internal/certificates.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "weft/base/assert.h"
#include "weft/fiber/os/file.h"

namespace weft::net::tls {
namespace {

std::string in_lower_case(std::string_view text) {
    std::string lower(text);
    std::ranges::transform(lower, lower.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return lower;
}

Result<std::string> read_file(const std::string& path) {
    Result<File> file = File::open(path);
    if (!file) return Error(ErrorKind::Tls, file.error().message());
    std::string text;
    for (;;) {
        std::byte buffer[4096];
        Result<std::size_t> count = file->read(buffer);
        if (!count) return Error(ErrorKind::Tls, count.error().message());
        if (*count == 0) return text;
        text += as_text({buffer, *count});
        if (text.size() > kPemBytesMax)
            return Error::limit(path + " has more bytes than", kPemBytesMax, "kPemBytesMax");
    }
}

Result<std::string> text_of(const Pem& pem) {
    if (pem.file.empty()) return pem.text;
    return read_file(pem.file);
}

std::string name_of(const Pem& pem, std::string_view what) {
    return pem.file.empty() ? std::string(what) : pem.file;
}

OwnedBio reader_of(const std::string& text) {
    return OwnedBio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Without this OpenSSL would ask for the password on the terminal.
int no_password(char*, int, int, void*) { return -1; }

Result<OwnedKey> load_key(const Pem& pem) {
    std::string text = WEFT_TRY(text_of(pem));
    ERR_clear_error();
    OwnedBio reader = reader_of(text);
    OwnedKey key(PEM_read_bio_PrivateKey(reader.get(), nullptr, no_password, nullptr));
    OPENSSL_cleanse(text.data(), text.size());
    if (!key) return openssl_error(name_of(pem, "the private key") + ": no usable private key");
    return key;
}

std::vector<std::string> names_in(X509& certificate) {
    std::vector<std::string> names;
    auto* found = static_cast<GENERAL_NAMES*>(
        X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr));
    for (int i = 0; i < sk_GENERAL_NAME_num(found); ++i) {
        const GENERAL_NAME* name = sk_GENERAL_NAME_value(found, i);
        if (name->type != GEN_DNS) continue;
        const auto* text = reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName));
        names.emplace_back(text, static_cast<std::size_t>(ASN1_STRING_length(name->d.dNSName)));
    }
    GENERAL_NAMES_free(found);
    return names;
}

}  // namespace

Result<std::vector<OwnedCertificate>> load_certificates(const Pem& pem) {
    std::string text = WEFT_TRY(text_of(pem));
    ERR_clear_error();
    OwnedBio reader = reader_of(text);
    std::vector<OwnedCertificate> certificates;
    for (;;) {
        OwnedCertificate next(PEM_read_bio_X509(reader.get(), nullptr, no_password, nullptr));
        if (!next) break;
        certificates.push_back(std::move(next));
    }
    // PEM_R_NO_START_LINE: no further certificate begins. Any other error is a broken certificate.
    bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    if (certificates.empty() || !at_end)
        return openssl_error(name_of(pem, "the certificate") + ": no usable certificate");
    ERR_clear_error();
    return certificates;
}

Result<Credentials> load_credentials(const Identity& identity, SSL_CTX* context) {
    std::vector<OwnedCertificate> certificates = WEFT_TRY(load_certificates(identity.certificate));
    Credentials credentials;
    credentials.key = WEFT_TRY(load_key(identity.key));
    WEFT_ASSERT(!certificates.empty(), "load_certificates() gives at least one");
    credentials.certificate = std::move(certificates.front());
    if (X509_check_private_key(credentials.certificate.get(), credentials.key.get()) != 1) {
        return openssl_error(name_of(identity.key, "the private key") + " does not belong to " +
                             name_of(identity.certificate, "the certificate"));
    }
    credentials.chain.reset(sk_X509_new_null());
    for (OwnedCertificate& above : std::span(certificates).subspan(1))
        sk_X509_push(credentials.chain.get(), above.release());
    OwnedSsl trial(SSL_new(context));
    if (!trial || SSL_use_cert_and_key(trial.get(), credentials.certificate.get(),
                                       credentials.key.get(), credentials.chain.get(), 1) != 1) {
        return openssl_error(name_of(identity.certificate, "the certificate") +
                             ": it cannot be used");
    }
    return credentials;
}

Result<CertificateTable> CertificateTable::load(std::vector<Identity> identities,
                                                SSL_CTX* context) {
    if (identities.empty()) return Error(ErrorKind::Tls, "a server needs a certificate");
    CertificateTable table;
    for (const Identity& identity : identities) {
        table.credentials_.push_back(WEFT_TRY(load_credentials(identity, context)));
        std::vector<std::string> names = identity.names;
        if (names.empty()) names = names_in(*table.credentials_.back().certificate);
        std::size_t index = table.credentials_.size() - 1;
        for (const std::string& name : names) table.names_.emplace(in_lower_case(name), index);
    }
    table.sources_ = std::move(identities);
    return table;
}

const Credentials& CertificateTable::find(std::string_view server_name) const {
    std::string name = in_lower_case(server_name);
    if (name.ends_with('.')) name.pop_back();
    auto found = names_.find(name);
    std::size_t dot = name.find('.');
    if (found == names_.end() && dot != std::string::npos && dot > 0)
        found = names_.find("*" + name.substr(dot));
    std::size_t index = found == names_.end() ? 0 : found->second;
    WEFT_ASSERT(index < credentials_.size(), "load() makes no table without a certificate");
    return credentials_[index];
}

}  // namespace weft::net::tls
