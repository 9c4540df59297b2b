// Argon2, the password hash of RFC 9106, which OpenSSL has only from version 3.2 on. A pure
// function, any thread. It uses as much memory and time as the parameters say.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/api/crypto/octets.h"

namespace weft::crypto {

enum class Argon2Type : std::uint8_t { D, I, Id };

// RFC 9106 §4 recommends at most two gibibytes.
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
// `length_bytes` is at least 4. Returns an error if the memory cannot be allocated or exceeds the
// limit.
Result<Octets> argon2(const Argon2& task, std::uint32_t length_bytes);

}  // namespace weft::crypto
