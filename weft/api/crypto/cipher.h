// AES and ChaCha20. Pure functions, any thread. AES keys have 16, 24 or 32 bytes, ChaCha20 keys 32.
// An error means that the input has a wrong length or fails authentication.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/api/crypto/octets.h"

namespace weft::crypto {

enum class Direction : bool { Decrypt, Encrypt };

// The iv has 16 bytes.
Result<Octets> aes_cbc(Direction direction, Bytes key, Bytes iv, Bytes data);
// Only the last `counter_bits` bits, 1 to 128, of the 16-byte block are the counter; they wrap
// around without a carry into the others.
Result<Octets> aes_ctr(Bytes key, Bytes counter, unsigned counter_bits, Bytes data);
Result<Octets> aes_key_wrap(Direction direction, Bytes key, Bytes data);

// Authenticated encryption.
enum class Aead : std::uint8_t { AesGcm, AesOcb, ChaCha20Poly1305 };
struct Sealing {
    Bytes key;
    Bytes iv;  // AesOcb: 1 to 15 bytes; ChaCha20Poly1305: 12 bytes
    Bytes additional;
    std::size_t tag_bytes;
};
// The authentication tag follows the ciphertext.
Result<Octets> aead(Aead kind, Direction direction, const Sealing& sealing, Bytes data);

}  // namespace weft::crypto
