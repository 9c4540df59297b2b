// Native functions with which the console reads values without running their code, and prints.
#pragma once

#include <span>

#include "weft/js/binding.h"

namespace weft::api {

std::span<const js::Binding> console_bindings();

}  // namespace weft::api
