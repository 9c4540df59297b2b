#include "weft/http/client/client.h"

#include <algorithm>
#include <array>
#include <utility>

#include "weft/base/assert.h"
#include "weft/base/format.h"
#include "weft/http/client/cookie_jar.h"
#include "weft/http/client/internal/phase.h"
#include "weft/http/client/internal/pool.h"
#include "weft/http/client/internal/request_writer.h"
#include "weft/http/client/internal/response_body.h"
#include "weft/http/wire/content_coding.h"
#include "weft/http/wire/format.h"

namespace weft::http {
namespace {

constexpr std::string_view kAcceptedCodings = "gzip, br, zstd";

// For these methods a request without content still sends Content-Length: 0.
bool expects_content(std::string_view method) {
    return method == "POST" || method == "PUT" || method == "PATCH";
}

bool is_redirect(std::uint16_t status) {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

bool is_clients_own(std::string_view name) {
    constexpr std::array kNames{"connection", "content-length",      "expect",           "host",
                                "keep-alive", "proxy-authorization", "proxy-connection", "te",
                                "trailer",    "transfer-encoding",   "upgrade"};
    return std::ranges::any_of(kNames,
                               [&](const char* own) { return equal_without_case(name, own); });
}

Result<void> check(const ClientRequest& request) {
    if (!is_token(request.method) || request.method == "CONNECT")
        return Error(ErrorKind::Misuse, "the method of a request is no token, or is CONNECT");
    if (!request.headers.is_valid())
        return Error(ErrorKind::Misuse, "a field of the request cannot be sent");
    for (const Headers::Field& field : request.headers) {
        if (is_clients_own(field.name))
            return Error(ErrorKind::Misuse, format("{} is set by the client", field.name));
    }
    if (!request.upgrade.empty() && !is_token(request.upgrade))
        return Error(ErrorKind::Misuse, "the protocol of an upgrade is no token");
    return {};
}

// "host", ".domain" or "*".
bool covers(std::string_view pattern, std::string_view host) {
    if (pattern == "*") return true;
    if (!pattern.starts_with('.')) return equal_without_case(pattern, host);
    if (equal_without_case(pattern.substr(1), host)) return true;
    return host.size() > pattern.size() &&
           equal_without_case(host.substr(host.size() - pattern.size()), pattern);
}

const ForwardProxy* proxy_for(const Url& url, const ClientOptions& options) {
    if (!options.proxy) return nullptr;
    bool direct = std::ranges::any_of(
        options.no_proxy, [&](const std::string& pattern) { return covers(pattern, url.host()); });
    return direct ? nullptr : &*options.proxy;
}

void keep_cookies(CookieJar& jar, const Url& url, const Headers& headers) {
    for (const Headers::Field& field : headers) {
        if (equal_without_case(field.name, "set-cookie")) jar.keep(url, field.value);
    }
}

bool is_same_origin(const Url& a, const Url& b) {
    return a.scheme() == b.scheme() && a.host() == b.host() && a.port() == b.port();
}

}  // namespace

// The state of one request through its attempts and redirects.
struct Client::Attempt {
    const ClientTimeouts& timeouts;
    Deadline total;
    std::string_view method;    // a redirect may change it
    bool with_body = true;      // a redirect may drop it
    bool cross_origin = false;  // a redirect has led to another origin
    bool fresh = false;         // this attempt uses a new connection
    bool may_repeat = false;    // the last attempt failed because a reused connection was closed

    WholeTime whole() const { return {total, timeouts.total}; }
};

namespace {

void append_own_fields(std::string& output, const ClientRequest& request, bool with_body,
                       bool cross_origin) {
    for (const Headers::Field& field : request.headers) {
        // Credentials are only sent to the origin that the caller gave them for.
        if (cross_origin && (equal_without_case(field.name, "authorization") ||
                             equal_without_case(field.name, "cookie")))
            continue;
        if (!with_body && field.name.size() > 8 &&
            equal_without_case(field.name.substr(0, 8), "content-"))
            continue;
        wire::append_field(output, field.name, field.value);
    }
}

// Empty if the request has no callback.
ClientConnection::OnInformational informational_callback(ClientRequest& request) {
    if (!request.on_informational) return {};
    return [&request](const wire::ResponseHead& head) -> Result<void> {
        try {
            request.on_informational(head.status, head.headers);
        } catch (...) {  // user code: what it throws ends the request
            return Error::from_current_exception();
        }
        return {};
    };
}

}  // namespace

// Appends the head of the request to the output of the connection.
void Client::compose(std::string& output, const Url& url, const ClientRequest& request,
                     const Attempt& attempt, const ForwardProxy* proxy) const {
    WEFT_DASSERT(output.empty(), "ClientConnection::begin() has emptied it");
    const ClientOptions& options = pool_->options();
    std::string authority = url.authority();
    if (proxy && !url.is_secure()) {
        wire::append_request_line(output, attempt.method,
                                  format("http://{}{}", authority, url.target()));
    } else {
        wire::append_request_line(output, attempt.method, url.target());
    }
    wire::append_field(output, "Host", authority);
    append_own_fields(output, request, attempt.with_body, attempt.cross_origin);
    if (options.cookies && (attempt.cross_origin || !request.headers.has("cookie"))) {
        if (std::string cookies = options.cookies->cookies_for(url); !cookies.empty())
            wire::append_field(output, "Cookie", cookies);
    }
    if (!options.user_agent.empty() && !request.headers.has("user-agent"))
        wire::append_field(output, "User-Agent", options.user_agent);
    if (!request.headers.has("accept")) wire::append_field(output, "Accept", "*/*");
    if (decodes(request)) wire::append_field(output, "Accept-Encoding", kAcceptedCodings);
    if (proxy && !url.is_secure() && !proxy->authorization.empty())
        wire::append_field(output, "Proxy-Authorization", proxy->authorization);
    if (!request.upgrade.empty()) {
        wire::append_field(output, "Connection", "upgrade");
        wire::append_field(output, "Upgrade", request.upgrade);
    }
    std::optional<std::uint64_t> size = attempt.with_body ? request.body.size() : 0;
    if (!size) {
        wire::append_field(output, "Transfer-Encoding", "chunked");
    } else if (*size > 0 || expects_content(attempt.method)) {
        wire::append_field(output, "Content-Length", *size);
    }
    if (request.expect_continue && size != 0) wire::append_field(output, "Expect", "100-continue");
    output.append(wire::kHeadEnd);
}

bool Client::decodes(const ClientRequest& request) const {
    return pool_->options().decompression == Decompression::On &&
           !request.headers.has("accept-encoding") && !request.headers.has("range") &&
           request.upgrade.empty();
}

// ---------------------------------------------------------------- one exchange

// Waits for the server's reaction to the head. False: it has answered without wanting the body.
Result<bool> Client::wants_body(ClientConnection& connection, const Attempt& attempt) const {
    using Reaction = ClientConnection::Reaction;
    Deadline patience = earlier(attempt.total, Deadline::after(attempt.timeouts.expect));
    Result<Reaction> reaction = connection.wait_for_continue(patience);
    if (reaction && *reaction == Reaction::Silence && attempt.total.expired(Clock::now()))
        reaction = ErrorKind::TimedOut;
    if (!reaction) return in_phase(reaction.error(), {"wait for 100 (Continue)"}, attempt.whole());
    // The server may or may not still wait for the body that is not sent, so that the connection
    // cannot be used again.
    if (*reaction == Reaction::Answer) connection.keep_alive = false;
    return *reaction != Reaction::Answer;
}

// Sends the request and waits for the head of the response.
Result<void> Client::exchange(ClientConnection& connection, ClientRequest& request,
                              const Attempt& attempt) const {
    RequestWriter writer(connection, {attempt.timeouts.idle, attempt.whole()});
    Body none;
    Body& body = attempt.with_body ? request.body : none;
    Result<void> sent;
    bool asks = request.expect_continue && body.size() != 0;
    if (asks) {
        sent = writer.send_head();
        bool wanted = !sent || WEFT_TRY(wants_body(connection, attempt));
        if (!wanted) return {};
    }
    if (sent) sent = writer.send(body);
    if (!sent && !writer.was_answered()) return sent;
    Deadline deadline = earlier(attempt.total, Deadline::after(attempt.timeouts.head));
    Result<void> received = connection.receive_head(deadline);
    if (!received)
        return in_phase(
            received.error(),
            {"read the head of the response", attempt.timeouts.head, "ClientTimeouts::head"},
            attempt.whole());
    return {};
}

// A server may close an idle connection at the very moment the client reuses it. The request may
// then be repeated, if no byte of a response has come and repeating it is harmless.
bool Client::may_repeat(ClientConnection& connection, const ClientRequest& request,
                        const Attempt& attempt, const Error& error) const {
    bool cut = error.kind() == ErrorKind::Closed || error.kind() == ErrorKind::Reset;
    return cut && connection.is_reused && !connection.has_received() && !attempt.fresh &&
           is_idempotent(attempt.method) && (!attempt.with_body || request.body.text());
}

Result<ClientResponse> Client::send_once(const Url& url, ClientRequest& request, Attempt& attempt) {
    const ClientOptions& options = pool_->options();
    const ForwardProxy* proxy = proxy_for(url, options);
    OriginName name{url.host(), url.port(), url.is_secure(), Route::Direct};
    if (proxy && url.is_secure()) name.route = Route::Tunnel;
    if (proxy && !url.is_secure()) name = {proxy->host, proxy->port, false, Route::Direct};
    attempt.may_repeat = false;
    Lease lease =
        WEFT_TRY(pool_->origin(name)->acquire({.timeouts = attempt.timeouts,
                                               .total = attempt.total,
                                               .fresh = attempt.fresh,
                                               .test_idle = !is_idempotent(attempt.method)}));
    ClientConnection& connection = *lease;
    connection.begin(attempt.method, !request.upgrade.empty());
    ClientConnection::OnInformational on_informational = informational_callback(request);
    if (on_informational) connection.on_informational = &on_informational;
    compose(connection.output, url, request, attempt, proxy);
    Result<void> outcome = exchange(connection, request, attempt);
    connection.on_informational = nullptr;
    if (!outcome) {
        attempt.may_repeat = may_repeat(connection, request, attempt, outcome.error());
        return outcome.error();
    }
    WEFT_ASSERT(connection.has_head(), "an exchange succeeds with the head of a response");
    wire::ResponseHead& head = connection.head();
    if (options.cookies) keep_cookies(*options.cookies, url, head.headers);
    connection.begin_body({.idle = attempt.timeouts.idle, .chunked = options.limits.chunked},
                          attempt.total);
    std::optional<wire::Coding> coding;
    if (auto field = head.headers.get("content-encoding"); field && decodes(request)) {
        bool several = head.headers.count("content-encoding") > 1;
        auto parsed = wire::parse_content_encoding(*field);
        // The client asked for one coding at most, and does not decode several layers.
        if (several || (!parsed && parsed.error().kind() == ErrorKind::Limit))
            return Error::limit("the response has more content codings than", 1, "one is decoded");
        if (parsed && *parsed != wire::Coding::Identity) coding = *parsed;
    }
    std::uint16_t status = head.status;
    wire::Version version = head.version;
    Headers headers = head.headers.copy();
    bool has_content = !connection.body.is_finished();
    std::unique_ptr<ResponseBody> body =
        WEFT_TRY(ResponseBody::create(std::move(lease), coding, attempt.whole()));
    ClientResponse response(std::move(body), url);
    response.status = status;
    response.version = version;
    response.headers = std::move(headers);
    if (coding && has_content) {
        response.headers.remove("content-encoding");
        response.headers.remove("content-length");
    }
    return response;
}

// RFC 9110 §15.5.20: a client that receives 421 (Misdirected Request) MAY retry the request,
// whether or not its method is idempotent, over a different connection.
bool Client::is_misdirected(const ClientResponse& response, const ClientRequest& request,
                            const Attempt& attempt) {
    constexpr std::uint16_t kMisdirected = 421;
    return response.status == kMisdirected && (!attempt.with_body || request.body.text());
}

Result<ClientResponse> Client::send_to(const Url& url, ClientRequest& request, Attempt& attempt) {
    attempt.fresh = false;
    Result<ClientResponse> response = send_once(url, request, attempt);
    bool repeats = response ? is_misdirected(*response, request, attempt) : attempt.may_repeat;
    if (!repeats) return response;
    pool_->tally.retried.add();
    attempt.fresh = true;
    return send_once(url, request, attempt);
}

// ---------------------------------------------------------------- redirects

// Changes the attempt to what a redirect with this status asks for. False: the request cannot be
// sent again, because its body is not in memory.
bool Client::apply_redirect(std::uint16_t status, const ClientRequest& request, Attempt& attempt) {
    WEFT_DASSERT(is_redirect(status));
    bool drops = status == 303 ? attempt.method != "HEAD" && attempt.method != "GET"
                               : (status == 301 || status == 302) && attempt.method == "POST";
    if (drops) {
        attempt.method = "GET";
        attempt.with_body = false;
        return true;
    }
    return !attempt.with_body || request.body.text().has_value();
}

Result<ClientResponse> Client::send(ClientRequest& request) {
    WEFT_TRY(check(request));
    Url url = WEFT_TRY(request.url.url());
    Result<ClientResponse> response = send_from(url, request);
    if (!response) return response.error().with_context(request.method, url.without_query());
    return response;
}

// Follows redirects. `url` becomes the URL of the last attempt.
Result<ClientResponse> Client::send_from(Url& url, ClientRequest& request) {
    const ClientOptions& options = pool_->options();
    const ClientTimeouts& timeouts = request.timeouts ? *request.timeouts : options.timeouts;
    Attempt attempt{
        .timeouts = timeouts, .total = Deadline::after(timeouts.total), .method = request.method};
    for (unsigned redirects = 0;; ++redirects) {
        ClientResponse response = WEFT_TRY(send_to(url, request, attempt));
        if (options.redirects == 0 || !is_redirect(response.status)) return response;
        auto location = response.headers.get("location");
        if (!location || !apply_redirect(response.status, request, attempt)) return response;
        if (redirects == options.redirects)
            return Error::limit("there are more redirects than", options.redirects,
                                "ClientOptions::redirects");
        auto next = url.resolve(*location);
        if (!next)
            return Error(ErrorKind::Other, next.error().message()).with_context("a redirect");
        if (url.is_secure() && !next->is_secure() &&
            options.plain_redirect == PlainRedirect::Refuse)
            return Error(ErrorKind::Refused,
                         "a redirect leads from https to " + next->without_query());
        if (!is_same_origin(url, *next)) attempt.cross_origin = true;
        url = std::move(*next);
    }
}

Result<ClientResponse> Client::get(std::string_view url) {
    ClientRequest request{.url = url};
    return send(request);
}

// ---------------------------------------------------------------- the objects

Client::Client(ClientOptions options) : pool_(std::make_shared<ClientPool>(std::move(options))) {}

Client::~Client() { pool_->close(); }

ClientCounters Client::counters() const { return pool_->counters(); }

Error RequestUrl::no_url() { return Error(ErrorKind::Misuse, "the request has no URL"); }

ClientResponse::ClientResponse(std::unique_ptr<ResponseBody> body, Url from)
    : url(std::move(from)), body_(std::move(body)) {}
ClientResponse::ClientResponse(ClientResponse&&) noexcept = default;
ClientResponse& ClientResponse::operator=(ClientResponse&&) noexcept = default;
ClientResponse::~ClientResponse() = default;

BodyReader& ClientResponse::body() {
    WEFT_ASSERT(body_, "the response was moved from");
    return *body_;
}

std::optional<std::string> ClientResponse::take_whole() {
    WEFT_ASSERT(body_, "the response was moved from");
    return body_->take_whole();
}

Result<ClientResponse::Upgraded> ClientResponse::take_stream() {
    WEFT_ASSERT(body_, "the response was moved from");
    ClientConnection* connection = body_->connection();
    if (status != 101 || !connection || !connection->has_stream())
        return Error(ErrorKind::Misuse, "there is no connection to take over");
    std::string early(connection->buffer.view());
    return Upgraded{connection->take_stream(), std::move(early)};
}

}  // namespace weft::http
