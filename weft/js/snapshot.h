// The start-up snapshot: the prelude's scripts, run once when Weft is built.
//
// A fresh isolate then begins with all classes in place. The snapshot holds functions of C++ by
// their place in the table of bindings, so whoever reads it has the same table. V8 ends the process
// when another version of it made the snapshot, and an upgrade of the system may bring one; so a
// tag stands before the bytes, and a reader whose tag is another runs the same scripts itself.
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

// In a process of its own, before any isolate. Gives the tag and the snapshot behind it.
Result<std::vector<char>> make_snapshot(std::span<const Binding> bindings,
                                        std::span<const PreludeScript> scripts);

// The snapshot behind the tag. An error when this process has another V8, or starts it with other
// flags, than the one that made it.
Result<std::span<const char>> read_snapshot(std::span<const char> tagged);

}  // namespace weft::js
