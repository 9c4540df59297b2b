// Hands a request over to the worker of its application, when another worker has read it because
// that one was busy. The application handles it on its own worker, and the callbacks of the
// response are called and destroyed there, too.
//
// The connection's fiber waits meanwhile, so two workers never use the connection at the same time.
#pragma once

#include "weft/base/function.h"
#include "weft/base/result.h"
#include "weft/http/response.h"

namespace weft {
class Runtime;
}

namespace weft::app {

// Called by a fiber of any other worker. Runs `handle` on a fiber of the pinned worker with that
// index, and waits for its end even if the caller is cancelled.
Result<http::Response> handle_at(Runtime& runtime, unsigned pinned,
                                 std::move_only_function<Result<http::Response>()> handle);

}  // namespace weft::app
