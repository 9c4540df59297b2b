// WebSockets and server-sent events: messages that come in their order, and ends that are told.
#include <memory>
#include <string>

#include "tests/sim/scenarios.h"
#include "tests/sim/stage.h"
#include "weft/http/request.h"
#include "weft/http/sse/broadcaster.h"
#include "weft/http/sse/event_source.h"
#include "weft/http/websocket/upgrade.h"

namespace weft::sim::scenarios {
namespace {

using http::Request;
using http::Response;
using http::WebSocket;

http::WebSocketOptions patient_websocket() {
    return {.ping_interval = kForEver,
            .pong_timeout = kForEver,
            .write_time = kForEver,
            .close_time = kForEver};
}

std::string message_of(int number) {
    return std::to_string(number) + std::string(static_cast<std::size_t>(number * 13 % 40), 'x');
}

Response echo_messages(const Request& request) {
    http::WebSocketAccept accept;
    accept.connection = patient_websocket();
    return http::accept_websocket(
        request,
        [](WebSocket& socket) {
            for (;;) {
                Result<WebSocket::Message> message = socket.receive();
                if (!message || !socket.send(message->type, message->payload)) return;
            }
        },
        accept);
}

// Sends while it receives; then one side closes, and both know.
void talk(Runtime& runtime, const net::Address& address, bool may_break) {
    Result<net::Socket> connected = net::Socket::connect(address);
    require(connected || may_break, "a connect failed");
    if (!connected) return;
    http::WebSocketUpgrade upgrade;
    upgrade.connection = patient_websocket();
    Result<std::unique_ptr<WebSocket>> opened = http::open_websocket(
        std::make_unique<net::Socket>(std::move(*connected)), url_of(address), upgrade);
    require(opened || may_break, "a handshake failed");
    if (!opened) return;
    WebSocket& socket = **opened;
    int messages = between(0, 4);
    Future<void> sender = runtime.spawn([&] {
        for (int number = 0; number < messages; ++number) {
            // Before a message: what answers it comes while somebody still reads, else two who
            // only write would wait for each other.
            if (random_below(4) == 0) static_cast<void>(socket.ping("p"));
            Result<void> sent = socket.send_text(message_of(number));
            require(sent || may_break, "a message could not be sent");
            if (!sent) return;
        }
    });
    for (int number = 0; number < messages; ++number) {
        Result<WebSocket::Message> message = socket.receive();
        require(message || may_break, "a message is missing");
        if (!message) break;
        require(message->payload == message_of(number), "another message came");
    }
    require(sender.join().has_value(), "a sender failed");
    Result<void> closed = socket.close();
    require(closed || may_break, "a close was not answered");
    require(may_break || socket.close_code() == 1000, "a close came with another code");
}

void talk_all(bool may_break) {
    Promptness promptness;
    Runtime runtime({.workers = some_workers()});
    Site site(runtime, [](Request& request, async::Context&) -> Result<Response> {
        return echo_messages(request);
    });
    Crew crew(runtime);
    for (int client = between(1, 2); client > 0; --client)
        crew.add_fiber([&] { talk(runtime, site.address(), may_break); });
    crew.join();
    site.drain();
}

}  // namespace

void websocket_echo() { talk_all(false); }
void websocket_echo_breaks() { talk_all(true); }

// Subscribers that are slow are dropped, come again, and are sent what they have missed, as far as
// it is kept; never the same twice, and never out of order.
void sse_broadcast() {
    Runtime runtime({.workers = some_workers()});
    constexpr int kEnough = 6;
    bool keeps_all = coin();
    http::Broadcaster news({.events_max = keeps_all ? 1000 : random_below(4) + 1,
                            .retry = std::chrono::milliseconds(1)});
    Site site(runtime, [&](Request& request, async::Context&) -> Result<Response> {
        return news.subscribe(request);
    });
    int left = between(1, 3);
    Crew crew(runtime);
    for (int reader = left; reader > 0; --reader) {
        crew.add_fiber([&] {
            http::Client client;
            http::EventSource source(client, url_of(site.address()));
            int last = -1;
            while (last < kEnough) {
                Result<http::EventSource::Event> event = source.next();
                require(event.has_value(), "an event source ended");
                int number = std::stoi(event->data);
                require(number > last, "an event came again, or too late");
                require(number == last + 1 || last < 0 || !keeps_all, "an event was lost");
                last = number;
                if (random_below(3) == 0) pause_up_to_us(5000);
            }
            --left;
        });
    }
    crew.add([&] {
        for (int number = 0; left > 0; ++number) {
            require(news.publish({.data = std::to_string(number)}).has_value(), "not published");
            pause_up_to_us(1000);
        }
    });
    crew.join();
    news.close();
    site.drain();
    require(news.counters().subscribers == 0, "a subscriber was left behind");
}

}  // namespace weft::sim::scenarios
