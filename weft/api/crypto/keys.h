// Keys of RSA, of elliptic curves and of the Edwards and Montgomery curves. A key is a value: the
// bytes of its DER form, PKCS #8 for a private one, SubjectPublicKeyInfo for a public one. Pure
// functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/api/crypto/octets.h"

namespace weft::crypto {

enum class Half : bool { Public, Private };

struct KeyPair {
    Octets private_key;
    Octets public_key;
};

Result<KeyHandle> parse_key(Half half, Bytes der);
Result<Octets> encode_key(Half half, EVP_PKEY* key);
Result<KeyPair> encode_pair(EVP_PKEY* key);
Result<Octets> public_of(Bytes private_der);

// What a DER form holds.
struct KeyNature {
    std::string kind;   // "RSA", "EC", "Ed25519", "X25519", "Ed448", "X448"
    std::string curve;  // of EC: "P-256", "P-384", "P-521"
    unsigned bits = 0;  // of RSA: the modulus
    Octets exponent;    // of RSA: the public one, big-endian
    Octets der;         // the key in its canonical form
};
Result<KeyNature> nature_of(Half half, Bytes der);

Result<KeyPair> generate_rsa(unsigned bits, Bytes exponent);
Result<KeyPair> generate_ec(std::string_view curve);
Result<KeyPair> generate_edwards(std::string_view kind);  // or Montgomery

// n, e and, of a private one, d, p, q, dp, dq, qi: big-endian without leading zeros.
Result<std::vector<Octets>> rsa_numbers(Half half, Bytes der);
Result<Octets> rsa_of_numbers(Half half, const std::vector<Bytes>& numbers);

// x, y and, of a private one, d: each as long as the field.
Result<std::vector<Octets>> ec_numbers(Half half, Bytes der);
// The point may be compressed. An error if it is not on the curve, or `d` does not belong to it.
Result<Octets> ec_of_point(std::string_view curve, Bytes point);
Result<Octets> ec_of_numbers(std::string_view curve, Bytes x, Bytes y, Bytes d);

// The public key and, of a private one, the private key: 32 bytes each, 56 of X448, 57 of Ed448.
Result<std::vector<Octets>> edwards_numbers(Half half, Bytes der);
Result<Octets> edwards_of_number(std::string_view kind, Half half, Bytes number);

}  // namespace weft::crypto
