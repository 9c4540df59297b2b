// The native functions with which WebSocket connects, and with which a server's request becomes
// one.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/api/application/application.h"
#include "weft/api/serve/flat_headers.h"
#include "weft/api/serve/server_calls.h"
#include "weft/api/websocket/bindings.h"
#include "weft/api/websocket/sockets.h"
#include "weft/http/websocket/upgrade.h"
#include "weft/js/describe.h"
#include "weft/js/task.h"

namespace weft::api {
namespace {

// Belongs to the connection's fiber. It reports the end also when the upgrade was never performed
// because the client went away before.
struct ReleaseOnEnd {
    std::weak_ptr<ServerCalls*> calls;  // they may end before the connection
    double number;
    std::shared_ptr<SocketLink> link;

    ReleaseOnEnd(ServerCalls& calls_in, double number_in, std::shared_ptr<SocketLink> link_in)
        : calls(calls_in.self()), number(number_in), link(std::move(link_in)) {}
    ReleaseOnEnd(ReleaseOnEnd&& other) noexcept = default;
    ~ReleaseOnEnd() {
        if (!link) return;
        link->never_began();
        if (auto open = calls.lock()) (*open)->body_ended(number, false);
    }
};

// (request, headers, protocol): gives the number of the socket; undefined if the request is over or
// is not a valid WebSocket request, which is answered here.
void websocket_accept(js::Call& call) {
    ServerCalls& calls = calls_of(call);
    double number = call.number(0);
    ServerCall* found = calls.find(number);
    if (!found || found->answered || !found->request) return;
    auto link = std::make_shared<SocketLink>();
    http::WebSocketAccept options;
    if (std::string protocol = call.text(2); !protocol.empty())
        options.protocols.push_back(std::move(protocol));
    calls.hold(number);
    auto serve = [link, end = ReleaseOnEnd(calls, number, link)](http::WebSocket& socket) mutable {
        link->run(socket);
    };
    http::Response response = http::accept_websocket(*found->request, std::move(serve), options);
    bool accepted = response.status == 101;
    for (const auto& field : from_flat(call.context(), call[1].As<v8::Array>()))
        response.headers.add(field.name, field.value);
    Result<double> kept = Error(ErrorKind::Refused);
    if (accepted) kept = sockets_of(call).keep({link, nullptr});
    if (!kept) link->forget_script();
    calls.answer(number, std::move(response));
    if (kept) call.give(*kept);
}

// { socket, protocol }
js::Settled connected(double number, std::string protocol) {
    return [number,
            protocol = std::move(protocol)](js::Isolate& isolate) -> v8::MaybeLocal<v8::Value> {
        v8::Isolate* engine = isolate.v8();
        v8::Local<v8::Object> described = v8::Object::New(engine);
        v8::Local<v8::Context> context = isolate.context();
        js::seen_by_turn(described->CreateDataProperty(context, js::to_v8(engine, "socket"),
                                                       v8::Number::New(engine, number)));
        js::seen_by_turn(described->CreateDataProperty(context, js::to_v8(engine, "protocol"),
                                                       js::to_v8(engine, protocol)));
        return described.As<v8::Value>();
    };
}

// (url, protocols, headers)
void websocket_connect(js::Call& call) {
    std::vector<std::string> protocols;
    v8::Local<v8::Array> list = call[1].As<v8::Array>();
    for (std::uint32_t at = 0; at < list->Length(); ++at) {
        v8::Local<v8::Value> name;
        if (!list->Get(call.context(), at).ToLocal(&name)) return;
        protocols.push_back(call.text_of(name));
    }
    js::start_task(
        call, "open websocket",
        [&sockets = sockets_of(call), url = call.text(0), protocols = std::move(protocols),
         headers =
             from_flat(call.context(), call[2].As<v8::Array>())]() mutable -> Result<js::Settled> {
            std::shared_ptr<http::WebSocket> connection =
                WEFT_TRY(sockets.connect(url, std::move(protocols), std::move(headers)));
            std::string protocol(connection->protocol());
            double number =
                WEFT_TRY(sockets.keep({std::make_shared<SocketLink>(), std::move(connection)}));
            return connected(number, std::move(protocol));
        });
}

// Runs a client's connection until it is closed. A server's connection runs on its own fiber.
void websocket_run(js::Call& call) {
    OpenSocket* found = sockets_of(call).find(call.number(0));
    OpenSocket socket = found ? *found : OpenSocket{};
    js::start_task(call, "websocket", [socket = std::move(socket)]() -> Result<js::Settled> {
        if (socket.link && socket.connection) socket.link->run(*socket.connection);
        return js::settled();
    });
}

// Gives a promise: 1 if the connection is open, 0 if it failed to open.
void websocket_opened(js::Call& call) {
    OpenSocket* found = sockets_of(call).find(call.number(0));
    std::shared_ptr<SocketLink> link = found ? found->link : nullptr;
    js::start_task(call, "websocket", [link]() -> Result<js::Settled> {
        bool opened = link && WEFT_TRY(link->opened());
        return js::settled(opened ? 1.0 : 0.0);
    });
}

// [code, reason, failure]
js::Settled ended(SocketEnd end) {
    return [end = std::move(end)](js::Isolate& isolate) -> v8::MaybeLocal<v8::Value> {
        v8::Isolate* engine = isolate.v8();
        v8::Local<v8::Value> parts[] = {v8::Integer::New(engine, end.code),
                                        js::to_v8(engine, end.reason),
                                        js::to_v8(engine, end.failure)};
        return v8::Array::New(engine, parts, std::size(parts)).As<v8::Value>();
    };
}

// Gives a promise of the next message, a string or an ArrayBuffer, or of a list that says how the
// connection ended.
void websocket_receive(js::Call& call) {
    OpenSocket* found = sockets_of(call).find(call.number(0));
    std::shared_ptr<SocketLink> link = found ? found->link : nullptr;
    js::start_task(call, "websocket receive", [link]() -> Result<js::Settled> {
        if (!link) return ended({});
        std::optional<http::WebSocket::Message> message = link->receive();
        if (!message) return ended(link->end());
        if (message->type == http::MessageType::Text)
            return js::settled(std::move(message->payload));
        Bytes bytes = as_bytes(message->payload);
        return js::settled(std::vector<std::byte>(bytes.begin(), bytes.end()));
    });
}

// (socket, data): gives false if the connection ends because too much is waiting to be sent.
void websocket_send(js::Call& call) {
    OpenSocket* found = sockets_of(call).find(call.number(0));
    if (!found) return call.give(true);
    bool is_text = call[1]->IsString();
    call.give(found->link->put(is_text ? http::MessageType::Text : http::MessageType::Binary,
                               is_text ? call.text(1) : std::string(as_text(call.bytes(1)))));
}

// (socket, code, reason)
void websocket_close(js::Call& call) {
    if (OpenSocket* found = sockets_of(call).find(call.number(0)))
        found->link->close(static_cast<std::uint16_t>(call.integer(1)), call.text(2));
}

void websocket_buffered(js::Call& call) {
    OpenSocket* found = sockets_of(call).find(call.number(0));
    call.give(found ? static_cast<double>(found->link->buffered()) : 0.0);
}

void websocket_drop(js::Call& call) { sockets_of(call).drop(call.number(0)); }

constexpr js::Binding kBindings[] = {
    js::bind<websocket_accept>(
        "websocketAccept",
        "(request: number, headers: string[], protocol: string): number | undefined"),
    js::bind<websocket_connect>(
        "websocketConnect",
        "(url: string, protocols: string[], headers: string[]): Promise<ConnectedSocket>",
        js::Awaits::Cancellable),
    js::bind<websocket_run>("websocketRun", "(socket: number): Promise<void>",
                            js::Awaits::Cancellable),
    js::bind<websocket_opened>("websocketOpened", "(socket: number): Promise<number>",
                               js::Awaits::Cancellable),
    js::bind<websocket_receive>("websocketReceive",
                                "(socket: number): Promise<string | ArrayBuffer | unknown[]>",
                                js::Awaits::Cancellable),
    js::bind<websocket_send>("websocketSend",
                             "(socket: number, data: string | BufferSource): boolean"),
    js::bind<websocket_close>("websocketClose",
                              "(socket: number, code: number, reason: string): void"),
    js::bind<websocket_buffered>("websocketBuffered", "(socket: number): number"),
    js::bind<websocket_drop>("websocketDrop", "(socket: number): void"),
};

}  // namespace

std::span<const js::Binding> websocket_bindings() { return kBindings; }

}  // namespace weft::api
