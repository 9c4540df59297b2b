// Native functions of async_context.js: V8 carries one value from where the reaction of a promise
// is registered to where it runs.
#pragma once

#include <span>

#include "weft/js/binding.h"

namespace weft::api {

std::span<const js::Binding> async_context_bindings();

}  // namespace weft::api
