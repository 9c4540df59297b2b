// The one table of native functions, and the start-up snapshot that was made with it.
#pragma once

#include <span>

#include "weft/js/binding.h"
#include "weft/js/isolate.h"

namespace weft::api {

// The rooms' tables, one after the other; the same for the life of the process.
std::span<const js::Binding> bindings();

// Empty in the tool that makes it, and where V8 is another than the one that made it: whoever has
// none runs the prelude, which takes an isolate some 20 ms more.
std::span<const char> snapshot();

// The scripts that the snapshot was made of, in their order.
std::span<const js::PreludeScript> prelude();

}  // namespace weft::api
