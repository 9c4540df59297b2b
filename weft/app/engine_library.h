// The library with the JavaScript engine, loaded when it is first needed.
#pragma once

#include <memory>

#include "weft/app/app_host.h"
#include "weft/base/result.h"

namespace weft::app {

// On a fiber. The library is opened by a plain thread, because its initializers expect the stack of
// one, and stays open. Unavailable says why there is none.
Result<std::unique_ptr<AppHost>> open_engine(Runtime& runtime);

}  // namespace weft::app
