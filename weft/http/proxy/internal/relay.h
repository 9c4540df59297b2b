// Relay: one exchange of a proxy with an upstream, from the lease of a connection to its last byte.
//
// It lives as long as any part of the response that it makes: the fields and the body lie in the
// buffer of its connection. Used by one fiber at a time, but for two things that have fibers of
// their own: the rest of an upload whose upstream has answered early is sent beside the response,
// and a response whose client is slow is read ahead, so that the connection is free again.
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
    // The upstream outlives it.
    Relay(Upstream& upstream, Admission::Pass pass, Lease lease);
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
    // Sends the request, with a body that begins so, and waits for the head of the response. What
    // is informational goes on to the client as it comes.
    std::optional<Failure> ask(Request& request, const BodyStart& start,
                               const ProxyOptions& options, const Via& via);
    // The response, whose parts share the relay. Limit for one stream more than there may be.
    static Result<Response> respond(const std::shared_ptr<Relay>& relay, const Request& request,
                                    const ProxyOptions& options, const Via& via);

private:
    struct Sent {
        Result<void> outcome;
        bool was_answered = false;
        bool has_failed = false;  // by the upstream's fault
    };
    Sent send_head(const ProxyOptions& options);
    Sent send_with_body(Request& request, const BodyStart& start, const ProxyOptions& options);
    Failure failure(const Request& request, const ProxyOptions& options, const Error& error) const;
    Result<void> stream(BodyWriter& writer);
    Result<void> pass_on(BodyWriter& writer);
    Result<void> pass_on_until_drain(BodyWriter& writer);
    Result<void> pass_on_ahead(BodyWriter& writer);
    void read_ahead();
    Result<void> fill();
    void end_reading();
    void go_on_uploading();
    void finish_upload();
    void tunnel(Upgraded& client, Nanoseconds idle);

    // What has been read for a client that does not take it, by a fiber of its own.
    struct Ahead {
        explicit Ahead(std::size_t pieces_max) : pieces(pieces_max) {}
        Channel<std::string> pieces;
        // When they are closed. Of a fiber that got no memory it stays as it is.
        Result<void> outcome = ErrorKind::OutOfMemory;
    };

    Upstream& upstream_;
    Admission::Pass pass_;
    Lease lease_;
    std::size_t ahead_bytes_max_ = 0;
    std::unique_ptr<Ahead> ahead_;          // null: the client takes what comes
    Headers trailers_;                      // of the response
    std::optional<Upload> upload_;          // of a request with a body, until nothing is left to do
    std::optional<CancelSource> uploaded_;  // cancelled when the fiber that goes on has ended
    std::optional<async::Group> beside_;    // the fibers of the two
};

}  // namespace weft::http
