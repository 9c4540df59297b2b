// The DER encodings of ML-KEM and ML-DSA keys, RFC 9935 and RFC 9881. OpenSSL 3.0 can read the
// outer structure but does not know these algorithms. Pure functions, any thread.
#pragma once

#include <string_view>

#include "weft/api/crypto/keys.h"

namespace weft::crypto {

// A name is "ML-KEM-768" or similar. The content is the key itself for a public key. For a private
// key it is the inner structure, which tells whether a seed or an expanded key follows.
Result<Octets> unwrap_lattice_key(KeyType key_type, std::string_view name, Bytes der);
Result<Octets> wrap_lattice_key(KeyType key_type, std::string_view name, Bytes inner);

}  // namespace weft::crypto
