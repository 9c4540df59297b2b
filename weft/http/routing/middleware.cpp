#include "weft/http/routing/middleware.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "weft/base/env.h"
#include "weft/base/format.h"
#include "weft/fiber/cancel.h"
#include "weft/http/request.h"

namespace weft::http {
namespace {

std::string make_request_id() {
    return format("{:016x}{:016x}", env::random(RandomStream::Workload),
                  env::random(RandomStream::Workload));
}

// The context that has the id ends with the handler. For a handler that fails the id is left in the
// request, where the server finds it for its log.
struct KeepId {
    ~KeepId() {
        if (!answered) [[unlikely]]
            request.set_id(std::move(id));
    }
    Request& request;
    std::string& id;
    bool answered = false;
};

}  // namespace

bool is_request_id(std::string_view text) {
    return !text.empty() && text.size() <= kRequestIdBytesMax &&
           std::ranges::all_of(text, [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '-' || c == '_' || c == '.';
           });
}

Middleware request_id() {
    return [](Handler next) -> Handler {
        return
            [next = std::move(next)](Request& request, async::Context& outer) -> Result<Response> {
                std::string_view sent = request.header("x-request-id").value_or("");
                std::string id = is_request_id(sent) ? std::string(sent) : make_request_id();
                async::Context context = outer.with_value(kRequestId, id);
                CancelScope ambient(context.token());
                KeepId keep{request, id};
                Response response = WEFT_TRY(next(request, context));
                keep.answered = true;
                response.headers.set("x-request-id", id);
                return response;
            };
    };
}

Middleware timeout(Nanoseconds duration) {
    return [duration](Handler next) -> Handler {
        return [duration, next = std::move(next)](Request& request,
                                                  async::Context& outer) -> Result<Response> {
            auto [context, source] = outer.with_timeout(duration);
            CancelScope ambient(context.token());
            Result<Response> response = next(request, context);
            bool is_late = context.reason() == CancelReason::DeadlineExceeded && !outer.is_done();
            if (response || !is_late) return response;
            ErrorKind kind = response.error().kind();
            if (kind != ErrorKind::TimedOut && kind != ErrorKind::Cancelled) return response;
            return Response::plain(503);
        };
    };
}

}  // namespace weft::http
