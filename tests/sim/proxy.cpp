// A proxy between a client and servers that fail: what arrives is whole, or an error.
#include <memory>
#include <string>

#include "tests/sim/scenarios.h"
#include "tests/sim/stage.h"
#include "weft/base/format.h"
#include "weft/http/proxy/reverse_proxy.h"
#include "weft/http/request.h"

namespace weft::sim::scenarios {
namespace {

using http::Request;
using http::Response;

std::string text_of(std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += static_cast<char>('a' + i % 26);
    return text;
}

http::ReverseProxy proxy_to(const net::Address& address, std::size_t request_buffer_bytes = 64) {
    Result<http::ReverseProxy> proxy =
        http::ReverseProxy::create({.upstreams = {"http://" + address.to_string()},
                                    .health = {.failures = 0},
                                    .timeouts = patient_client(),
                                    .limits = {.idle_time = kForEver},
                                    .request_buffer_bytes = request_buffer_bytes});
    require(proxy.has_value(), "there is no proxy");
    return std::move(*proxy);
}

http::ClientOptions patient_options() {
    return {.timeouts = patient_client(), .limits = {.idle_time = kForEver}};
}

bool is_gateway_error(std::uint16_t status) { return status >= 502 && status <= 504; }

http::Body some_body(const std::string& text) {
    if (coin()) return text;
    return http::Body::produced([text](http::BodyWriter& writer) -> Result<void> {
        for (char letter : text) {
            WEFT_TRY(writer.write(std::string_view(&letter, 1)));
            if (coin()) WEFT_TRY(writer.flush());
        }
        return {};
    });
}

// Of a server that says it all, or less, and goes.
void answer_in_part(Peer& peer) {
    std::string head = peer.hear_until(kHeadEnd);
    if (head.empty()) return;
    std::size_t count = std::stoul(target_of(head).substr(1));
    std::string text = text_of(count);
    std::string answer = coin() ? response_with(text)
                                : format(
                                      "HTTP/1.1 200 OK\r\nTransfer-Encoding: "
                                      "chunked\r\n\r\n{:x}\r\n{}\r\n0\r\n\r\n",
                                      count, text);
    if (coin()) answer.resize(random_below(answer.size()));
    static_cast<void>(peer.say(answer));
    if (coin()) pause_up_to_us(100);
}

void pass_on(bool may_break) {
    Promptness promptness;
    Runtime runtime({.workers = some_workers()});
    Site upstream(runtime, [](Request& request, async::Context&) -> Result<Response> {
        std::string text = WEFT_TRY(request.body().read_all());
        if (coin()) pause_up_to_us(200);
        Response response;
        response.body = some_body(text);
        return response;
    });
    auto proxy = std::make_unique<http::ReverseProxy>(proxy_to(upstream.address()));
    auto site = std::make_unique<Site>(runtime, proxy->handler());
    Crew crew(runtime);
    for (int user = between(1, 2); user > 0; --user) {
        crew.add_fiber([&] {
            http::Client client(patient_options());
            for (int i = between(1, 2); i > 0; --i) {
                std::string text = text_of(1 + random_below(40));
                http::ClientRequest request{
                    .method = "POST", .url = url_of(site->address()), .body = some_body(text)};
                Result<http::ClientResponse> response = client.send(request);
                require(response || may_break, "a request failed");
                if (!response) continue;
                bool failed = is_gateway_error(response->status);
                require(response->status == 200 || (failed && may_break), "an odd status");
                Result<std::string> back = response->read_all();
                require(back || may_break, "a response failed");
                if (back && !failed) require(*back == text, "something else came back");
            }
        });
    }
    crew.join();
    site->drain();
    // Those to the upstream are kept by the proxy, and its handler in the site has it too.
    site.reset();
    proxy.reset();
    upstream.drain();
}

// Of a server that says hints, answers before, within or after the body, and reads that to its end,
// or goes when it has answered.
void answer_early(Peer& peer, Atomic<bool>& has_left) {
    for (;;) {
        std::string head = peer.hear_until(kHeadEnd);
        if (head.empty()) return;
        std::size_t count = std::stoul(target_of(head).substr(1));
        if (coin()) static_cast<void>(peer.say("HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n"));
        std::size_t before = random_below(count + 1);
        std::string body = peer.hear(before);
        if (body.size() < before) return;
        std::string answer = response_with(text_of(count));
        std::size_t half = random_below(answer.size());
        if (!peer.say(std::string_view(answer).substr(0, half))) return;
        if (coin()) pause_up_to_us(100);
        bool leaves = random_below(8) == 0;
        // Relaxed: who misses its answer looks after it was gone.
        if (leaves) has_left.store(true, std::memory_order_relaxed);
        if (!peer.say(std::string_view(answer).substr(half)) || leaves) return;
        body += peer.hear(count - before);
        if (body.size() < count) return;
        require(body == text_of(count), "the upstream got something else");
    }
}

// The final response; nothing if there was none.
std::optional<Heard> hear_final(Peer& peer) {
    Heard heard;
    do {
        heard.head = peer.hear_until(kHeadEnd);
    } while (heard.head.starts_with("HTTP/1.1 103 "));
    if (heard.head.empty()) return std::nullopt;
    std::size_t at = heard.head.find("Content-Length: ");
    require(at != std::string::npos, "a response without a length");
    heard.body = peer.hear(std::stoul(heard.head.substr(at + 16)));
    return heard;
}

}  // namespace

void http_proxy() { pass_on(false); }
void http_proxy_breaks() { pass_on(true); }

// The upstream goes away in the middle of a response: the client sees that.
void http_proxy_cut_off() {
    Promptness promptness;
    Runtime runtime({.workers = some_workers()});
    net::Listener listener = some_listener();
    http::ReverseProxy proxy = proxy_to(listener.address());
    Site site(runtime, proxy.handler());
    Crew crew(runtime);
    crew.add_fiber([&] { serve_by_hand(listener, answer_in_part); });
    crew.add_fiber([&] {
        http::Client client(patient_options());
        for (int i = between(1, 3); i > 0; --i) {
            std::size_t count = 1 + random_below(40);
            std::string target = "/" + std::to_string(count);
            // One that must not be repeated is not.
            http::ClientRequest request{.method = coin() ? "GET" : "POST",
                                        .url = url_of(site.address(), target)};
            Result<http::ClientResponse> response = client.send(request);
            require(response.has_value(), "the proxy did not answer");
            Result<std::string> text = response->read_all();
            if (is_gateway_error(response->status)) continue;
            require(response->status == 200, "an odd status");
            require(!text || *text == text_of(count), "a part was taken for the whole");
        }
        listener.close();
    });
    crew.join();
    site.drain();
}

// The upstream answers when it likes: an upload goes on all the same, is never taken for whole when
// it is not, and both connections stand where the next exchange begins.
void http_proxy_early_answer() {
    Promptness promptness;
    Runtime runtime({.workers = some_workers()});
    net::Listener listener = some_listener();
    auto proxy =
        std::make_unique<http::ReverseProxy>(proxy_to(listener.address(), coin() ? 0 : 16));
    auto site = std::make_unique<Site>(runtime, proxy->handler());
    Crew upstream(runtime);
    Atomic<bool> has_left{false};
    upstream.add_fiber([&] {
        serve_by_hand(listener, [&has_left](Peer& peer) { answer_early(peer, has_left); });
    });
    Crew crew(runtime);
    for (int user = between(1, 2); user > 0; --user) {
        crew.add_fiber([&] {
            Peer peer = Peer::connect(site->address());
            for (int i = between(1, 3); i > 0; --i) {
                std::size_t count = 1 + random_below(60);
                std::string text = text_of(count);
                std::size_t part = random_below(count);
                bool leaves = random_below(6) == 0;
                // It listens while it sends: a proxy whose upstream is gone reads no more.
                Future<void> sending = spawn([&] {
                    std::string head = format(
                        "POST /{} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", count, count);
                    static_cast<void>(peer.say(head + text.substr(0, part)));
                    if (coin()) pause_up_to_us(200);
                    if (!leaves) static_cast<void>(peer.say(text.substr(part)));
                });
                if (leaves) {
                    pause_up_to_us(300);
                    peer.socket().close();
                    require(sending.join().has_value(), "to send did not end");
                    return;
                }
                std::optional<Heard> heard = hear_final(peer);
                require(sending.join().has_value(), "to send did not end");
                bool good =
                    heard && heard->head.starts_with("HTTP/1.1 200 ") && heard->body == text;
                // One that goes with bytes unread may take its answer along.
                bool cut_off =
                    !heard || heard->body.empty() || heard->head.starts_with("HTTP/1.1 502 ");
                require(good || (cut_off && has_left.load(std::memory_order_relaxed)),
                        "an odd answer");
                if (!good || heard->is_last()) break;
            }
        });
    }
    crew.join();
    site->drain();
    // The upstream serves as long as the proxy keeps connections to it.
    site.reset();
    proxy.reset();
    listener.close();
    upstream.join();
}

}  // namespace weft::sim::scenarios
