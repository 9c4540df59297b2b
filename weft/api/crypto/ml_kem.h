// ML-KEM, the key encapsulation of FIPS 203, which OpenSSL has only from version 3.5 on. Pure
// functions, any thread.
//
// A private key is its seed, the 64 bytes d and z; every operation derives the rest from it.
// Callers check the lengths of seeds and random bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/api/crypto/octets.h"

namespace weft::crypto {

enum class KemSet : std::uint8_t { MlKem512, MlKem768, MlKem1024 };

inline constexpr std::size_t kKemSeedBytes = 64;
inline constexpr std::size_t kKemRandomBytes = 32;

Octets ml_kem_public_of(KemSet set, Bytes seed);
// FIPS 203 §7.2: checks the length and that every coefficient is less than the modulus.
bool ml_kem_is_public(KemSet set, Bytes public_key);

struct Encapsulated {
    Octets shared;  // 32 bytes
    Octets ciphertext;
};
// The key must have passed ml_kem_is_public().
Encapsulated ml_kem_encapsulate(KemSet set, Bytes public_key, Bytes random);
// Returns an error if the ciphertext has a wrong length. A modified ciphertext gives a different
// secret, not an error.
Result<Octets> ml_kem_decapsulate(KemSet set, Bytes seed, Bytes ciphertext);

}  // namespace weft::crypto
