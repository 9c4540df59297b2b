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

http::ReverseProxy proxy_to(const net::Address& address) {
    Result<http::ReverseProxy> proxy =
        http::ReverseProxy::create({.upstreams = {"http://" + address.to_string()},
                                    .health = {.failures = 0},
                                    .timeouts = patient_client(),
                                    .limits = {.idle_time = kForEver}});
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

}  // namespace weft::sim::scenarios
