// Servers, clients and proxies where allocations of stacks, blocks and buffers fail: each request
// has one outcome, everybody ends, and who asks later is served.
#include <memory>
#include <string>
#include <vector>

#include "tests/sim/scenarios.h"
#include "tests/sim/stage.h"
#include "weft/base/format.h"
#include "weft/http/proxy/reverse_proxy.h"
#include "weft/http/request.h"
#include "weft/net/socket.h"
#include "weft/sync/event.h"

namespace weft::sim::scenarios {
namespace {

using http::Client;
using http::ClientRequest;
using http::Request;
using http::Response;

// A fiber that runs; as often as it takes to get one.
template <class Function>
auto start_at_last(Runtime& runtime, Function function) {
    for (;;) {
        auto entered = std::make_shared<Event>();
        auto future = runtime.spawn([entered, function] {
            entered->set();
            return function();
        });
        while (future && !future.is_done() && !entered->is_set())
            static_cast<void>(entered->wait_for(1ms));
        if (entered->is_set()) return future;
        require(is_error(future.join(), ErrorKind::OutOfMemory), "a spawn gave an odd error");
    }
}

// Does it until it does not fail for want of memory.
template <class Function>
auto do_at_last(Runtime& runtime, Function function) {
    for (;;) {
        auto outcome = start_at_last(runtime, function).join();
        if (!is_error(outcome, ErrorKind::OutOfMemory)) return outcome;
    }
}

// What a server and its clients may say of the want of memory on the other side or on theirs.
bool is_of_want(const Error& error) {
    switch (error.kind()) {
    case ErrorKind::OutOfMemory:
    case ErrorKind::Closed:
    case ErrorKind::Refused:  // by a server that could not begin
    case ErrorKind::Reset: return true;
    default: return false;
    }
}

class Visits {
public:
    explicit Visits(int count) : times_(static_cast<std::size_t>(count)) {}

    Result<Response> answer(Request& request, async::Context&) {
        std::string body = WEFT_TRY(request.body().read_all());
        require(!body.empty(), "a request came without its number");
        std::size_t number = std::stoul(body);
        bool may_come_again = number + 1 == times_.size();  // see do_at_last()
        require(++times_[number] == 1 || may_come_again, "a request was handled twice");
        if (coin()) some_yields();
        return Response::text(body);
    }
    bool was_handled(int number) const { return times_[static_cast<std::size_t>(number)] != 0; }

private:
    std::vector<int> times_;
};

Result<std::string> ask(Client& client, const net::Address& address, int number) {
    ClientRequest request{.method = "POST", .url = url_of(address), .body = std::to_string(number)};
    http::ClientResponse response = WEFT_TRY(client.send(request));
    require(response.status == 200 || response.status == 503, "an odd status");
    if (response.status == 503) return ErrorKind::OutOfMemory;
    return response.read_all();
}

// Of a server that answers in the midst of an upload, and may want the rest of that before it says
// the rest. The target is how many bytes go there and come back.
void answer_midway(Peer& peer) {
    std::string head = peer.hear_until(kHeadEnd);
    if (head.empty()) return;
    std::size_t count = std::stoul(target_of(head).substr(1));
    std::size_t upload = head.starts_with("POST") ? count : 0;
    std::size_t before = random_below(upload + 1);
    if (peer.hear(before).size() < before) return;
    std::string text(count, 'x');
    std::string answer = coin() ? response_with(text)
                                : format(
                                      "HTTP/1.1 200 OK\r\nTransfer-Encoding: "
                                      "chunked\r\n\r\n{:x}\r\n{}\r\n0\r\n\r\n",
                                      count, text);
    std::size_t half = random_below(answer.size());
    if (!peer.say(std::string_view(answer).substr(0, half))) return;
    std::size_t rest = coin() ? upload - before : 0;
    if (peer.hear(rest).size() < rest) return;
    if (!peer.say(std::string_view(answer).substr(half))) return;
    static_cast<void>(peer.hear(upload - before - rest));
}

// One connection after the other, on a plain thread, which needs no memory to begin.
void answer_by_turns(net::Listener& listener) {
    for (;;) {
        Result<net::Socket> socket = listener.accept();
        if (is_error(socket, ErrorKind::Closed)) return;
        if (!socket) continue;  // for want of memory
        Peer peer(std::move(*socket));
        answer_midway(peer);
    }
}

// Slower than the upstream, so that its response is read ahead.
void fetch_slowly(Client& client, const net::Address& address) {
    std::size_t count = 1 + random_below(60);
    Result<http::ClientResponse> response =
        client.send({.url = url_of(address, "/" + std::to_string(count))});
    if (!response || response->status != 200) return;
    pause_up_to_us(300);
    Result<std::string> text = response->read_all();
    require(!text || text->size() == count, "a part was taken for the whole");
}

// It sends on whatever is answered, and listens meanwhile.
void upload(Runtime& runtime, Peer peer) {
    Crew crew(runtime);
    std::size_t count = 1 + random_below(60);
    std::string head =
        format("POST /{} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", count, count);
    crew.add_thread([&peer, head, count] {
        bool sent = peer.say(head);
        for (std::size_t at = 0; sent && at < count; ++at) {
            sent = peer.say("x");
            if (coin()) pause_up_to_us(20);
        }
        if (!sent) peer.socket().close();
    });
    crew.add_thread([&peer, count] {
        if (coin()) pause_up_to_us(300);
        std::string answer = peer.hear_until(kHeadEnd);
        if (answer.find("chunked") != std::string::npos)
            static_cast<void>(peer.hear_until("0\r\n\r\n"));
        else if (answer.starts_with("HTTP/1.1 200 "))
            static_cast<void>(peer.hear(count));
        peer.socket().close();
    });
}

// Refused: by a server that could not begin.
template <class Function>
auto open_at_last(Function function) {
    for (;;) {
        auto opened = function();
        if (!is_error(opened, ErrorKind::OutOfMemory)) return opened;
    }
}

}  // namespace

void http_proxy_without_memory() {
    Promptness promptness;
    Runtime runtime({.workers = some_workers()});
    net::Listener listener =
        open_at_last([] { return net::Listener::open(net::Address::loopback(0)); }).value();
    Crew upstream(runtime);
    upstream.add_thread([&] { answer_by_turns(listener); });
    auto proxy = std::make_unique<http::ReverseProxy>(
        http::ReverseProxy::create({.upstreams = {"http://" + listener.address().to_string()},
                                    .health = {.failures = 0},
                                    .timeouts = patient_client(),
                                    .limits = {.idle_time = kForEver},
                                    .request_buffer_bytes = 0})
            .value());
    auto server = std::make_unique<http::Server>(proxy->handler(), patient_server());
    Result<net::Address> address =
        do_at_last(runtime, [&] { return server->listen(net::Address::loopback(0)); });
    require(address.has_value(), "a server does not listen");
    Future<void> serving = start_at_last(runtime, [&] { return server->serve(); });
    if (coin()) {
        Client client({.timeouts = patient_client(), .limits = {.idle_time = kForEver}});
        start_at_last(runtime, [&] { fetch_slowly(client, *address); }).join().value();
    } else {
        Result<net::Socket> socket = open_at_last([&] { return net::Socket::connect(*address); });
        if (socket) upload(runtime, Peer(std::move(*socket)));
    }
    server->drain();
    Result<void> served = serving.join();
    require(served || is_error(served, ErrorKind::OutOfMemory), "an odd end");
    require(server->connections() == 0, "a connection outlived its server");
    server.reset();
    proxy.reset();
    listener.close();
    upstream.join();
    runtime.run();
    eventually([&] { return runtime.live_fibers() == 0; }, "all fibers have ended");
}

void http_without_memory() {
    constexpr int kUsers = 3;
    constexpr int kEach = 2;
    constexpr int kLast = kUsers * kEach;
    Promptness promptness;
    Runtime runtime({.workers = some_workers()});
    Visits visits(kLast + 1);
    http::Server server(
        [&](Request& request, async::Context& context) { return visits.answer(request, context); },
        patient_server());
    Result<net::Address> address =
        do_at_last(runtime, [&] { return server.listen(net::Address::loopback(0)); });
    require(address.has_value(), "a server does not listen");
    Future<void> serving = start_at_last(runtime, [&] { return server.serve(); });
    auto client = std::make_unique<Client>(http::ClientOptions{
        .timeouts = patient_client(),
        .limits = {.connections_per_origin = random_below(3) + 1, .idle_time = kForEver}});
    std::vector<Future<void>> users;
    for (int user = 0; user < kUsers; ++user) {
        users.push_back(runtime.spawn([&, user] {
            for (int number = user * kEach; number < (user + 1) * kEach; ++number) {
                Result<std::string> text = ask(*client, *address, number);
                require(text || is_of_want(text.error()), "an odd error");
                require(!text || *text == std::to_string(number), "another text came back");
                require(!text || visits.was_handled(number), "an answer without a question");
            }
        }));
    }
    for (Future<void>& user : users) {
        Result<void> ended = user.join();
        require(ended || is_error(ended, ErrorKind::OutOfMemory), "a user failed");
    }
    calm();
    Result<std::string> text = do_at_last(runtime, [&] { return ask(*client, *address, kLast); });
    client.reset();
    server.drain();
    // One that could not begin to serve says so, and nobody waits for it.
    Result<void> served = serving.join();
    require(served || is_error(served, ErrorKind::OutOfMemory), "an odd end");
    require(text == std::to_string(kLast) || !served, "who asks later is not served");
    require(server.connections() == 0, "a connection outlived its server");
    runtime.run();
    eventually([&] { return runtime.live_fibers() == 0; }, "all fibers have ended");
}

}  // namespace weft::sim::scenarios
