// Requests that came to another worker than the one of their application, because that one was
// busy: the application handles them on its own worker all the same, and so is what their responses
// consist of run and destroyed there.
//
// The connection's fiber waits meanwhile, so nothing of the connection has two users at once.
#pragma once

#include "weft/base/function.h"
#include "weft/base/result.h"
#include "weft/http/response.h"

namespace weft {
class Runtime;
}

namespace weft::app {

// `handle` runs on a fiber of that pinned worker; fibers of any other. It is waited for, also by
// one who is cancelled.
Result<http::Response> handle_at(Runtime& runtime, unsigned pinned,
                                 std::move_only_function<Result<http::Response>()> handle);

}  // namespace weft::app
