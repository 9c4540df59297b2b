#include "weft/http/server/internal/failure.h"

#include <algorithm>
#include <string>

#include "weft/base/assert.h"
#include "weft/base/env.h"
#include "weft/base/format.h"
#include "weft/http/internal/incoming_body.h"
#include "weft/http/request.h"
#include "weft/http/routing/middleware.h"

namespace weft::http {
namespace {

// Of a path, which a client has chosen, in a line of the log.
constexpr std::size_t kPathBytesMax = 256;

std::string id_of(const Request& request, const Headers* response) {
    constexpr std::string_view kField = "x-request-id";
    std::string_view said = response ? response->get(kField).value_or("") : "";
    std::string_view asked = request.header(kField).value_or("");
    for (std::string_view id : {said, request.id(), asked})
        if (is_request_id(id)) return std::string(id);
    return format("{:016x}", env::random(RandomStream::Workload));
}

void log_failure(const Request& request, std::string_view id, std::string_view why,
                 LogLimit& limit) {
    std::string_view target = request.target();
    // Without the query, which often has secrets.
    std::string_view path = target.substr(0, std::min(target.find('?'), kPathBytesMax));
    log_limited(limit, LogLevel::Error, why, "http: {} {} failed (request {}): {}",
                request.method(), path, id, why);
}

}  // namespace

Response failure_response(const Request& request, const Headers* response, std::string_view why,
                          LogLimit& log_limit) {
    std::string id = id_of(request, response);
    log_failure(request, id, why, log_limit);
    return Response::plain(500).with("x-request-id", id);
}

Response bad_body_response(const IncomingBody& body) {
    std::uint16_t status = body.failure_status();
    WEFT_ASSERT(status >= 400 && status < 600, "the body failed by its sender's fault");
    std::string why =
        status == 408 ? "the body of the request took too long" : body.error().message();
    return Response::text(why + "\n", status);
}

void log_failed_body(const Request& request, const Headers& response, const Error& error,
                     LogLimit& log_limit) {
    switch (error.kind()) {
    case ErrorKind::Cancelled:
    case ErrorKind::TimedOut:
    case ErrorKind::Closed:
    case ErrorKind::Reset:
    case ErrorKind::Limit: return;
    default: log_failure(request, id_of(request, &response), error.message(), log_limit);
    }
}

}  // namespace weft::http
