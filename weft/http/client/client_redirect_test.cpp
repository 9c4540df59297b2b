// Redirects and forward proxies: where a request is sent, and with which fields.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "weft/http/client/client.h"
#include "weft/net/egress.h"
#include "weft/testing/scripted_server.h"
#include "weft/testing/sockets.h"

namespace weft::http {
namespace {

using namespace testing;
using std::chrono::milliseconds;

Url url_of(const net::Address& address, std::string_view target = "/") {
    return *Url::parse("http://" + address.to_string() + std::string(target));
}

std::string redirect(std::string_view status, std::string_view location) {
    return "HTTP/1.1 " + std::string(status) + " Elsewhere\r\nLocation: " + std::string(location) +
           "\r\nContent-Length: 5\r\n\r\nmoved";
}

// "/" leads to `location` with this status; everything else is answered with 200. Keeps the
// requests in `seen`.
auto redirects_to(std::string status, std::string location, std::vector<std::string>& seen) {
    return [=, &seen](Peer& peer) {
        for (;;) {
            std::string request = peer.read_request();
            if (request.empty()) return;
            bool first = request.find(" / HTTP") != std::string::npos;
            seen.push_back(std::move(request));
            bool is_head = seen.back().starts_with("HEAD ");
            if (first) {
                std::string answer = redirect(status, location);
                peer.say(is_head ? answer.substr(0, answer.size() - 5) : answer);
            } else if (is_head) {
                peer.say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
            } else {
                peer.respond("there");
            }
        }
    };
}

struct Outcome {
    std::vector<std::string> seen;
    Result<ClientResponse> response = ErrorKind::Other;
};

Outcome follow(const std::string& status, std::string method, Body body = {},
               const std::string& location = "/there") {
    Outcome outcome;
    in_runtime(1, [&] {
        return with_server(redirects_to(status, location, outcome.seen),
                           [&](const Address& address) -> Result<void> {
                               Client client;
                               ClientRequest request{.method = std::move(method),
                                                     .url = url_of(address),
                                                     .body = std::move(body)};
                               request.headers.set("content-type", "text/plain");
                               outcome.response = client.send(request);
                               if (outcome.response)
                                   static_cast<void>(outcome.response->read_all());
                               return {};
                           });
    });
    return outcome;
}

std::string first_word(const std::string& text) { return text.substr(0, text.find(' ')); }

TEST(ClientRedirect, HTTP_5_a_location_that_should_have_been_escaped_is_followed) {
    Outcome outcome = follow("302", "GET", {}, "/a b/\xc3\xa4?\"q\"");
    ASSERT_TRUE(outcome.response) << outcome.response.error().message();
    EXPECT_EQ(outcome.response->status, 200);
    ASSERT_EQ(outcome.seen.size(), 2U);
    EXPECT_TRUE(outcome.seen[1].starts_with("GET /a%20b/%C3%A4?%22q%22 HTTP/1.1\r\n"));
}

TEST(ClientRedirect, HTTP_5_the_method_after_a_redirect) {
    struct Case {
        const char* status;
        const char* method;
        const char* then;
    };
    for (const Case& expected : std::initializer_list<Case>{{"301", "GET", "GET"},
                                                            {"301", "HEAD", "HEAD"},
                                                            {"301", "POST", "GET"},
                                                            {"301", "PUT", "PUT"},
                                                            {"302", "GET", "GET"},
                                                            {"302", "POST", "GET"},
                                                            {"302", "DELETE", "DELETE"},
                                                            {"303", "GET", "GET"},
                                                            {"303", "HEAD", "HEAD"},
                                                            {"303", "POST", "GET"},
                                                            {"303", "PUT", "GET"},
                                                            {"307", "GET", "GET"},
                                                            {"307", "POST", "POST"},
                                                            {"308", "POST", "POST"},
                                                            {"308", "PUT", "PUT"}}) {
        bool has_body = std::string_view(expected.method).starts_with('P');
        Outcome outcome = follow(expected.status, expected.method, has_body ? "text" : "");
        std::string name = std::string(expected.status) + " " + expected.method;
        ASSERT_TRUE(outcome.response) << name << ": " << outcome.response.error().message();
        EXPECT_EQ(outcome.response->status, 200) << name;
        ASSERT_EQ(outcome.seen.size(), 2U) << name;
        EXPECT_EQ(first_word(outcome.seen[1]), expected.then) << name;
        bool kept = has_body && std::string_view(expected.then) == expected.method;
        EXPECT_EQ(outcome.seen[1].ends_with("text"), kept) << name;
        EXPECT_EQ(outcome.seen[1].find("content-type") != std::string::npos,
                  std::string_view(expected.then) == expected.method)
            << name;
        EXPECT_EQ(outcome.response->url.target(), "/there") << name;
    }
}

TEST(ClientRedirect, HTTP_5_a_body_that_cannot_be_sent_twice_is_not) {
    Outcome outcome = follow(
        "307", "POST", Body::produced([](BodyWriter& writer) { return writer.write("once"); }));
    ASSERT_TRUE(outcome.response);
    EXPECT_EQ(outcome.response->status, 307);
    EXPECT_EQ(outcome.seen.size(), 1U);
}

// A server that answers 421 on its first connection only.
struct Misdirected {
    int connections = 0;
    std::vector<std::string> seen;

    Result<ClientResponse> send(std::string method, Body body) {
        Result<ClientResponse> response = ErrorKind::Other;
        auto serve = [this](Peer& peer) {
            bool is_first = connections++ == 0;
            seen.push_back(peer.read_request());
            if (is_first)
                peer.say("HTTP/1.1 421 Misdirected Request\r\nContent-Length: 2\r\n\r\nno");
            else
                peer.respond("yes");
        };
        in_runtime(1, [&] {
            return with_server(serve, [&](const Address& address) -> Result<void> {
                Client client;
                ClientRequest request{
                    .method = std::move(method), .url = url_of(address), .body = std::move(body)};
                response = client.send(request);
                return {};
            });
        });
        return response;
    }
};

TEST(ClientRedirect, HTTP_5_a_misdirected_request_is_sent_again_on_another_connection) {
    Misdirected server;
    Result<ClientResponse> response = server.send("POST", "text");
    ASSERT_TRUE(response) << response.error().message();
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(server.connections, 2);
    ASSERT_EQ(server.seen.size(), 2U);
    EXPECT_TRUE(server.seen[1].ends_with("text"));
}

TEST(ClientRedirect, HTTP_5_a_misdirected_request_that_cannot_be_sent_twice_is_not) {
    Misdirected server;
    Result<ClientResponse> response = server.send(
        "POST", Body::produced([](BodyWriter& writer) { return writer.write("once"); }));
    ASSERT_TRUE(response) << response.error().message();
    EXPECT_EQ(response->status, 421);
    EXPECT_EQ(server.connections, 1);
}

TEST(ClientRedirect, HTTP_5_other_statuses_and_a_missing_location_are_not_followed) {
    for (const char* status : {"300", "304", "305", "306", "309"}) {
        Outcome outcome = follow(status, "GET");
        ASSERT_TRUE(outcome.response) << status;
        // The caller gets the response itself and its own URL, not the one that it points to.
        EXPECT_EQ(std::to_string(outcome.response->status), status);
        EXPECT_EQ(outcome.response->url.target(), "/") << status;
        EXPECT_EQ(outcome.response->headers.get("location"), "/there") << status;
        EXPECT_EQ(outcome.seen.size(), 1U) << status;
    }
    // A status that would be followed, without a Location.
    std::vector<std::string> seen;
    in_runtime(1, [&] {
        auto nowhere = [&seen](Peer& peer) {
            seen.push_back(peer.read_request());
            peer.say("HTTP/1.1 302 Found\r\nContent-Length: 5\r\n\r\nmoved");
        };
        return with_server(nowhere, [&](const Address& address) -> Result<void> {
            Client client;
            ClientResponse response = WEFT_TRY(client.send({.url = url_of(address)}));
            EXPECT_EQ(response.status, 302);
            EXPECT_EQ(WEFT_TRY(response.read_all()), "moved");
            return {};
        });
    });
    EXPECT_EQ(seen.size(), 1U);
}

TEST(ClientRedirect, HTTP_5_a_redirect_to_what_is_no_URL_of_ours_is_an_error) {
    for (const char* location : {"ftp://127.0.0.1/", "http://127.0.0.1@127.0.0.1/",
                                 "http://:99999/", "javascript:alert(1)"}) {
        Outcome outcome = follow("302", "GET", {}, location);
        ASSERT_FALSE(outcome.response) << location;
        EXPECT_EQ(outcome.response.error().kind(), ErrorKind::Other) << location;
        EXPECT_NE(outcome.response.error().message().find(std::string(": a redirect: ") + location +
                                                          " is no URL: "),
                  std::string::npos)
            << outcome.response.error().message();
        EXPECT_EQ(outcome.seen.size(), 1U) << location;
    }
}

TEST(ClientRedirect, HTTP_5_redirects_are_bounded) {
    std::vector<std::string> seen;
    in_runtime(1, [&] {
        return with_server(redirects_to("302", "/", seen),
                           [&](const Address& address) -> Result<void> {
                               Client client;
                               auto response = client.send({.url = url_of(address)});
                               EXPECT_EQ(kind_of(response), ErrorKind::Limit);
                               EXPECT_EQ(seen.size(), 6U);
                               Client none({.redirects = 0});
                               EXPECT_EQ(WEFT_TRY(none.send({.url = url_of(address)})).status, 302);
                               return {};
                           });
    });
}

TEST(ClientRedirect, HTTP_5_secrets_stay_with_the_origin_that_they_are_for) {
    for (bool same : {true, false}) {
        std::vector<std::string> seen;
        std::vector<std::string> elsewhere;
        in_runtime(1, [&] {
            return with_server(
                redirects_to("302", "/unused", elsewhere), [&](const Address& other) {
                    std::string location = same ? "/there" : url_of(other, "/there").to_string();
                    return with_server(redirects_to("302", location, seen),
                                       [&](const Address& address) -> Result<void> {
                                           Client client;
                                           ClientRequest request{.url = url_of(address)};
                                           request.headers.set("Authorization", "Bearer secret");
                                           request.headers.set("Cookie", "secret=1");
                                           request.headers.set("X-Other", "kept");
                                           ClientResponse response = WEFT_TRY(client.send(request));
                                           EXPECT_EQ(response.read_all(), "there");
                                           return {};
                                       });
                });
        });
        const std::string& last = same ? seen.at(1) : elsewhere.at(0);
        EXPECT_EQ(last.find("secret") != std::string::npos, same);
        EXPECT_NE(last.find("X-Other: kept"), std::string::npos);
    }
}

// ---------------------------------------------------------------- proxies

ClientOptions through(const Address& address, std::string authorization = {}) {
    return {.proxy = ForwardProxy{.host = address.ip().to_string(),
                                  .port = address.port(),
                                  .authorization = std::move(authorization)}};
}

TEST(ClientProxy, HTTP_5_plain_requests_go_to_the_proxy_with_an_absolute_target) {
    in_runtime(1, [] {
        std::string seen;
        return with_server(
            [&](Peer& peer) {
                seen = peer.read_request();
                peer.respond("by proxy");
            },
            [&](const Address& address) -> Result<void> {
                Client client(through(address, "Basic abc"));
                ClientResponse response = WEFT_TRY(client.get("http://example.test/path?q"));
                EXPECT_EQ(response.read_all(), "by proxy");
                EXPECT_TRUE(
                    seen.starts_with("GET http://example.test/path?q HTTP/1.1\r\n"
                                     "Host: example.test\r\n"));
                EXPECT_NE(seen.find("Proxy-Authorization: Basic abc\r\n"), std::string::npos);
                return {};
            });
    });
}

TEST(ClientProxy, HTTP_5_hosts_of_the_list_are_reached_without_the_proxy) {
    in_runtime(1, [] {
        return with_server([](Peer& peer) { peer.respond(peer.read_request().substr(0, 6)); },
                           [](const Address& address) -> Result<void> {
                               Address nobody = WEFT_TRY(free_tcp_address());
                               for (const char* pattern : {"127.0.0.1", "*"}) {
                                   ClientOptions options = through(nobody);
                                   options.no_proxy = {"other", pattern};
                                   Client client(options);
                                   ClientResponse response =
                                       WEFT_TRY(client.send({.url = url_of(address)}));
                                   EXPECT_EQ(response.read_all(), "GET / ");
                               }
                               ClientOptions options = through(nobody);
                               options.no_proxy = {"0.0.1", ".example.test"};
                               Client client(options);
                               EXPECT_FALSE(client.send({.url = url_of(address)}));
                               return {};
                           });
    });
}

TEST(ClientProxy, HTTP_5_a_proxy_that_refuses_to_connect_is_an_error_that_says_so) {
    in_runtime(1, [] {
        std::string seen;
        return with_server(
            [&](Peer& peer) {
                seen = peer.read_head();
                peer.say("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
            },
            [&](const Address& address) -> Result<void> {
                Client client(through(address, "Basic abc"));
                auto response = client.get("https://example.test/");
                EXPECT_EQ(kind_of(response), ErrorKind::Refused);
                EXPECT_NE(response.error().message().find("407"), std::string::npos);
                EXPECT_TRUE(
                    seen.starts_with("CONNECT example.test:443 HTTP/1.1\r\n"
                                     "Host: example.test:443\r\n"
                                     "Proxy-Authorization: Basic abc\r\n"));
                return {};
            });
    });
}

TEST(ClientProxy, HTTP_5_a_proxy_that_talks_before_the_server_or_not_at_all_is_an_error) {
    in_runtime(1, [] {
        return with_server(
            [&](Peer& peer) {
                peer.read_head();
                if (peer.number() == 0) peer.say("HTTP/1.1 200 OK\r\n\r\nsmuggled");
                if (peer.number() == 1) peer.say("nonsense\r\n\r\n");
                if (peer.number() == 2) return;
                peer.wait_for_close();
            },
            [&](const Address& address) -> Result<void> {
                ClientOptions options = through(address);
                options.timeouts.handshake = milliseconds(30);
                Client client(options);
                EXPECT_EQ(kind_of(client.get("https://example.test/")), ErrorKind::Refused);
                EXPECT_EQ(kind_of(client.get("https://example.test/")), ErrorKind::Other);
                EXPECT_EQ(kind_of(client.get("https://example.test/")), ErrorKind::Closed);
                EXPECT_EQ(kind_of(client.get("https://example.test/")), ErrorKind::TimedOut);
                return {};
            });
    });
}

TEST(ClientRedirect, JS_11_a_redirect_into_a_forbidden_network_is_not_connected_to) {
    in_runtime(1, [] {
        return with_server(
            [](Peer&) { ADD_FAILURE() << "connected"; },
            [](const Address& forbidden) -> Result<void> {
                std::vector<std::string> seen;
                std::string location = "http://" + forbidden.to_string() + "/secret";
                return with_server(
                    redirects_to("302", location, seen),
                    [&](const Address& address) -> Result<void> {
                        net::EgressPolicy policy;
                        WEFT_TRY(policy.allow(address.to_string()));
                        Client client({.check_address = [&](auto host, const Address& candidate) {
                            return policy.check(host, candidate);
                        }});
                        auto response = client.send({.url = url_of(address)});
                        EXPECT_EQ(kind_of(response), ErrorKind::PermissionDenied);
                        EXPECT_EQ(client.counters().connected, 1U);
                        EXPECT_EQ(seen.size(), 1U);
                        return {};
                    });
            });
    });
}

TEST(ClientProxy, HTTP_5_each_address_is_checked_before_it_is_connected_to) {
    in_runtime(1, [] {
        return with_server([](Peer&) { ADD_FAILURE() << "connected"; },
                           [](const Address& address) -> Result<void> {
                               std::vector<Address> asked;
                               auto check = [&](std::string_view host,
                                                const Address& candidate) -> Result<void> {
                                   EXPECT_EQ(host, candidate.ip().to_string());
                                   asked.push_back(candidate);
                                   return Error(ErrorKind::Refused, "not that one");
                               };
                               Client client({.check_address = check});
                               auto response = client.send({.url = url_of(address)});
                               EXPECT_FALSE(response);
                               EXPECT_EQ(asked, std::vector{address});
                               return {};
                           });
    });
}

}  // namespace
}  // namespace weft::http
