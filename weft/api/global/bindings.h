// Native functions behind `navigator`: facts about the program and the machine.
#pragma once

#include <span>

#include "weft/js/binding.h"

namespace weft::api {

std::span<const js::Binding> global_bindings();

}  // namespace weft::api
