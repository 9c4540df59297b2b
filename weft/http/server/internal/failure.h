// What becomes of a request whose handler failed.
#pragma once

#include <string_view>

#include "weft/base/error.h"
#include "weft/base/log_limit.h"
#include "weft/http/response.h"

namespace weft::http {

class IncomingBody;
class Request;

// 500, and one line in the log with the method, the path and the id of the request: what the
// response that it was to have calls it, else what request_id() does, else what it came with
// (X-Request-Id), else a new one. The 500 has it as well. Whoever knows a request that fails can
// send it for ever: the log takes only so many lines of each cause.
Response failure_response(const Request& request, const Headers* response, std::string_view why,
                          LogLimit& log_limit);
// Of a body that could not be read, with what was wrong.
Response bad_body_response(const IncomingBody& body);
// One line in the log for a body that was cut off because its producer failed. How streams end
// whose time, reader or source is gone is no failure.
void log_failed_body(const Request& request, const Headers& response, const Error& error,
                     LogLimit& log_limit);

}  // namespace weft::http
