// The forms of DER of ML-KEM and ML-DSA, RFC 9935 and RFC 9881. OpenSSL 3.0 knows how a key is
// wrapped, though not what these keys are.
#pragma once

#include <string_view>

#include "weft/api/crypto/keys.h"

namespace weft::crypto {

// Names are "ML-KEM-768" and the like. What is wrapped is, of a public key, the key itself; of a
// private one the inner form, which tells a seed from an expanded key.
Result<Octets> unwrap_lattice_key(Half half, std::string_view name, Bytes der);
Result<Octets> wrap_lattice_key(Half half, std::string_view name, Bytes inner);

}  // namespace weft::crypto
