// The native functions of this folder.
#pragma once

#include <span>

#include "weft/js/binding.h"

namespace weft::api {

std::span<const js::Binding> websocket_bindings();

}  // namespace weft::api
