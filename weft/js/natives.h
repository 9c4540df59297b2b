// The native functions of the engine itself: time, microtasks, errors, tasks.
#pragma once

#include <span>

#include "weft/js/binding.h"

namespace weft::js {

std::span<const Binding> engine_bindings();
// Those that require() is made of: the resolver, files and ES modules, all synchronous.
std::span<const Binding> require_bindings();

}  // namespace weft::js
