// What navigator tells of the program and of the machine.
#pragma once

#include <span>

#include "weft/js/binding.h"

namespace weft::api {

std::span<const js::Binding> global_bindings();

}  // namespace weft::api
