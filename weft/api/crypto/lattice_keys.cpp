#include "weft/api/crypto/lattice_keys.h"

#include <openssl/objects.h>
#include <openssl/x509.h>

namespace weft::crypto {
namespace {

using Object = std::unique_ptr<ASN1_OBJECT, FreeBy<ASN1_OBJECT_free>>;
using PublicForm = std::unique_ptr<X509_PUBKEY, FreeBy<X509_PUBKEY_free>>;
using PrivateForm = std::unique_ptr<PKCS8_PRIV_KEY_INFO, FreeBy<PKCS8_PRIV_KEY_INFO_free>>;

const char* object_of(std::string_view name) {
    struct Known {
        std::string_view name;
        const char* object;
    };
    static constexpr Known kKnown[] = {
        {"ML-KEM-512", "2.16.840.1.101.3.4.4.1"},  {"ML-KEM-768", "2.16.840.1.101.3.4.4.2"},
        {"ML-KEM-1024", "2.16.840.1.101.3.4.4.3"}, {"ML-DSA-44", "2.16.840.1.101.3.4.3.17"},
        {"ML-DSA-65", "2.16.840.1.101.3.4.3.18"},  {"ML-DSA-87", "2.16.840.1.101.3.4.3.19"},
    };
    for (const Known& known : kKnown)
        if (known.name == name) return known.object;
    return "";
}

Object object_named(std::string_view name) { return Object(OBJ_txt2obj(object_of(name), 1)); }

// Whether the algorithm is the named one and has no parameters.
bool is_of(std::string_view name, const ASN1_OBJECT* object, const X509_ALGOR* algorithm) {
    int type = V_ASN1_UNDEF;
    X509_ALGOR_get0(nullptr, &type, nullptr, algorithm);
    Object expected = object_named(name);
    return expected && OBJ_cmp(object, expected.get()) == 0 && type == V_ASN1_UNDEF;
}

Octets octets_of(const unsigned char* bytes, int length) {
    const auto* from = reinterpret_cast<const std::byte*>(bytes);
    return {from, from + length};
}

Result<Octets> unwrap_public(std::string_view name, Bytes der) {
    const unsigned char* at = data_of(der);
    const unsigned char* end = at + der.size();
    PublicForm form(d2i_X509_PUBKEY(nullptr, &at, static_cast<long>(der.size())));
    ASN1_OBJECT* object = nullptr;
    X509_ALGOR* algorithm = nullptr;
    const unsigned char* bytes = nullptr;
    int length = 0;
    if (!form || at != end ||
        X509_PUBKEY_get0_param(&object, &bytes, &length, &algorithm, form.get()) != 1 ||
        !is_of(name, object, algorithm))
        return failed("key");
    // Parsing may have left an error, because OpenSSL cannot make a key of the content.
    ERR_clear_error();
    return octets_of(bytes, length);
}

Result<Octets> unwrap_private(std::string_view name, Bytes der) {
    const unsigned char* at = data_of(der);
    const unsigned char* end = at + der.size();
    PrivateForm form(d2i_PKCS8_PRIV_KEY_INFO(nullptr, &at, static_cast<long>(der.size())));
    const ASN1_OBJECT* object = nullptr;
    const X509_ALGOR* algorithm = nullptr;
    const unsigned char* bytes = nullptr;
    int length = 0;
    if (!form || at != end ||
        PKCS8_pkey_get0(&object, &bytes, &length, &algorithm, form.get()) != 1 ||
        !is_of(name, object, algorithm))
        return failed("key");
    return octets_of(bytes, length);
}

template <auto write, class T>
Result<Octets> written(T* thing) {
    unsigned char* bytes = nullptr;
    int length = write(thing, &bytes);
    if (length < 0) return failed("key");
    Octets der = octets_of(bytes, length);
    OPENSSL_clear_free(bytes, static_cast<std::size_t>(length));
    return der;
}

// A copy that OpenSSL takes over and frees.
unsigned char* copied(Bytes bytes) {
    return static_cast<unsigned char*>(OPENSSL_memdup(bytes.data(), bytes.size()));
}

}  // namespace

Result<Octets> unwrap_lattice_key(KeyType key_type, std::string_view name, Bytes der) {
    return key_type == KeyType::Public ? unwrap_public(name, der) : unwrap_private(name, der);
}

Result<Octets> wrap_lattice_key(KeyType key_type, std::string_view name, Bytes inner) {
    Object object = object_named(name);
    unsigned char* copy = copied(inner);
    auto length = static_cast<int>(inner.size());
    if (key_type == KeyType::Public) {
        PublicForm form(X509_PUBKEY_new());
        if (X509_PUBKEY_set0_param(form.get(), object.get(), V_ASN1_UNDEF, nullptr, copy, length) !=
            1) {
            OPENSSL_free(copy);
            return failed("key");
        }
        [[maybe_unused]] ASN1_OBJECT* taken = object.release();
        return written<i2d_X509_PUBKEY>(form.get());
    }
    PrivateForm form(PKCS8_PRIV_KEY_INFO_new());
    if (PKCS8_pkey_set0(form.get(), object.get(), 0, V_ASN1_UNDEF, nullptr, copy, length) != 1) {
        OPENSSL_clear_free(copy, inner.size());
        return failed("key");
    }
    [[maybe_unused]] ASN1_OBJECT* taken = object.release();
    return written<i2d_PKCS8_PRIV_KEY_INFO>(form.get());
}

}  // namespace weft::crypto
