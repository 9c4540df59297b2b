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

}  // namespace weft::app
