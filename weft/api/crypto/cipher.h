// AES. Pure functions, any thread. Keys have 16, 24 or 32 bytes; an error means that the input does
// not fit, or does not authenticate.
#pragma once

#include <cstddef>

#include "weft/api/crypto/octets.h"

namespace weft::crypto {

enum class Direction : bool { Decrypt, Encrypt };

Result<Octets> aes_cbc(Direction direction, Bytes key, Bytes iv, Bytes data);
// The last `counter_bits` of the block of 16 bytes count, and wrap round.
Result<Octets> aes_ctr(Bytes key, Bytes counter, unsigned counter_bits, Bytes data);
// The tag stands behind the text.
Result<Octets> aes_gcm(Direction direction, Bytes key, Bytes iv, Bytes additional,
                       std::size_t tag_bytes, Bytes data);
Result<Octets> aes_key_wrap(Direction direction, Bytes key, Bytes data);

}  // namespace weft::crypto
