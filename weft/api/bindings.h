// The one table of native functions, and the start-up snapshot that was made with it.
#pragma once

#include <span>

#include "weft/js/binding.h"

namespace weft::api {

// The rooms' tables, one after the other; the same for the life of the process.
std::span<const js::Binding> bindings();

// Empty in the tool that makes it.
std::span<const char> snapshot();

}  // namespace weft::api
