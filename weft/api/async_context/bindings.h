// The value that V8 carries from where a promise's reaction is registered to where it runs.
#pragma once

#include <span>

#include "weft/js/binding.h"

namespace weft::api {

std::span<const js::Binding> async_context_bindings();

}  // namespace weft::api
