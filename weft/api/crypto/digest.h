// Hashes and functions built on hashes only. Pure functions, any thread. A hash is named as in Web
// Cryptography ("SHA-256") or as in OpenSSL ("md5", "sha3-256").
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weft/api/crypto/octets.h"

namespace weft::crypto {

Result<Octets> digest(std::string_view hash, Bytes data);
Result<Octets> hmac(std::string_view hash, Bytes key, Bytes data);
Result<Octets> hkdf(std::string_view hash, Bytes key, Bytes salt, Bytes info,
                    std::size_t length_bytes);
Result<Octets> pbkdf2(std::string_view hash, Bytes password, Bytes salt, unsigned iterations,
                      std::size_t length_bytes);
struct ScryptCost {
    std::uint64_t n;
    std::uint64_t r;
    std::uint64_t p;
    std::uint64_t memory_bytes_max;
};
Result<Octets> scrypt(Bytes password, Bytes salt, const ScryptCost& cost, std::size_t length_bytes);
Result<void> fill_random(ByteSpace space);
// Compares in a time that does not depend on the contents.
bool equal(Bytes a, Bytes b);

}  // namespace weft::crypto
