// AES and ChaCha20. Pure functions, any thread. Keys of AES have 16, 24 or 32 bytes, those of
// ChaCha20 32; an error means that the input does not fit, or does not authenticate.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/api/crypto/octets.h"

namespace weft::crypto {

enum class Direction : bool { Decrypt, Encrypt };

Result<Octets> aes_cbc(Direction direction, Bytes key, Bytes iv, Bytes data);
// The last `counter_bits` of the block of 16 bytes count, and wrap round.
Result<Octets> aes_ctr(Bytes key, Bytes counter, unsigned counter_bits, Bytes data);
Result<Octets> aes_key_wrap(Direction direction, Bytes key, Bytes data);

// Encryption that authenticates.
enum class Aead : std::uint8_t { AesGcm, AesOcb, ChaCha20Poly1305 };
struct Sealing {
    Bytes key;
    Bytes iv;  // of AesOcb 1 to 15 bytes, of ChaCha20Poly1305 12
    Bytes additional;
    std::size_t tag_bytes;
};
// The tag stands behind the text.
Result<Octets> aead(Aead kind, Direction direction, const Sealing& sealing, Bytes data);

}  // namespace weft::crypto
