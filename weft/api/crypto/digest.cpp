#include "weft/api/crypto/digest.h"

#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <string>

namespace weft::crypto {

const EVP_MD* hash_of(std::string_view name) {
    if (name == "SHA-256") return EVP_sha256();
    if (name == "SHA-1") return EVP_sha1();
    if (name == "SHA-384") return EVP_sha384();
    if (name == "SHA-512") return EVP_sha512();
    return EVP_get_digestbyname(std::string(name).c_str());
}

Error failed(std::string_view operation) {
    char reason[256] = "";
    unsigned long code = ERR_get_error();
    if (code != 0) ERR_error_string_n(code, reason, sizeof reason);
    ERR_clear_error();
    return Error(ErrorKind::Other, std::string(operation) + ": " + reason);
}

Result<Octets> digest(std::string_view hash, Bytes data) {
    Octets result(EVP_MAX_MD_SIZE);
    unsigned length = 0;
    if (!hash_of(hash)) return failed("digest");
    if (EVP_Digest(data.data(), data.size(), mutable_data_of(result), &length, hash_of(hash),
                   nullptr) != 1)
        return failed("digest");
    result.resize(length);
    return result;
}

Result<Octets> hmac(std::string_view hash, Bytes key, Bytes data) {
    Octets result(EVP_MAX_MD_SIZE);
    unsigned length = 0;
    if (!hash_of(hash)) return failed("hmac");
    // An empty key must not be passed as a null pointer, which means "the key of the previous
    // call".
    const void* bytes = key.empty() ? static_cast<const void*>("") : key.data();
    if (HMAC(hash_of(hash), bytes, static_cast<int>(key.size()), data_of(data), data.size(),
             mutable_data_of(result), &length) == nullptr)
        return failed("hmac");
    result.resize(length);
    return result;
}

Result<Octets> hkdf(std::string_view hash, Bytes key, Bytes salt, Bytes info,
                    std::size_t length_bytes) {
    if (length_bytes == 0) return Octets();
    // RFC 5869 §2.2: without a salt, HashLen zeros. OpenSSL 3.0 refuses an empty key, so both steps
    // of HKDF are made with HMAC here.
    Octets zeros(static_cast<std::size_t>(EVP_MD_get_size(hash_of(hash))));
    Octets pseudo_random = WEFT_TRY(hmac(hash, salt.empty() ? Bytes(zeros) : salt, key));
    if (length_bytes > 255 * zeros.size()) return Error(ErrorKind::Limit, "hkdf: too long");
    Octets result;
    Octets block;
    for (unsigned counter = 1; result.size() < length_bytes; ++counter) {
        Octets input = std::move(block);
        input.insert(input.end(), info.begin(), info.end());
        input.push_back(static_cast<std::byte>(counter));
        block = WEFT_TRY(hmac(hash, pseudo_random, input));
        result.insert(result.end(), block.begin(), block.end());
    }
    result.resize(length_bytes);
    return result;
}

Result<Octets> pbkdf2(std::string_view hash, Bytes password, Bytes salt, unsigned iterations,
                      std::size_t length_bytes) {
    Octets result(length_bytes);
    if (!hash_of(hash)) return failed("pbkdf2");
    if (length_bytes == 0) return result;
    const char* text = password.empty() ? "" : reinterpret_cast<const char*>(password.data());
    if (PKCS5_PBKDF2_HMAC(text, static_cast<int>(password.size()), data_of(salt),
                          static_cast<int>(salt.size()), static_cast<int>(iterations),
                          hash_of(hash), static_cast<int>(length_bytes),
                          mutable_data_of(result)) != 1)
        return failed("pbkdf2");
    return result;
}

Result<Octets> scrypt(Bytes password, Bytes salt, const ScryptCost& cost,
                      std::size_t length_bytes) {
    Octets result(length_bytes);
    const char* text = password.empty() ? "" : reinterpret_cast<const char*>(password.data());
    if (EVP_PBE_scrypt(text, password.size(), data_of(salt), salt.size(), cost.n, cost.r, cost.p,
                       cost.memory_bytes_max, mutable_data_of(result), length_bytes) != 1)
        return failed("scrypt");
    return result;
}

Result<void> fill_random(ByteSpace space) {
    if (RAND_bytes(reinterpret_cast<unsigned char*>(space.data()),
                   static_cast<int>(space.size())) != 1)
        return failed("random");
    return {};
}

bool equal(Bytes a, Bytes b) {
    return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace weft::crypto
