// Signatures, RSA encryption and key agreement, with keys in the form of keys.h. Pure functions,
// any thread.
#pragma once

#include <cstddef>
#include <string_view>

#include "weft/api/crypto/keys.h"

namespace weft::crypto {

enum class Scheme : std::uint8_t { RsaPkcs1, RsaPss, Ecdsa, Edwards };

struct Signing {
    Scheme scheme;
    std::string_view hash;       // not used by Edwards
    std::size_t salt_bytes = 0;  // used by RsaPss only
};

// An ECDSA signature is r and s, each as long as an element of the field, as in IEEE P1363.
Result<Octets> sign(const Signing& signing, Bytes private_key, Bytes data);
// Gives false for a wrong signature; an error means that the check could not be made.
Result<bool> verify(const Signing& signing, Bytes public_key, Bytes signature, Bytes data);

Result<Octets> rsa_oaep_encrypt(std::string_view hash, Bytes public_key, Bytes label, Bytes data);
Result<Octets> rsa_oaep_decrypt(std::string_view hash, Bytes private_key, Bytes label, Bytes data);

// The shared secret: the x coordinate for ECDH, 32 bytes for X25519, 56 for X448.
Result<Octets> agree(Bytes private_key, Bytes public_key);

}  // namespace weft::crypto
