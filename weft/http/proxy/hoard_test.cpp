// Clients that occupy many connections for long, and what is left for the others.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "weft/base/format.h"
#include "weft/http/proxy/internal/proxy_test.h"
#include "weft/http/proxy/reverse_proxy.h"
#include "weft/sync/event.h"

namespace weft::http {
namespace {

using namespace testing;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kHoarders = 24;
constexpr std::size_t kConnections = 8;
constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
constexpr std::string_view kUpgrade =
    "GET /chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
constexpr std::string_view kGetEvents = "GET /events HTTP/1.1\r\nHost: a\r\n\r\n";
constexpr std::string_view kGetLarge = "GET /large HTTP/1.1\r\nHost: a\r\n\r\n";

// A text larger than the kernel buffers for a client that does not read.
const std::string& large_text() {
    static const std::string text = [] {
        std::string piece;
        while (piece.size() < 1000) piece += std::to_string(piece.size()) + ",";
        std::string all;
        while (all.size() < (8 << 20)) all += piece;
        return all;
    }();
    return text;
}

// An upstream that answers all requests of these tests, and keeps its connections open.
void serve_anything(Peer& peer) {
    for (std::string head = peer.read_head(); !head.empty(); head = peer.read_head()) {
        if (head.starts_with("GET /chat")) {
            peer.say(
                "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\n"
                "Upgrade: websocket\r\n\r\n");
            EXPECT_TRUE(peer.wait_for_close());
            return;
        }
        if (head.starts_with("GET /events")) {
            peer.say("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n");
            EXPECT_TRUE(peer.wait_for_close());
            return;
        }
        if (head.starts_with("GET /large")) {
            peer.respond(large_text());
            continue;
        }
        std::size_t at = head.find("Content-Length: ");
        std::size_t size = at == head.npos ? 0 : std::strtoul(head.c_str() + at + 16, nullptr, 10);
        if (size > 0 && peer.read_exactly(size).empty()) return;
        peer.respond("ok");
    }
}

ProxyOptions few_connections() {
    return {.upstreams = {},
            .timeouts = {.queue = seconds(20)},
            .limits = {.connections_per_origin = kConnections}};
}

struct Hoard {
    std::string_view request;
    std::string_view seen = {};  // each greedy client reads its response up to this; empty: none
};

// Many greedy clients from 127.0.0.1, then one client from 127.0.0.`last` that must get answers.
void expect_answer_beside(const Hoard& hoard, std::uint8_t last, ProxyOptions options) {
    in_runtime(2, [&] {
        ServerOptions server_options;
        server_options.limits.body_bytes = UINT64_MAX;
        return with_upstream(
            serve_anything,
            [&](const Address& address, ReverseProxy& proxy) -> Result<void> {
                std::vector<RawPeer> hoarders;
                for (int i = 0; i < kHoarders; ++i) {
                    hoarders.push_back(RawPeer::connect_from(1, address));
                    hoarders.back().say(hoard.request);
                    if (!hoard.seen.empty()) {
                        EXPECT_FALSE(hoarders.back().read_until(hoard.seen).empty()) << i;
                    }
                }
                // Wait until the greedy clients have all the connections that they can get.
                if (last != 1) {
                    EXPECT_TRUE(eventually(
                        [&] { return proxy.upstreams()[0].under_way >= kConnections / 2; }));
                }
                for (int i = 0; i < 3; ++i) {
                    RawPeer client = RawPeer::connect_from(last, address);
                    EXPECT_EQ(body_of(client.ask(kGet)), "ok");
                }
                return {};
            },
            std::move(options), server_options);
    });
}

// ---------------------------------------------------------------- clients that hold none

TEST(ProxyHoard, HTTP_7k_upgraded_connections_are_counted_apart) {
    expect_answer_beside({kUpgrade, "Upgrade: websocket\r\n"}, 1, few_connections());
}

TEST(ProxyHoard, HTTP_7k_event_streams_are_counted_apart) {
    expect_answer_beside({kGetEvents, "data: 1\n\n"}, 1, few_connections());
}

TEST(ProxyHoard, HTTP_7k_a_small_upload_that_stalls_holds_no_connection) {
    for (const char* framing :
         {"Content-Length: 10\r\n\r\nhalf", "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"}) {
        std::string request = "POST / HTTP/1.1\r\nHost: a\r\n" + std::string(framing);
        expect_answer_beside({request}, 1, few_connections());
    }
}

// Sends the large text by its length, or in chunks with a trailer.
void say_large(Peer& peer, bool chunked) {
    const std::string& large = large_text();
    if (!chunked) return peer.respond(large);
    peer.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (std::size_t at = 0; at < large.size(); at += 40'000) {
        std::string part = large.substr(at, 40'000);
        peer.say(format("{:x}\r\n{}\r\n", part.size(), part));
    }
    peer.say("0\r\nX-End: yes\r\n\r\n");
}

void expect_large(RawPeer& client, bool chunked) {
    client.read_head();
    if (!chunked) {
        EXPECT_TRUE(client.read_exactly(large_text().size()) == large_text());
        return;
    }
    std::string body;
    for (;;) {
        std::size_t size = std::strtoul(client.read_until("\r\n").c_str(), nullptr, 16);
        if (size == 0) break;
        body += client.read_exactly(size);
        client.read_exactly(2);
    }
    EXPECT_TRUE(body == large_text());
    EXPECT_EQ(client.read_until("\r\n\r\n"), "X-End: yes\r\n\r\n");
}

TEST(ProxyHoard, HTTP_7k_a_response_that_fits_is_read_for_a_client_that_does_not_read_it) {
    for (bool chunked : {false, true}) {
        in_runtime(1, [&] {
            ProxyOptions options = few_connections();
            options.limits.connections_per_origin = 1;
            options.response_buffer_bytes = 16 << 20;
            return with_upstream(
                [&](Peer& peer) {
                    for (std::string head = peer.read_head(); !head.empty();
                         head = peer.read_head()) {
                        if (head.starts_with("GET /large")) {
                            say_large(peer, chunked);
                        } else {
                            peer.respond("ok");
                        }
                    }
                },
                [&](const Address& address, ReverseProxy& proxy) -> Result<void> {
                    RawPeer slow = RawPeer::connect_from(1, address);
                    slow.say(kGetLarge);
                    EXPECT_TRUE(eventually([&] { return proxy.upstreams()[0].requests == 1; }));
                    // The only connection serves the next client; the first still gets everything.
                    RawPeer quick = RawPeer::connect_from(1, address);
                    EXPECT_EQ(body_of(quick.ask(kGet)), "ok");
                    EXPECT_EQ(proxy.upstreams()[0].under_way, 1U);
                    expect_large(slow, chunked);
                    return {};
                },
                options);
        });
    }
}

// A response that arrives in one piece lies in the memory of the connection.
TEST(ProxyHoard, HTTP_7k_responses_in_one_piece_hold_no_connection_either) {
    in_runtime(1, [] {
        ProxyOptions options = few_connections();
        options.limits.connections_per_origin = 1;
        std::string page(10'000, 'p');
        return with_upstream(
            [&](Peer& peer) {
                while (!peer.read_request().empty()) peer.respond(page);
            },
            [&](const Address& address, ReverseProxy& proxy) -> Result<void> {
                RawPeer slow = RawPeer::connect_from(1, address);
                std::string requests;
                for (int i = 0; i < 2000; ++i) requests += kGet;
                slow.say(requests);
                // The slow client reads nothing, until the proxy takes no more requests of it.
                RawPeer quick = RawPeer::connect_from(1, address);
                int quiet = 0;
                for (int i = 0; i < 10'000 && quiet < 10; ++i) {
                    std::uint64_t before = proxy.upstreams()[0].requests;
                    EXPECT_EQ(body_of(quick.ask(kGet)), page);
                    quiet = proxy.upstreams()[0].requests == before + 1 ? quiet + 1 : 0;
                }
                EXPECT_EQ(quiet, 10);
                return {};
            },
            options);
    });
}

// ---------------------------------------------------------------- clients that hold their share

TEST(ProxyHoard, HTTP_7k_large_uploads_that_stall_leave_something_for_others) {
    std::string request =
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 500000\r\n\r\n" + std::string(100'000, 'x');
    expect_answer_beside({request}, 2, few_connections());
}

TEST(ProxyHoard, HTTP_7k_readers_of_large_responses_leave_something_for_others) {
    expect_answer_beside({kGetLarge}, 2, few_connections());
}

TEST(ProxyHoard, HTTP_7k_more_streams_than_there_may_be_get_503) {
    for (std::string_view request : {kUpgrade, kGetEvents}) {
        in_runtime(1, [&] {
            ProxyOptions options = few_connections();
            options.streams_per_upstream = 4;
            return with_upstream(
                serve_anything,
                [&](const Address& address, ReverseProxy&) -> Result<void> {
                    std::vector<RawPeer> clients;
                    auto status_for = [&](std::uint8_t last) {
                        clients.push_back(RawPeer::connect_from(last, address));
                        clients.back().say(request);
                        std::string head = clients.back().read_head();
                        if (status_of(head) == 503) {
                            EXPECT_TRUE(has(head, "retry-after: 1\r\n"));
                        }
                        return status_of(head);
                    };
                    int good = request == kUpgrade ? 101 : 200;
                    // The first client gets half of them, the next one half of what is left.
                    EXPECT_EQ(status_for(1), good);
                    EXPECT_EQ(status_for(1), good);
                    EXPECT_EQ(status_for(1), 503);
                    EXPECT_EQ(status_for(2), good);
                    EXPECT_EQ(status_for(2), 503);
                    EXPECT_EQ(status_for(3), good);
                    EXPECT_EQ(status_for(4), 503);
                    return {};
                },
                options);
        });
    }
}

TEST(ProxyHoard, HTTP_7k_one_address_may_be_many_people) {
    ProxyOptions options = few_connections();
    options.client_share = ClientShare::Any;
    in_runtime(1, [&] {
        Event all_there;
        Atomic<std::size_t> there{0};
        return with_upstream(
            [&](Peer& peer) {
                peer.read_request();
                if (there.fetch_add(1, std::memory_order_relaxed) + 1 == kConnections)
                    all_there.set();
                EXPECT_TRUE(all_there.wait_for(seconds(10)));
                peer.respond("ok");
            },
            [&](const Address& address, ReverseProxy&) -> Result<void> {
                std::vector<RawPeer> clients;
                for (std::size_t i = 0; i < kConnections; ++i) {
                    clients.push_back(RawPeer::connect_from(1, address));
                    clients.back().say(kGet);
                }
                for (RawPeer& client : clients) EXPECT_EQ(body_of(client.read_response()), "ok");
                return {};
            },
            options);
    });
}

TEST(ProxyHoard, HTTP_7k_who_waits_too_long_for_a_connection_gets_503_and_the_upstream_no_blame) {
    in_runtime(1, [] {
        ProxyOptions options = few_connections();
        options.timeouts.queue = milliseconds(20);
        options.limits.connections_per_origin = 1;
        return with_upstream(
            [&](Peer& peer) {
                peer.read_request();
                EXPECT_TRUE(peer.wait_for_close());
            },
            [&](const Address& address, ReverseProxy& proxy) -> Result<void> {
                RawPeer first = RawPeer::connect_from(1, address);
                first.say(kGet);
                EXPECT_TRUE(eventually([&] { return proxy.upstreams()[0].under_way == 1; }));
                std::string response = get(address);
                EXPECT_EQ(status_of(response), 503);
                EXPECT_TRUE(has(response, "retry-after: 1\r\n"));
                EXPECT_EQ(proxy.upstreams()[0].failures, 0U);
                return {};
            },
            options);
    });
}

}  // namespace
}  // namespace weft::http
