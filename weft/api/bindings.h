// The table of all native functions, and the start-up snapshot that was made with it. Any thread.
#pragma once

#include <span>

#include "weft/js/binding.h"
#include "weft/js/isolate.h"

namespace weft::api {

// The tables of all folders, one after the other. The same for the life of the process.
std::span<const js::Binding> bindings();

// Empty in the tool that makes the snapshot, and when the V8 at run time differs from the one that
// made it. Without a snapshot each isolate runs the prelude, which takes about 20 ms.
std::span<const char> snapshot();

// The scripts that are in the snapshot, in the order in which they run.
std::span<const js::PreludeScript> prelude();

}  // namespace weft::api
