// The start-up snapshot: the prelude's scripts, run once when Weft is built.
//
// A fresh isolate then begins with all classes in place. The snapshot holds functions of C++ by
// their place in the table of bindings, so whoever reads it has the same table. The reader without
// a snapshot (a tool, a build under test) runs the same scripts itself.
#pragma once

#include <v8.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/base/result.h"
#include "weft/js/binding.h"
#include "weft/js/isolate.h"

namespace weft::js {

// All addresses that a snapshot may name, closed by a zero. The same table gives the same list,
// which lives as long as the process.
const std::intptr_t* external_references(std::span<const Binding> bindings);

// Gives the scripts' `realm`. Owning isolate only.
Result<v8::Local<v8::Object>> run_prelude(v8::Local<v8::Context> context,
                                          std::span<const Binding> bindings,
                                          std::span<const PreludeScript> scripts);

// In a process of its own, before any isolate.
Result<std::vector<char>> make_snapshot(std::span<const Binding> bindings,
                                        std::span<const PreludeScript> scripts);

}  // namespace weft::js
