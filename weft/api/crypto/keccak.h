// Functions of any output length over the permutation Keccak-p[1600]: cSHAKE and KMAC of NIST SP
// 800-185, TurboSHAKE and KangarooTwelve of RFC 9861. OpenSSL 3.0 has the first two only in part
// and the others not at all. Pure functions, any thread.
#pragma once

#include <cstddef>

#include "weft/api/crypto/octets.h"

namespace weft::crypto {

enum class Strength : bool { Bits128, Bits256 };

// Equals SHAKE if both the name and the customization are empty. If the output ends within a byte,
// the low bits of that byte hold the output, as in FIPS 202.
Octets cshake(Strength strength, Bytes function_name, Bytes customization, Bytes data,
              std::size_t output_bits);
Octets kmac(Strength strength, Bytes key, Bytes customization, Bytes data, std::size_t output_bits);

// The domain is in the range 0x01 to 0x7f.
Octets turbo_shake(Strength strength, unsigned char domain, Bytes data, std::size_t output_bytes);
Octets kangaroo_twelve(Strength strength, Bytes customization, Bytes data,
                       std::size_t output_bytes);

}  // namespace weft::crypto
