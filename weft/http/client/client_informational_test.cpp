// Informational responses that a client receives before the final one.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "weft/http/client/client.h"
#include "weft/testing/scripted_server.h"
#include "weft/testing/sockets.h"

namespace weft::http {
namespace {

using namespace testing;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view kHints = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";

Url url_of(const net::Address& address, std::string_view target = "/") {
    return *Url::parse("http://" + address.to_string() + std::string(target));
}

// Records the informational responses, as "103 </a>".
struct Heard {
    std::vector<std::string> all;
    auto ear() {
        return [this](std::uint16_t status, const Headers& headers) {
            all.push_back(std::to_string(status) + " " +
                          std::string(headers.get("link").value_or("-")));
        };
    }
};

TEST(ClientInformational, HTTP_12c_a_client_that_asks_sees_each_as_it_comes) {
    in_runtime(1, [] {
        Event heard;
        return with_server(
            [&](Peer& peer) {
                while (!peer.read_request().empty()) {
                    peer.say("HTTP/1.1 102 Processing\r\n\r\n" + std::string(kHints));
                    EXPECT_TRUE(heard.wait_for(seconds(10)));
                    peer.say("HTTP/1.1 103 Early Hints\r\n\r\n");
                    peer.respond("page");
                }
            },
            [&](const Address& address) -> Result<void> {
                Client client;
                for (int i = 0; i < 2; ++i) {
                    Heard seen;
                    auto ear = seen.ear();
                    ClientRequest request{.url = url_of(address)};
                    request.on_informational = [&](std::uint16_t status, const Headers& headers) {
                        ear(status, headers);
                        if (headers.has("link")) heard.set();
                    };
                    ClientResponse response = WEFT_TRY(client.send(request));
                    EXPECT_EQ(response.status, 200);
                    EXPECT_EQ(WEFT_TRY(response.read_all()), "page");
                    EXPECT_EQ(seen.all, (std::vector<std::string>{"102 -", "103 </a>", "103 -"}));
                }
                // A request without a callback gets its response all the same.
                ClientResponse response = WEFT_TRY(client.send({.url = url_of(address)}));
                EXPECT_EQ(WEFT_TRY(response.read_all()), "page");
                EXPECT_EQ(client.counters().connected, 1U);
                return {};
            });
    });
}

TEST(ClientInformational, HTTP_12c_what_its_function_throws_ends_the_request) {
    in_runtime(1, [] {
        return with_server(
            [&](Peer& peer) {
                peer.read_request();
                peer.say(kHints);
                EXPECT_TRUE(peer.wait_for_close());
            },
            [&](const Address& address) -> Result<void> {
                Client client;
                ClientRequest request{.url = url_of(address)};
                request.on_informational = [](std::uint16_t, const Headers&) {
                    throw std::runtime_error("no hints, please");
                };
                auto response = client.send(request);
                EXPECT_FALSE(response);
                EXPECT_NE(response.error().message().find("no hints, please"), std::string::npos);
                return {};
            });
    });
}

// An early hint (103) does not tell the client to send the body.
TEST(ClientInformational, HTTP_12c_a_body_that_waits_for_100_waits_on_after_others) {
    in_runtime(1, [] {
        return with_server(
            [&](Peer& peer) {
                peer.read_head();
                peer.say(kHints);
                if (peer.number() == 0) {
                    peer.say("HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\nno");
                    EXPECT_EQ(peer.read_exactly(1), "");
                    return;
                }
                peer.say("HTTP/1.1 100 Continue\r\n\r\n");
                peer.respond(peer.read_exactly(4));
            },
            [&](const Address& address) -> Result<void> {
                Client client({.timeouts = {.expect = seconds(10)}});
                for (const char* expected : {"no", "text"}) {
                    Heard seen;
                    ClientRequest request{.method = "POST",
                                          .url = url_of(address),
                                          .body = "text",
                                          .expect_continue = true};
                    request.on_informational = seen.ear();
                    ClientResponse response = WEFT_TRY(client.send(request));
                    EXPECT_EQ(WEFT_TRY(response.read_all()), expected);
                    EXPECT_EQ(seen.all.front(), "103 </a>");
                    EXPECT_EQ(seen.all.size(), response.status == 200 ? 2U : 1U);
                }
                return {};
            });
    });
}

}  // namespace
}  // namespace weft::http
