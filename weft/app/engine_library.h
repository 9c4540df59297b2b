// Opens the library with the JavaScript engine, which is loaded when it is first needed.
#pragma once

#include <memory>

#include "weft/app/app_host.h"
#include "weft/base/result.h"

namespace weft::app {

// On a fiber. The library is opened by a plain thread, because its initializers need the stack of a
// thread, and is never closed. The host's functions return Unavailable with the reason if the
// library cannot be loaded.
Result<std::unique_ptr<AppHost>> open_engine(Runtime& runtime);

// Takes the constant data of all loaded libraries out of this process's resident memory: symbol
// tables and relocations, of which the dynamic linker has read megabytes and needs them no more.
// The pages remain in the kernel's page cache, and what is read again comes back from there. Code
// is left alone, because a debugger may have written breakpoints into it. Any thread.
void release_constant_pages();

}  // namespace weft::app
