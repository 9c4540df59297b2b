// Signatures, RSA encryption and key agreement, with keys as keys.h has them. Pure functions, any
// thread.
#pragma once

#include <cstddef>
#include <string_view>

#include "weft/api/crypto/keys.h"

namespace weft::crypto {

enum class Scheme : std::uint8_t { RsaPkcs1, RsaPss, Ecdsa, Edwards };

struct Signing {
    Scheme scheme;
    std::string_view hash;       // not of Edwards
    std::size_t salt_bytes = 0;  // of RsaPss
};

// Signatures of ECDSA are r and s, each as long as the field, as in IEEE P1363.
Result<Octets> sign(const Signing& signing, Bytes private_key, Bytes data);
// An error is a failure of the machine; a signature that is none is false.
Result<bool> verify(const Signing& signing, Bytes public_key, Bytes signature, Bytes data);

Result<Octets> rsa_oaep_encrypt(std::string_view hash, Bytes public_key, Bytes label, Bytes data);
Result<Octets> rsa_oaep_decrypt(std::string_view hash, Bytes private_key, Bytes label, Bytes data);

// The shared secret: the x coordinate of ECDH, the 32 bytes of X25519, the 56 of X448.
Result<Octets> agree(Bytes private_key, Bytes public_key);

}  // namespace weft::crypto
