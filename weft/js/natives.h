// The native functions of the engine itself: time, microtasks, errors, tasks.
#pragma once

#include <span>

#include "weft/js/binding.h"

namespace weft::js {

std::span<const Binding> engine_bindings();
// Of require(): the resolver, files and ES modules, at once.
std::span<const Binding> require_bindings();

}  // namespace weft::js
