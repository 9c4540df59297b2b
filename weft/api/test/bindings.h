// What the runner of tests tells the host, and the scopes of its tests.
#pragma once

#include <span>

#include "weft/js/binding.h"

namespace weft::api {

std::span<const js::Binding> test_bindings();

}  // namespace weft::api
