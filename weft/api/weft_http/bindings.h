// Native functions of weft:http that read files and declare routes.
#pragma once

#include <span>

#include "weft/js/binding.h"

namespace weft::api {

std::span<const js::Binding> weft_http_bindings();

}  // namespace weft::api
