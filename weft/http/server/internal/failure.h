// The responses to requests whose handlers failed, and the lines that the log has about them. The
// fiber or loop that serves the request.
#pragma once

#include <string_view>

#include "weft/base/error.h"
#include "weft/base/log_limit.h"
#include "weft/http/response.h"

namespace weft::http {

class IncomingBody;
class Request;

// 500, and one line in the log with the method, the path and the id of the request. The id is the
// X-Request-Id of `response`, the one that cannot be sent, if there is one; else that of the
// middleware request_id(); else that of the request; else a new one. The 500 has it as well. A
// client can repeat a request that fails for ever, so the log takes only so many lines of a cause.
Response failure_response(const Request& request, const Headers* response, std::string_view why,
                          LogLimit& log_limit);
// To a request whose body could not be read; its text says what was wrong.
Response bad_body_response(const IncomingBody& body);
// One line in the log for a body that was cut off because its producer failed. Errors by which
// streams usually end, because their time is over or the other side is gone, are not logged.
void log_failed_body(const Request& request, const Headers& response, const Error& error,
                     LogLimit& log_limit);

}  // namespace weft::http
