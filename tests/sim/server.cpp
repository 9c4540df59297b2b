// A server among clients that speak raw bytes: pipelined, cut in pieces, half-closed, gone.
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/scenarios.h"
#include "tests/sim/stage.h"
#include "weft/base/format.h"
#include "weft/http/request.h"
#include "weft/sync/event.h"

namespace weft::sim::scenarios {
namespace {

using http::Request;
using http::Response;

// What became of each request: none is handled twice.
class Book {
public:
    explicit Book(int requests) : handled_(static_cast<std::size_t>(requests)) {}

    void handle(int number) {
        require(!is_handled(number), "a request was handled twice");
        handled_[static_cast<std::size_t>(number)] = true;
    }
    bool is_handled(int number) const { return handled_[static_cast<std::size_t>(number)]; }

private:
    std::vector<bool> handled_;
};

std::string body_of(int number) {
    return std::string(static_cast<std::size_t>(number * 7 % 20), static_cast<char>('a' + number));
}
// What is answered: the number, what was sent, and something to fill the connection.
std::string answer_to(int number, const std::string& body) {
    return std::to_string(number) + ":" + body + std::string(number % 3 == 0 ? 100 : 0, '.');
}

// GET, POST with a length, POST in chunks.
std::string request_of(int number) {
    std::string target = "/" + std::to_string(number);
    std::string body = body_of(number);
    std::string fields = " HTTP/1.1\r\nHost: a\r\n";
    if (body.empty()) return "GET " + target + fields + "\r\n";
    if (coin()) {
        return "POST " + target + fields + "Content-Length: " + std::to_string(body.size()) +
               "\r\n\r\n" + body;
    }
    std::string chunks;
    for (const std::string& chunk : {body.substr(0, 1), body.substr(1)}) {
        if (!chunk.empty()) chunks += format("{:x}\r\n{}\r\n", chunk.size(), chunk);
    }
    return "POST " + target + fields + "Transfer-Encoding: chunked\r\n\r\n" + chunks + "0\r\n\r\n";
}

int number_of(const Request& request) { return std::stoi(std::string(request.path().substr(1))); }

http::Handler echo_into(Book& book) {
    return [&book](Request& request, async::Context&) -> Result<Response> {
        int number = number_of(request);
        book.handle(number);
        if (coin()) some_yields();
        if (random_below(4) == 0) pause_up_to_us(100);
        std::string body = WEFT_TRY(request.body().read_all());
        return Response::text(answer_to(number, body));
    };
}

enum class Goodbye : std::uint8_t { Close, HalfClose };

// Sends requests with these numbers one behind the other while it reads what comes.
void converse(Runtime& runtime, const net::Address& address, int first, int count, Goodbye goodbye,
              bool may_break) {
    Result<net::Socket> socket = net::Socket::connect(address);
    require(socket || may_break, "a connect failed");
    if (!socket) return;
    Peer peer(std::move(*socket));
    Future<void> writer = runtime.spawn([&] {
        std::string all;
        for (int i = 0; i < count; ++i) all += request_of(first + i);
        while (!all.empty()) {
            std::size_t piece = 1 + random_below(all.size());
            bool said = peer.say(std::string_view(all).substr(0, piece));
            require(said || may_break, "a request could not be sent");
            if (!said) return;
            all.erase(0, piece);
            if (coin()) pause_up_to_us(50);
        }
        if (goodbye == Goodbye::HalfClose) static_cast<void>(peer.socket().shutdown_write());
    });
    for (int number = first; number < first + count; ++number) {
        std::optional<Heard> heard = hear_response(peer);
        require(heard || may_break, "a response is missing");
        if (!heard) break;
        require(heard->body == answer_to(number, body_of(number)), "another response came");
    }
    require(writer.join().has_value(), "a writer failed");
    require(peer.rest().empty() || may_break, "more came than was asked for");
    if (goodbye == Goodbye::HalfClose && !may_break)
        require(peer.hear(1).empty() && peer.has_ended(), "the server did not end");
}

void have_conversations(bool may_break) {
    Promptness promptness;
    Runtime runtime({.workers = some_workers()});
    constexpr int kEach = 3;
    int clients = between(1, 3);
    Book book(clients * kEach);
    http::ServerOptions options = patient_server();
    options.half_close = http::HalfClose::IsAllowed;
    Site site(runtime, echo_into(book), std::move(options));
    Crew crew(runtime);
    for (int client = 0; client < clients; ++client) {
        crew.add_fiber([&, client] {
            int count = between(1, kEach);
            int first = client * kEach;
            converse(runtime, site.address(), first, count,
                     coin() ? Goodbye::HalfClose : Goodbye::Close, may_break);
            for (int i = 0; i < count && !may_break; ++i)
                require(book.is_handled(first + i), "a request was answered by nobody");
        });
    }
    crew.join();
    site.drain();
    http::ServerCounters counters = site.server().counters();
    require(counters.responses <= counters.requests, "more responses than requests");
}

}  // namespace

void http_conversations() { have_conversations(false); }
void http_conversations_break() { have_conversations(true); }

// A server that ends a connection after so many requests, though the client has sent more: what it
// has handled is answered, and comes before the end.
void http_last_response() {
    Promptness promptness;
    Runtime runtime({.workers = some_workers()});
    constexpr int kRequests = 4;
    Book book(kRequests);
    http::ServerOptions options = patient_server();
    options.limits.requests_per_connection = random_below(3) + 1;
    Site site(runtime, echo_into(book), options);
    Crew crew(runtime);
    crew.add_fiber([&] {
        Peer peer = Peer::connect(site.address());
        Future<void> writer = runtime.spawn([&] {
            for (int number = 0; number < kRequests && peer.say(request_of(number)); ++number) {}
        });
        for (int number = 0; number < kRequests; ++number) {
            std::optional<Heard> heard = hear_response(peer);
            require(heard || !book.is_handled(number), "a handled request was not answered");
            if (!heard) break;
            require(heard->body == answer_to(number, body_of(number)), "another response came");
        }
        require(book.is_handled(0), "nothing was handled");
        peer.socket().close();
        require(writer.join().has_value(), "a writer failed");
    });
    crew.join();
    site.drain();
}

// Handlers that wait for ever end when their clients close, half-close or reset.
void http_clients_leave() {
    Promptness promptness;
    Runtime runtime({.workers = some_workers()});
    int clients = between(1, 3);
    int begun = 0;
    int ended = 0;
    auto wait = [&](Request&, async::Context& context) -> Result<Response> {
        ++begun;
        Event never;
        Result<void> waited = never.wait();
        require(is_error(waited, ErrorKind::Cancelled), "a handler was woken by nobody");
        require(context.is_done(), "the context has not ended");
        ++ended;
        return waited.error();
    };
    Site site(runtime, wait);
    Crew crew(runtime);
    for (int client = 0; client < clients; ++client) {
        crew.add_fiber([&] {
            Peer peer = Peer::connect(site.address());
            require(peer.say("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), "a request could not be sent");
            pause_up_to_us(2000);
            switch (random_below(3)) {
            case 0: break;
            case 1: static_cast<void>(peer.socket().reset_on_close()); break;
            default:
                static_cast<void>(peer.socket().shutdown_write());
                while (!peer.has_ended()) peer.hear(1);
            }
        });
    }
    crew.join();
    site.drain();
    require(begun == ended, "a handler was left behind");
}

// Drained at one exact step: whatever was handled is answered in full, and everything ends.
void http_drain_anywhere() {
    Promptness promptness;
    Runtime runtime({.workers = some_workers()});
    constexpr int kEach = 3;
    int clients = between(1, 3);
    Book book(clients * kEach);
    Site site(runtime, echo_into(book));
    bool draining = false;
    Crew crew(runtime);
    crew.add_thread([&] {
        await_interrupt();
        promptness.begin_anew();
        draining = true;
        site.server().drain();
    });
    for (int client = 0; client < clients; ++client) {
        crew.add_fiber([&, client] {
            std::optional<Peer> peer;
            for (int number = client * kEach; number < (client + 1) * kEach; ++number) {
                if (!peer) {
                    Result<net::Socket> socket = net::Socket::connect(site.address());
                    require(socket || draining, "a connect failed");
                    if (!socket) return;
                    peer.emplace(std::move(*socket));
                }
                bool said = peer->say(request_of(number));
                std::optional<Heard> heard = hear_response(*peer);
                require(heard || draining, "a response is missing");
                require(heard || !book.is_handled(number), "a handled request was not answered");
                if (heard) {
                    require(said, "an answer without a question");
                    require(heard->body == answer_to(number, body_of(number)), "not its answer");
                }
                if (!heard || heard->is_last()) peer.reset();
                if (coin()) pause_up_to_us(200);
            }
        });
    }
    crew.join();
    site.await_end();
}

}  // namespace weft::sim::scenarios
