// Relay: one exchange of a proxy with an upstream, from the lease of a connection to its last byte.
//
// It lives as long as any part of the response that it makes, since the fields and the body lie in
// the buffer of its connection. It is used by one fiber at a time, with two exceptions that run on
// fibers of their own: the rest of an upload whose upstream has answered early is sent while the
// response is forwarded; and a response whose client is slow is read ahead, to free the connection.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "weft/async/group.h"
#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/fiber/cancel.h"
#include "weft/http/body.h"
#include "weft/http/client/internal/pool.h"
#include "weft/http/proxy/internal/admission.h"
#include "weft/http/proxy/internal/forwarding.h"
#include "weft/http/proxy/internal/upload.h"
#include "weft/http/proxy/internal/upstreams.h"
#include "weft/http/proxy/reverse_proxy.h"
#include "weft/http/request.h"
#include "weft/http/response.h"
#include "weft/sync/channel.h"

namespace weft::http {

class Relay {
public:
    // `proxy` owns the upstream and the texts that the response borrows: a response may outlive the
    // handler that made it, for example when the routes of an application are replaced.
    Relay(std::shared_ptr<const void> proxy, Upstream& upstream, Admission::Pass pass, Lease lease);
    Relay(const Relay&) = delete;
    Relay& operator=(const Relay&) = delete;
    ~Relay();

    // Why the exchange failed, and by whose fault.
    struct Failure {
        Error error;
        bool is_client_fault = false;  // the request is bad or incomplete, or the client has gone
        bool may_repeat = false;       // the request can be sent again without harm
        bool was_reused = false;       // the connection was idle before, and may have been closed
    };
    // Sends the request, whose body begins with `start`, and waits for the head of the response.
    // Informational responses are forwarded to the client as they arrive. Nothing on success.
    std::optional<Failure> ask(Request& request, const BodyStart& start,
                               const ProxyOptions& options, const Via& via);
    // The response for the client; its parts share the relay. To be called once, after ask() has
    // succeeded. Limit when it is a stream, and ProxyOptions::streams_per_upstream is reached.
    static Result<Response> respond(const std::shared_ptr<Relay>& relay, const Request& request,
                                    const ProxyOptions& options, const Via& via);

private:
    struct Sent {
        Result<void> outcome;
        bool was_answered = false;
        bool has_failed = false;  // the upstream takes no more
    };
    Sent send_head(const ProxyOptions& options);
    Sent send_with_body(Request& request, const BodyStart& start, const ProxyOptions& options);
    Failure failure(const Request& request, const ProxyOptions& options, const Error& error) const;
    Result<void> stream(BodyWriter& writer);
    Result<void> forward_body(BodyWriter& writer);
    Result<void> forward_until_drain(BodyWriter& writer);
    Result<void> forward_read_ahead(BodyWriter& writer);
    void read_ahead();
    Result<void> read_pieces();
    void finish_reading();
    void start_rest_of_upload();
    void finish_upload();
    void tunnel(Upgraded& client, Nanoseconds idle);

    // The part of a response that a second fiber has read ahead of a slow client.
    struct Ahead {
        explicit Ahead(std::size_t pieces_max) : pieces(pieces_max) {}
        Channel<std::string> pieces;
        // Valid once `pieces` is closed. It stays OutOfMemory if the fiber got no stack.
        Result<void> outcome = ErrorKind::OutOfMemory;
    };

    const std::shared_ptr<const void> proxy_;  // shared with the handlers; destroyed last
    Upstream& upstream_;
    Admission::Pass pass_;
    Lease lease_;
    std::size_t ahead_bytes_max_ = 0;
    std::unique_ptr<Ahead> ahead_;              // null: nothing is read ahead
    Headers trailers_;                          // of the response
    std::optional<Upload> upload_;              // of a request with a body, until it is completed
    std::optional<CancelSource> upload_ended_;  // cancelled when the fiber that uploads has ended
    std::optional<async::Group> fibers_;        // owns the uploading and the reading fiber
};

}  // namespace weft::http
