// Client: sends HTTP/1.1 requests over TCP and TLS, directly or through a proxy.
//
//     http::Client client;
//     auto response = WEFT_TRY(client.get("http://example.org/"));
//     std::string text = WEFT_TRY(response.read_all());
//
//     http::ClientRequest request{.method = "POST", .url = "http://example.org/a"};
//     request.body = "hello";
//     request.headers.set("content-type", "text/plain");
//     auto answer = WEFT_TRY(client.send(request));
//
// Connections are kept and reused. An idle connection owns no fiber, and one that its server closes
// is dropped at once. A response is a stream: its connection becomes free when the body has been
// read to the end, and is closed when the response is destroyed before that.
//
// Every wait honours the ambient context, and each phase has a time limit of its own. An error
// names the request and the phase: "GET http://example.org/: read the head of the response: timed
// out after 30000 ms (ClientTimeouts::head)"; the query of the URL is left out. The client repeats
// a request by itself only when that is safe: if a reused connection ended before the first byte of
// the response, the method is idempotent, and the body is in memory.
//
// A Client may be used by any fiber, by several workers at once. A response belongs to one fiber.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/base/function.h"
#include "weft/base/result.h"
#include "weft/base/time.h"
#include "weft/http/body.h"
#include "weft/http/headers.h"
#include "weft/http/wire/chunked.h"
#include "weft/http/wire/content_coding.h"
#include "weft/http/wire/head.h"
#include "weft/http/wire/target.h"
#include "weft/net/address.h"
#include "weft/net/stream.h"

namespace weft::net {
class Resolver;
}
namespace weft::net::tls {
class ClientContext;
}

namespace weft::http {

class ClientConnection;
class ClientPool;
class CookieJar;
class ResponseBody;
using wire::Url;

// The time limit of each phase. Exceeding one gives TimedOut, with the limit's name in the message.
struct ClientTimeouts {
    Nanoseconds queue = std::chrono::seconds(5);       // wait for a free connection
    Nanoseconds connect = std::chrono::seconds(5);     // look up the name and connect by TCP
    Nanoseconds handshake = std::chrono::seconds(10);  // TLS, and CONNECT of a proxy
    Nanoseconds head = std::chrono::seconds(30);       // wait for the response after the request
    Nanoseconds idle = std::chrono::seconds(30);       // between two pieces of either body
    Nanoseconds total = std::chrono::seconds(30);      // until the last byte, with redirects
    // How long a request that asks for 100 (Continue) waits for it before it sends its body anyway.
    Nanoseconds expect = std::chrono::seconds(1);
};

// The limits of one client.
struct ClientLimits {
    std::size_t connections_per_origin = 256;          // further requests wait in a queue
    std::size_t waiting_per_origin = 4096;             // further requests are refused with Limit
    std::size_t idle_per_origin = 128;                 // further connections are closed
    std::size_t idle = 1024;                           // of all origins; further ones are closed
    Nanoseconds idle_time = std::chrono::seconds(30);  // less if the server says so
    Nanoseconds connection_age = std::chrono::minutes(30);  // then closed after its request
    // Of a response: Limit, or Other. These are larger than a server's limits for requests, because
    // servers send longer heads than they accept.
    wire::HeadLimits head = {.head_bytes = 256 * 1024, .field_bytes = 64 * 1024, .fields = 500};
    wire::ChunkedLimits chunked = {};       // of a response: Other
    std::uint64_t body_bytes = UINT64_MAX;  // of a response, after decoding: Limit
    // A body that decodes to more than this may not grow to a hundred times what was received:
    // Limit.
    std::uint64_t ratio_from_bytes = wire::DecoderLimits{}.ratio_from_bytes;
};

// A proxy between the client and the origins: http by absolute targets, https through CONNECT.
struct ForwardProxy {
    std::string host = {};
    std::uint16_t port = 0;
    std::string authorization = {};  // the Proxy-Authorization field; empty: none
};

enum class Decompression : bool { Off, On };
enum class PlainRedirect : bool { Refuse, Follow };  // a redirect from https to http

struct ClientOptions {
    ClientTimeouts timeouts = {};
    ClientLimits limits = {};
    unsigned redirects = 5;  // more give Limit; 0: a redirect is returned like any other response
    PlainRedirect plain_redirect = PlainRedirect::Refuse;
    // Whether to ask for gzip, br and zstd and decode them. A request that sets Accept-Encoding
    // itself gets its body as it was sent.
    Decompression decompression = Decompression::On;
    // Environment variables such as http_proxy are not read.
    std::optional<ForwardProxy> proxy = {};
    std::vector<std::string> no_proxy = {};  // "host", ".domain" with all below it, or "*"
    // May be shared with other users; null: one that trusts the system's authorities.
    std::shared_ptr<net::tls::ClientContext> tls = {};
    // May be shared with other users; null: the client makes its own.
    std::shared_ptr<net::Resolver> resolver = {};
    // May be shared with other users; null: cookies are neither kept nor sent.
    std::shared_ptr<CookieJar> cookies = {};
    // Called with each address before the client connects to it, and with the host it belongs to.
    // After an error the next address is tried. See net/egress.h for a policy.
    std::function<Result<void>(std::string_view host, const net::Address&)> check_address = {};
    std::string user_agent = "weft";  // empty: none
};

// A Url, or a text that is parsed as one; send() returns the error of a text that is no URL.
class RequestUrl {
public:
    RequestUrl() = default;
    RequestUrl(Url url) : url_(std::move(url)) {}
    RequestUrl(std::string_view text) : url_(Url::parse(text)) {}
    RequestUrl(const std::string& text) : url_(Url::parse(text)) {}
    RequestUrl(const char* text) : url_(Url::parse(text)) {}

    const Result<Url>& url() const { return url_; }

private:
    static Error no_url();

    Result<Url> url_ = no_url();
};

// The client itself writes Connection, Content-Length, Transfer-Encoding, Host, Expect, Upgrade and
// similar fields. A request that sets one of them, or a field that cannot be sent, is Misuse.
struct ClientRequest {
    std::string method = "GET";
    RequestUrl url = {};
    Headers headers = {};
    Body body = {};
    std::optional<ClientTimeouts> timeouts = {};  // instead of the client's
    bool expect_continue = false;  // send the head first, and the body after 100 (Continue)
    std::string upgrade = {};      // the protocol to change to, after 101
    // Called on the sending fiber with each informational (1xx) response that precedes the final
    // one, 100 included. The headers are valid during the call only. An exception ends the request.
    std::move_only_function<void(std::uint16_t status, const Headers& headers)> on_informational =
        {};
};

class ClientResponse {
public:
    ClientResponse(ClientResponse&&) noexcept;
    ClientResponse& operator=(ClientResponse&&) noexcept;
    ~ClientResponse();

    std::uint16_t status = 0;
    wire::Version version = wire::Version::Http11;
    Headers headers;  // without Content-Encoding and Content-Length if the client decodes the body
    Url url;          // where it came from, after redirects

    // Reading gives Closed when the connection ends before the body does: a truncated body is never
    // taken for a complete one.
    BodyReader& body();
    Result<std::string> read_all(std::size_t bytes_max = kReadAllBytes) {
        return body().read_all(bytes_max);
    }
    static constexpr std::size_t kReadAllBytes = 16 * 1024 * 1024;
    // The whole body if it has arrived together with the head, which frees the connection; nothing
    // otherwise. Never waits.
    std::optional<std::string> take_whole();

    // After 101: the connection, and the bytes that were already received behind the head.
    struct Upgraded {
        std::unique_ptr<net::Stream> stream;
        std::string early;
    };
    Result<Upgraded> take_stream();

private:
    friend class Client;
    ClientResponse(std::unique_ptr<ResponseBody> body, Url from);

    std::unique_ptr<ResponseBody> body_;
};

struct ClientCounters {
    std::uint64_t connected = 0;  // new connections
    std::uint64_t reused = 0;     // requests sent on a connection that was idle before
    std::uint64_t retried = 0;    // requests sent a second time
    std::uint64_t dropped = 0;    // idle connections that their server closed
    std::size_t idle = 0;         // idle connections now
};

class Client {
public:
    explicit Client(ClientOptions options = {});
    ~Client();  // closes the idle connections; responses that still exist can be read on
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    // Returns when the head of the response has arrived. A request body that is a function runs on
    // the caller's fiber; if the response arrives before the body ends, its writer fails.
    Result<ClientResponse> send(ClientRequest& request);
    Result<ClientResponse> send(ClientRequest&& request) { return send(request); }
    Result<ClientResponse> get(std::string_view url);

    ClientCounters counters() const;

private:
    struct Attempt;
    Result<ClientResponse> send_from(Url& url, ClientRequest& request);
    Result<ClientResponse> send_to(const Url& url, ClientRequest& request, Attempt& attempt);
    Result<ClientResponse> send_once(const Url& url, ClientRequest& request, Attempt& attempt);
    void compose(std::string& output, const Url& url, const ClientRequest& request,
                 const Attempt& attempt, const ForwardProxy* proxy) const;
    Result<void> exchange(ClientConnection& connection, ClientRequest& request,
                          const Attempt& attempt) const;
    Result<bool> wants_body(ClientConnection& connection, const Attempt& attempt) const;
    bool may_repeat(ClientConnection& connection, const ClientRequest& request,
                    const Attempt& attempt, const Error& error) const;
    static bool is_misdirected(const ClientResponse& response, const ClientRequest& request,
                               const Attempt& attempt);
    static bool apply_redirect(std::uint16_t status, const ClientRequest& request,
                               Attempt& attempt);
    bool decodes(const ClientRequest& request) const;

    // Shared with its origins, and through them with the connections that are in use.
    std::shared_ptr<ClientPool> pool_;
};

}  // namespace weft::http
