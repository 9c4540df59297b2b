// ML-KEM, the encapsulation of keys of FIPS 203, which OpenSSL has from 3.5 on. Pure functions, any
// thread.
//
// A private key is its seed, the 64 bytes d and z, from which the rest is made each time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/api/crypto/octets.h"

namespace weft::crypto {

enum class KemSet : std::uint8_t { MlKem512, MlKem768, MlKem1024 };

inline constexpr std::size_t kKemSeedBytes = 64;
inline constexpr std::size_t kKemRandomBytes = 32;

Octets ml_kem_public_of(KemSet set, Bytes seed);
// §7.2: the length, and that no coefficient is too large.
bool ml_kem_is_public(KemSet set, Bytes public_key);

struct Encapsulated {
    Octets shared;  // 32 bytes
    Octets ciphertext;
};
// The key has passed ml_kem_is_public().
Encapsulated ml_kem_encapsulate(KemSet set, Bytes public_key, Bytes random);
// An error if the length is another one; a ciphertext that was changed gives another secret.
Result<Octets> ml_kem_decapsulate(KemSet set, Bytes seed, Bytes ciphertext);

}  // namespace weft::crypto
