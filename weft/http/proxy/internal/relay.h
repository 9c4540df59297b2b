// Relay: one exchange of a proxy with an upstream, from the lease of a connection to its last byte.
//
// It lives as long as any part of the response that it makes: the fields and the body lie in the
// buffer of its connection. Used by one fiber at a time.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/http/body.h"
#include "weft/http/client/internal/pool.h"
#include "weft/http/client/internal/request_writer.h"
#include "weft/http/proxy/internal/forwarding.h"
#include "weft/http/proxy/internal/upstreams.h"
#include "weft/http/proxy/reverse_proxy.h"
#include "weft/http/request.h"
#include "weft/http/response.h"

namespace weft::http {

class Relay {
public:
    // The upstream outlives it.
    Relay(Upstream& upstream, Lease lease);
    Relay(const Relay&) = delete;
    Relay& operator=(const Relay&) = delete;
    ~Relay();

    // Why it failed, and whose fault it was.
    struct Failure {
        Error error;
        bool is_clients = false;  // the request's body could not be read
        bool may_repeat = false;  // nothing can have come of it
        bool was_kept = false;    // on a connection that may have been closed meanwhile
    };
    // Sends the request and waits for the head of the response.
    std::optional<Failure> ask(Request& request, const ProxyOptions& options);
    // The response, whose parts share the relay.
    static Result<Response> respond(const std::shared_ptr<Relay>& relay, const Request& request,
                                    const ProxyOptions& options, const Via& via);

private:
    Result<void> send_body(Request& request, RequestWriter& writer);
    Result<void> stream(BodyWriter& writer);
    void tunnel(Upgraded& client, Nanoseconds idle);

    Upstream& upstream_;
    Lease lease_;
};

}  // namespace weft::http
