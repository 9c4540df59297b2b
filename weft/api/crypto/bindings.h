// The leaves of Web Cryptography: bytes in, bytes out. Names of algorithms, usages and the forms of
// keys are the business of the scripts.
#pragma once

#include <span>

#include "weft/js/binding.h"

namespace weft::api {

std::span<const js::Binding> crypto_bindings();
std::span<const js::Binding> lattice_bindings();  // ML-KEM and ML-DSA

}  // namespace weft::api
