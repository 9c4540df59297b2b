// Middleware that most servers use. Any fiber.
#pragma once

#include <string>
#include <string_view>

#include "weft/async/context.h"
#include "weft/base/time.h"
#include "weft/http/response.h"

namespace weft::http {

// The id that request_id() has given to a request: context.value(kRequestId).
inline constexpr async::ContextKey<std::string> kRequestId;
// A longer X-Request-Id of a client is replaced.
inline constexpr std::size_t kRequestIdBytesMax = 128;

// Letters, digits and "-_." only, so that in a line of a log it cannot be taken for something else.
bool is_request_id(std::string_view text);

// Gives each request an id, that of its X-Request-Id if that is a valid one, and adds it to the
// response. What the server logs about a failed request has it, too.
Middleware request_id();

// The context of the handler ends after this time. An error that the handler returns because of
// that is answered with 503; a response is sent, however late. The producer of a body, which runs
// after the handler has returned, is not limited.
Middleware timeout(Nanoseconds duration);

}  // namespace weft::http
