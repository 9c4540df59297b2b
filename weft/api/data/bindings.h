// The native functions of weft:data.
#pragma once

#include <span>

#include "weft/js/binding.h"

namespace weft::api {

std::span<const js::Binding> data_bindings();

}  // namespace weft::api
