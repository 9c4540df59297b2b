// Native functions that detach an ArrayBuffer and share its memory with another object.
#pragma once

#include <span>

#include "weft/js/binding.h"

namespace weft::api {

std::span<const js::Binding> clone_bindings();

}  // namespace weft::api
