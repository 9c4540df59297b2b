// The memory of ArrayBuffers, handed from one object to another.
#pragma once

#include <span>

#include "weft/js/binding.h"

namespace weft::api {

std::span<const js::Binding> clone_bindings();

}  // namespace weft::api
