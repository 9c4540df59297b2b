// Client: sends HTTP/1.1 requests, over TCP and TLS, straight or through a proxy.
//
//     http::Client client;
//     auto response = WEFT_TRY(client.get("http://example.org/"));
//     std::string text = WEFT_TRY(response.read_all());
//
//     http::ClientRequest request{.method = "POST", .url = "http://example.org/a", .body =
//     "hello"}; request.headers.set("content-type", "text/plain"); auto answer =
//     WEFT_TRY(client.send(request));
//
// Connections are kept and used again; an idle one owns no fiber, and one that its server closes is
// dropped at once. A response is a stream: its connection is free again when its body was read to
// the end, and closed when the response is destroyed before.
//
// Every wait honours the ambient context; each phase has a time of its own besides. An error says
// which request it was and in which phase: "GET http://example.org/: read the head of the response:
// timed out after 30000 ms (ClientTimeouts::head)"; the query of the URL is left out. A request is
// repeated by itself only when it is safe: on a kept connection that ended before a byte of the
// response, with a method that may be repeated and a body in memory.
//
// Client: any fiber, also of several workers at once. A response: the fiber that has it.
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

// Each gives TimedOut, with its name in the message.
struct ClientTimeouts {
    Nanoseconds queue = std::chrono::seconds(5);       // until one of the connections is free
    Nanoseconds connect = std::chrono::seconds(5);     // the name's addresses, and TCP
    Nanoseconds handshake = std::chrono::seconds(10);  // TLS, and CONNECT of a proxy
    Nanoseconds head = std::chrono::seconds(30);       // of the response, after the request
    Nanoseconds idle = std::chrono::seconds(30);       // between bytes, of both bodies
    Nanoseconds total = std::chrono::seconds(30);      // until the last byte, with redirects
    // How long a body that asked for 100 (Continue) waits for it before it is sent anyway.
    Nanoseconds expect = std::chrono::seconds(1);
};

// Of one client.
struct ClientLimits {
    std::size_t connections_per_origin = 256;          // more wait in line
    std::size_t waiting_per_origin = 4096;             // more are refused with Limit
    std::size_t idle_per_origin = 128;                 // more are closed
    std::size_t idle = 1024;                           // of all origins; more are closed
    Nanoseconds idle_time = std::chrono::seconds(30);  // less if the server says so
    Nanoseconds connection_age = std::chrono::minutes(30);
    // Of responses; Limit and Other. Servers say more than they would let be said to them.
    wire::HeadLimits head = {.head_bytes = 256 * 1024, .field_bytes = 64 * 1024, .fields = 500};
    wire::ChunkedLimits chunked = {};       // of responses; Other
    std::uint64_t body_bytes = UINT64_MAX;  // of a response, decoded; Limit
    // From how many decoded bytes on they may not be a hundred times what came; Limit.
    std::uint64_t ratio_from_bytes = wire::DecoderLimits{}.ratio_from_bytes;
};

// A proxy for requests to elsewhere: http by absolute targets, https through CONNECT.
struct ForwardProxy {
    std::string host = {};
    std::uint16_t port = 0;
    std::string authorization = {};  // the Proxy-Authorization field; empty: none
};

enum class Decompression : bool { Off, On };
enum class PlainRedirect : bool { Refuse, Follow };  // from https to http

struct ClientOptions {
    ClientTimeouts timeouts = {};
    ClientLimits limits = {};
    unsigned redirects = 5;  // more are Limit; 0: a redirect is a response like others
    PlainRedirect plain_redirect = PlainRedirect::Refuse;
    // gzip, br and zstd are asked for and decoded, unless a request says itself what it accepts.
    Decompression decompression = Decompression::On;
    // The environment's variables are not looked at.
    std::optional<ForwardProxy> proxy = {};
    std::vector<std::string> no_proxy = {};  // "host", ".domain" with all below it, or "*"
    // Shared with whoever else uses it; null: one that trusts the system's authorities.
    std::shared_ptr<net::tls::ClientContext> tls = {};
    // Shared with whoever else uses it; null: one of the client's own.
    std::shared_ptr<net::Resolver> resolver = {};
    // Shared with whoever else uses it; null: cookies are neither kept nor sent.
    std::shared_ptr<CookieJar> cookies = {};
    // Asked about each address before it is connected to, with the host that it was found for; an
    // error goes on to the next one. See net/egress.h for a policy.
    std::function<Result<void>(std::string_view host, const net::Address&)> check_address = {};
    std::string user_agent = "weft";  // empty: none
};

// A Url, or a text that is read as one; what is wrong with the text is the error of send().
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

// Connection, Content-Length, Transfer-Encoding, Host, Expect, Upgrade and their like are the
// client's: a request that sets them, or a field that cannot be sent, is Misuse.
struct ClientRequest {
    std::string method = "GET";
    RequestUrl url = {};
    Headers headers = {};
    Body body = {};
    std::optional<ClientTimeouts> timeouts = {};  // instead of the client's
    bool expect_continue = false;                 // the head first, to see whether a body is wanted
    std::string upgrade = {};                     // the protocol to change to, after 101
    // Called with each response of the 1xx kind that comes before the real one (100 too), by the
    // fiber that sends; the fields are there for the call only. What it throws ends the request.
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
    Headers headers;  // of a decoded body without Content-Encoding and Content-Length
    Url url;          // where it came from, after redirects

    // Closed if it is cut off: never taken for the whole.
    BodyReader& body();
    Result<std::string> read_all(std::size_t bytes_max = kReadAllBytes) {
        return body().read_all(bytes_max);
    }
    static constexpr std::size_t kReadAllBytes = 16 * 1024 * 1024;
    // The whole body where it has come with the head, so that its connection is free again; nothing
    // otherwise. Never waits.
    std::optional<std::string> take_whole();

    // After 101: the connection, and what has already come through it.
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
    std::uint64_t reused = 0;     // requests on a kept one
    std::uint64_t retried = 0;
    std::uint64_t dropped = 0;  // idle ones that their server closed
    std::size_t idle = 0;       // now
};

class Client {
public:
    explicit Client(ClientOptions options = {});
    ~Client();  // closes the idle connections; responses that are out there can still be read
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    // Until the head of the response is here. A body of the request that is a function runs on the
    // caller's fiber; a response that comes before it has ended makes its writer fail.
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
    Result<bool> is_wanted(ClientConnection& connection, const Attempt& attempt) const;
    bool may_repeat(ClientConnection& connection, const ClientRequest& request,
                    const Attempt& attempt, const Error& error) const;
    static bool is_misdirected(const ClientResponse& response, const ClientRequest& request,
                               const Attempt& attempt);
    static bool follow(std::uint16_t status, const ClientRequest& request, Attempt& attempt);
    bool decodes(const ClientRequest& request) const;

    // Shared with the connections that are in use.
    std::shared_ptr<ClientPool> pool_;
};

}  // namespace weft::http
