// The native functions of Web Cryptography: bytes in, bytes out. The scripts handle the names of
// algorithms, the usages and the formats of keys.
#pragma once

#include <span>

#include "weft/js/binding.h"

namespace weft::api {

std::span<const js::Binding> crypto_bindings();
std::span<const js::Binding> lattice_bindings();  // ML-KEM and ML-DSA

}  // namespace weft::api
