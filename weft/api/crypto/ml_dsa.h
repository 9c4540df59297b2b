// ML-DSA, the signatures of FIPS 204, which OpenSSL has only from version 3.5 on. Pure functions,
// any thread.
//
// A private key is its seed of 32 bytes; every operation derives the rest from it. Callers check
// the lengths of seeds, public keys and random bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/api/crypto/octets.h"

namespace weft::crypto {

enum class DsaSet : std::uint8_t { MlDsa44, MlDsa65, MlDsa87 };

inline constexpr std::size_t kDsaSeedBytes = 32;
inline constexpr std::size_t kDsaRandomBytes = 32;

std::size_t ml_dsa_public_bytes(DsaSet set);
Octets ml_dsa_public_of(DsaSet set, Bytes seed);

// The context has at most 255 bytes.
Octets ml_dsa_sign(DsaSet set, Bytes seed, Bytes context, Bytes random, Bytes data);
bool ml_dsa_verify(DsaSet set, Bytes public_key, Bytes context, Bytes signature, Bytes data);

}  // namespace weft::crypto
