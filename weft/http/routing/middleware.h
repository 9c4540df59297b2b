// Middleware that most servers want. Each is a plain function around a handler; any fiber.
#pragma once

#include <string>
#include <string_view>

#include "weft/async/context.h"
#include "weft/base/time.h"
#include "weft/http/response.h"

namespace weft::http {

// Where request_id() leaves the name of the request: context.value(kRequestId).
inline constexpr async::ContextKey<std::string> kRequestId;
// A longer X-Request-Id of a client is replaced.
inline constexpr std::size_t kRequestIdBytesMax = 128;

// Of letters, digits and "-_.": it can be mistaken for nothing else in a line of a log.
bool is_request_id(std::string_view text);

// Gives each request a name, that of its X-Request-Id if it is one, and says it in the response.
// What the server logs of a request that fails has it, too.
Middleware request_id();

// The context of the handler ends after this time. An error that the handler returns because of
// that is answered with 503; a response counts, however late. What a body's producer does after
// the handler has returned is not limited by it.
Middleware timeout(Nanoseconds duration);

}  // namespace weft::http
