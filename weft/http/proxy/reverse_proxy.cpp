#include "weft/http/proxy/reverse_proxy.h"

#include <utility>

#include "weft/async/group.h"
#include "weft/base/format.h"
#include "weft/base/log.h"
#include "weft/fiber/fiber.h"
#include "weft/http/client/internal/pool.h"
#include "weft/http/client/internal/request_writer.h"
#include "weft/http/proxy/internal/admission.h"
#include "weft/http/proxy/internal/forwarding.h"
#include "weft/http/proxy/internal/relay.h"
#include "weft/http/proxy/internal/upload.h"
#include "weft/http/proxy/internal/upstreams.h"
#include "weft/http/request.h"
#include "weft/http/wire/format.h"

namespace weft::http {
namespace {

// The body of an answer to a health check is read up to this size, so that its connection can be
// reused.
constexpr std::uint64_t kCheckBodyBytesMax = 64 * 1024;

ClientOptions client_options(const ProxyOptions& options) {
    ClientOptions client;
    client.timeouts = options.timeouts;
    client.limits = options.limits;
    client.decompression = Decompression::Off;
    client.tls = options.tls;
    client.check_address = options.check_address;
    return client;
}

Response failure_response(const Error& error) {
    switch (error.kind()) {
    case ErrorKind::TimedOut:
        return Response::text("504 Gateway Timeout: the upstream server took too long\n", 504);
    case ErrorKind::Limit:  // the response exceeds a limit
    case ErrorKind::Other:
        return Response::text("502 Bad Gateway: the upstream server's response is malformed\n",
                              502);
    default: return Response::text("502 Bad Gateway: the upstream server cannot be reached\n", 502);
    }
}

Response full_response() {
    return Response::text("503 Service Unavailable: too many requests are under way\n", 503)
        .with("retry-after", "1");
}

}  // namespace

class ProxyCore : public std::enable_shared_from_this<ProxyCore> {
public:
    static Result<std::shared_ptr<ProxyCore>> create(ProxyOptions options) {
        auto core = std::make_shared<ProxyCore>(std::move(options));
        core->upstreams_ = WEFT_TRY(Upstreams::create(core->options_, *core->pool_));
        return core;
    }
    explicit ProxyCore(ProxyOptions options)
        : options_(std::move(options)),
          via_(options_.via),
          pool_(std::make_shared<ClientPool>(client_options(options_))) {}
    ~ProxyCore() { pool_->close(); }
    ProxyCore(const ProxyCore&) = delete;
    ProxyCore& operator=(const ProxyCore&) = delete;

    Result<Response> handle(Request& request);
    Result<void> check_health();
    std::vector<UpstreamStatus> upstreams() const;

private:
    // True: the response is final, and no other upstream is tried.
    bool try_upstream(Upstream& upstream, Request& request, const BodyStart& start,
                      Result<Response>& response);
    bool try_once(Upstream& upstream, Request& request, const BodyStart& start,
                  Result<Response>& response, bool fresh, bool& was_stale);
    bool connect_failed(Upstream& upstream, const Error& error, Result<Response>& response);
    Result<void> check(Upstream& upstream);

    const ProxyOptions options_;
    const Via via_;
    const std::shared_ptr<ClientPool> pool_;  // shared with connections that are in use
    std::unique_ptr<Upstreams> upstreams_;
};

// ---------------------------------------------------------------- requests

Result<Response> ProxyCore::handle(Request& request) {
    std::uint64_t tried = 0;
    // The only variable that is returned, so that it is built in place and never moved.
    Result<Response> response = ErrorKind::Unavailable;
    if (request.method() == "CONNECT") {
        response = Response::plain(501);
        return response;
    }
    if (forwards_left(request) == 0) {
        // The request is for this proxy itself. TRACE is refused, because echoing the request would
        // disclose credentials.
        response = Response::plain(request.method() == "OPTIONS" ? 204 : 501);
        return response;
    }
    BodyStart start;
    // If the client waits for 100 (Continue), the upstream decides: do not read the body yet, since
    // reading sends a 100.
    if (request.body().size() != 0 && !request.expects_continue()) {
        auto read = BodyStart::read(request.body(), options_.request_buffer_bytes);
        if (!read) response = read.error();
        if (!read) return response;
        start = std::move(*read);
    }
    for (unsigned attempt = 0; attempt <= options_.retries; ++attempt) {
        Upstream* upstream = upstreams_->choose(options_.balance, request.peer(), tried);
        if (!upstream) break;
        if (try_upstream(*upstream, request, start, response)) return response;
    }
    if (tried != 0) return response;
    response = Response::text("503 Service Unavailable: no upstream server is well\n", 503)
                   .with("retry-after", "1");
    return response;
}

// The upstream may close an idle connection at the very moment it is reused. Then a new one is
// tried, and this does not count as a failure of the upstream.
bool ProxyCore::try_upstream(Upstream& upstream, Request& request, const BodyStart& start,
                             Result<Response>& response) {
    bool was_stale = false;
    bool is_final = try_once(upstream, request, start, response, false, was_stale);
    return was_stale ? try_once(upstream, request, start, response, true, was_stale) : is_final;
}

// Called when no connection could be opened; sets `response` to the answer for the client.
bool ProxyCore::connect_failed(Upstream& upstream, const Error& error, Result<Response>& response) {
    response = error;
    // The client has gone: nobody waits for a response.
    if (!CancelToken::current().check()) return true;
    upstream.failed(options_.health);
    log(LogLevel::Debug, "proxy: {}", error.message());
    response = failure_response(error);
    return false;
}

bool ProxyCore::try_once(Upstream& upstream, Request& request, const BodyStart& start,
                         Result<Response>& response, bool fresh, bool& was_stale) {
    auto pass = upstream.admission().enter(request.peer(), options_.timeouts.queue);
    if (!pass) {
        response = pass.error();
        if (!CancelToken::current().check()) return true;
        // All connections are in use, which says nothing about the upstream's health.
        log(LogLevel::Debug, "proxy: wait for a free connection to {}: {}",
            upstream.origin().to_string(), pass.error().message());
        response = full_response();
        return false;
    }
    auto lease = upstream.origin().acquire({.timeouts = options_.timeouts,
                                            .total = Deadline::never(),
                                            .fresh = fresh,
                                            .test_idle = request.method() != "GET",
                                            .admitted = true});
    if (!lease) return connect_failed(upstream, lease.error(), response);
    // Shared with the parts of the response.
    auto relay =
        std::make_shared<Relay>(shared_from_this(), upstream, std::move(*pass), std::move(*lease));
    auto failure = relay->ask(request, start, options_, via_);
    if (!failure) {
        upstream.succeeded();
        response = Relay::respond(relay, request, options_, via_);
        if (response) return true;
        bool is_full = response.error().kind() == ErrorKind::Limit;
        response = is_full ? full_response() : failure_response(ErrorKind::Other);
        return true;
    }
    response = failure->error;
    // The error is one of the request's head; an error of its body is answered by the server.
    if (failure->is_client_fault && failure->error.kind() == ErrorKind::Misuse)
        response = Response::text(format("400 Bad Request: {}\n", failure->error.message()), 400);
    if (failure->is_client_fault || !CancelToken::current().check()) return true;
    was_stale = failure->may_repeat && failure->was_reused && !fresh &&
                failure->error.kind() != ErrorKind::TimedOut;
    if (was_stale) return false;
    upstream.failed(options_.health);
    log(LogLevel::Debug, "proxy: {}: {}", upstream.origin().to_string(), failure->error.message());
    response = failure_response(failure->error);
    // After a time-out the upstream may still work on the request; another one is not tried, since
    // that would only multiply the load.
    return !failure->may_repeat || failure->error.kind() == ErrorKind::TimedOut;
}

// ---------------------------------------------------------------- health

Result<void> ProxyCore::check(Upstream& upstream) {
    Nanoseconds time = options_.health.check_timeout;
    ClientTimeouts timeouts{.queue = time, .connect = time, .handshake = time};
    Deadline total = Deadline::after(time);
    Lease lease = WEFT_TRY(upstream.origin().acquire(
        {.timeouts = timeouts, .total = total, .fresh = false, .test_idle = true}));
    ClientConnection& connection = *lease;
    connection.begin("GET", false);
    wire::append_request_line(connection.output, "GET", options_.health.check_path);
    wire::append_field(connection.output, "Host", upstream.authority());
    wire::append_field(connection.output, "User-Agent", "weft health check");
    connection.output.append(wire::kHeadEnd);
    RequestWriter writer(connection, {time, {total, time}});
    WEFT_TRY(writer.send_head());
    WEFT_TRY(connection.receive_head(total));
    bool good = connection.head().status < 400;
    connection.begin_body({}, total);
    if (connection.body.drop_rest(kCheckBodyBytesMax, total)) Origin::give_back(std::move(lease));
    if (good) return {};
    return Error(ErrorKind::Unavailable, "it says that it is not well");
}

Result<void> ProxyCore::check_health() {
    if (options_.health.check_path.empty()) return {};
    async::Group group;
    for (const auto& upstream : upstreams_->all()) {
        WEFT_TRY(group.go([this, &upstream]() -> Result<void> {
            for (bool was_good = true;;) {
                Result<void> outcome = check(*upstream);
                WEFT_TRY(CancelToken::current().check());
                upstream->checked(outcome.has_value());
                if (outcome.has_value() != was_good)
                    log(LogLevel::Warn, "proxy: {} is {}", upstream->origin().to_string(),
                        outcome ? "well again" : "not well: " + outcome.error().message());
                was_good = outcome.has_value();
                WEFT_TRY(sleep_for(options_.health.check_interval));
            }
        }));
    }
    return group.wait();
}

std::vector<UpstreamStatus> ProxyCore::upstreams() const {
    std::vector<UpstreamStatus> all;
    for (const auto& upstream : upstreams_->all()) all.push_back(upstream->status());
    return all;
}

// ---------------------------------------------------------------- ReverseProxy

Result<ReverseProxy> ReverseProxy::create(ProxyOptions options) {
    return ReverseProxy(WEFT_TRY(ProxyCore::create(std::move(options))));
}

ReverseProxy::ReverseProxy(std::shared_ptr<ProxyCore> core) : core_(std::move(core)) {}
ReverseProxy::ReverseProxy(ReverseProxy&&) noexcept = default;
ReverseProxy& ReverseProxy::operator=(ReverseProxy&&) noexcept = default;
ReverseProxy::~ReverseProxy() = default;

Handler ReverseProxy::handler() const {
    return [core = core_](Request& request, async::Context&) { return core->handle(request); };
}

Result<void> ReverseProxy::check_health() {
    std::shared_ptr<ProxyCore> core = core_;  // this object may be destroyed before the checks end
    return core->check_health();
}

std::vector<UpstreamStatus> ReverseProxy::upstreams() const { return core_->upstreams(); }

}  // namespace weft::http
