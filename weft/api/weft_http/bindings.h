// What weft:http needs of the disk.
#pragma once

#include <span>

#include "weft/js/binding.h"

namespace weft::api {

std::span<const js::Binding> weft_http_bindings();

}  // namespace weft::api
