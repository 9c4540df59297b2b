// The start-up snapshot: the heap after the prelude's scripts have run, made when Weft is built.
//
// A new isolate begins with it and has all classes at once. The snapshot refers to C++ functions by
// their index in the table of bindings, and to the texts of the prelude's scripts by their index in
// the list of scripts, so it is read with the same table and list. V8 ends the process when
// a different version made the snapshot, and an upgrade of the system may replace V8; so a tag is
// put before the bytes, and a process with a different tag runs the scripts itself.
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

// The addresses that a snapshot may refer to, terminated by a zero. The same table and scripts give
// the same list, which lives as long as the process. Any thread.
const std::intptr_t* external_references(std::span<const Binding> bindings,
                                         std::span<const PreludeScript> scripts);

// Runs the scripts and returns their `realm`. Owning isolate only.
Result<v8::Local<v8::Object>> run_prelude(v8::Local<v8::Context> context,
                                          std::span<const Binding> bindings,
                                          std::span<const PreludeScript> scripts);

// In a process of its own, before any isolate. Returns the tag, followed by the snapshot.
Result<std::vector<char>> make_snapshot(std::span<const Binding> bindings,
                                        std::span<const PreludeScript> scripts);

// The snapshot after the tag. Unavailable if this process has a different version of V8, or starts
// it with different flags, than the process that made it. Any thread.
Result<std::span<const char>> read_snapshot(std::span<const char> tagged);

}  // namespace weft::js
