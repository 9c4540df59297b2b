// Keys of RSA, of the NIST elliptic curves, and of the Edwards and Montgomery curves. A key is a
// value: its DER encoding, PKCS #8 for a private key, SubjectPublicKeyInfo for a public one. Pure
// functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/api/crypto/octets.h"

namespace weft::crypto {

enum class KeyType : bool { Public, Private };

struct KeyPair {
    Octets private_key;
    Octets public_key;
};

Result<KeyHandle> parse_key(KeyType key_type, Bytes der);
Result<Octets> encode_key(KeyType key_type, EVP_PKEY* key);
Result<KeyPair> encode_pair(EVP_PKEY* key);
Result<Octets> public_of(Bytes private_der);

// What the DER encoding of a key says about it.
struct KeyDetails {
    std::string kind;   // "RSA", "EC", "Ed25519", "X25519", "Ed448", "X448"
    std::string curve;  // of an EC key: "P-256", "P-384", "P-521"
    unsigned bits = 0;  // of an RSA key: the length of the modulus
    Octets exponent;    // of an RSA key: the public exponent, big-endian
    Octets der;         // the key, encoded anew by OpenSSL
};
Result<KeyDetails> details_of(KeyType key_type, Bytes der);

Result<KeyPair> generate_rsa(unsigned bits, Bytes exponent);
Result<KeyPair> generate_ec(std::string_view curve);
Result<KeyPair> generate_edwards(std::string_view kind);  // also the Montgomery curves

// Gives n and e, and for a private key also d, p, q, dp, dq and qi: big-endian without leading
// zeros.
Result<std::vector<Octets>> rsa_numbers(KeyType key_type, Bytes der);
Result<Octets> rsa_of_numbers(KeyType key_type, const std::vector<Bytes>& numbers);

// Gives x and y, and for a private key also d; each is as long as an element of the field.
Result<std::vector<Octets>> ec_numbers(KeyType key_type, Bytes der);
// The point may be compressed. An error if it is not on the curve or if `d` does not belong to it.
Result<Octets> ec_of_point(std::string_view curve, Bytes point);
Result<Octets> ec_of_numbers(std::string_view curve, Bytes x, Bytes y, Bytes d);

// Gives the public key, and for a private key also the private key: 32 bytes each, 56 for X448, 57
// for Ed448.
Result<std::vector<Octets>> edwards_numbers(KeyType key_type, Bytes der);
Result<Octets> edwards_of_number(std::string_view kind, KeyType key_type, Bytes number);

}  // namespace weft::crypto
