// What the console needs to look into values without running their code, and to print.
#pragma once

#include <span>

#include "weft/js/binding.h"

namespace weft::api {

std::span<const js::Binding> console_bindings();

}  // namespace weft::api
