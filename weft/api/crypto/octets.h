// What the files of this folder share: owned bytes, and handles that free OpenSSL objects.
#pragma once

#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/result.h"

namespace weft::crypto {

using Octets = std::vector<std::byte>;

template <auto free_function>
struct FreeBy {
    template <class T>
    void operator()(T* handle) const {
        free_function(handle);
    }
};

using KeyHandle = std::unique_ptr<EVP_PKEY, FreeBy<EVP_PKEY_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, FreeBy<EVP_PKEY_CTX_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, FreeBy<EVP_MD_CTX_free>>;
using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, FreeBy<EVP_CIPHER_CTX_free>>;
using Number = std::unique_ptr<BIGNUM, FreeBy<BN_clear_free>>;

inline const unsigned char* data_of(Bytes bytes) {
    return reinterpret_cast<const unsigned char*>(bytes.data());
}
inline unsigned char* mutable_data_of(Octets& octets) {
    return reinterpret_cast<unsigned char*>(octets.data());
}

// Knows "SHA-1", "SHA-256", "SHA-384" and "SHA-512"; returns null for any other name.
const EVP_MD* hash_of(std::string_view name);

// Makes an error of the last failure of OpenSSL in this thread, with its reason, and empties the
// error queue of the thread.
Error failed(std::string_view operation);

}  // namespace weft::crypto
