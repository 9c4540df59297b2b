// Argon2, the function for passwords of RFC 9106, which OpenSSL has from 3.2 on. A pure function,
// any thread; it takes the memory and the time that it is told to.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/api/crypto/octets.h"

namespace weft::crypto {

enum class Argon2Type : std::uint8_t { D, I, Id };

// RFC 9106 §4 recommends two gibibytes; nobody needs more.
inline constexpr std::uint32_t kArgon2KibibytesMax = 1U << 21;

struct Argon2 {
    Argon2Type type;
    Bytes password;
    Bytes nonce;
    Bytes secret;
    Bytes associated;
    std::uint32_t lanes;      // 1 to 2^24 - 1
    std::uint32_t kibibytes;  // at least 8 times the lanes
    std::uint32_t passes;     // at least 1
};
// At least 4 bytes. An error if the memory cannot be had.
Result<Octets> argon2(const Argon2& task, std::uint32_t length_bytes);

}  // namespace weft::crypto
