// A server among clients that speak raw bytes: pipelined, cut in pieces, half-closed, gone.
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/scenarios.h"
#include "tests/sim/stage.h"
#include "weft/base/format.h"
#include "weft/fiber/schedule/placement.h"
#include "weft/http/request.h"
#include "weft/sync/event.h"

namespace weft::sim::scenarios {
namespace {

constexpr unsigned kWorkersMax = 4;

using http::Request;
using http::Response;

// What became of each request: none is handled twice.
class Book {
public:
    explicit Book(int requests)
        : handled_(static_cast<std::size_t>(requests)), ended_(handled_.size()) {}

    void handle(int number) {
        require(!is_handled(number), "a request was handled twice");
        handled_[static_cast<std::size_t>(number)] = true;
    }
    bool is_handled(int number) const { return handled_[static_cast<std::size_t>(number)]; }

    // Whether somebody was told that it ended without an answer.
    bool& ended(int number) { return ended_[static_cast<std::size_t>(number)]; }

private:
    std::vector<bool> handled_;
    std::deque<bool> ended_;
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

// Answers in a later turn of the loop, or not any more.
struct Later : Completion {
    static void begin(http::Reply reply, int number, std::string body, bool& ended) {
        auto later = std::make_unique<Later>();
        later->run = go_on;
        later->reply = std::move(reply);
        later->text = answer_to(number, body);
        later->turns = random_below(4);
        later->ended = &ended;
        post(std::move(later));
    }
    static void post(std::unique_ptr<Later> later) {
        later->worker = *worker_here();
        require(post_here(later->worker, *later).has_value(), "a record was not taken");
        static_cast<void>(later.release());
    }
    static void go_on(Completion& completion) {
        std::unique_ptr<Later> self(static_cast<Later*>(&completion));
        require(worker_here() == self->worker, "a record is on another worker");
        if (self->turns-- > 0) return post(std::move(self));
        bool open(self->reply);
        require(open != *self->ended, "a request neither goes on nor has ended, or both");
        require(self->reply.answer(Response::text(self->text)) == open, "not what it said");
        if (!open) require(*self->ended, "an answer was refused without a word");
    }

    http::Reply reply;
    std::string text;
    std::uint64_t turns = 0;
    unsigned worker = 0;
    bool* ended = nullptr;
};

// At once, later or by a fiber.
http::LoopHandler answer_in_loop(Book& book) {
    return [&book](Request& request, http::LoopCall& call) -> http::LoopOutcome {
        require(!current(), "a loop handler is on a fiber");
        int number = number_of(request);
        if (random_below(4) == 0) return http::ByFiber{};
        book.handle(number);
        Result<std::string> body = request.body().read_all();
        if (!body) return body.error();
        if (coin()) return Response::text(answer_to(number, *body));
        bool& ended = book.ended(number);
        Later::begin(call.keep([&ended](http::KeptEnd) { ended = true; }), number, *body, ended);
        return http::Kept{};
    };
}

enum class By : std::uint8_t { Fiber, Loop };

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

void have_conversations(bool may_break, By by) {
    Promptness promptness;
    Runtime runtime({.workers = some_workers()});
    constexpr int kEach = 3;
    int clients = between(1, 3);
    Book book(clients * kEach);
    http::ServerOptions options = patient_server();
    options.half_close = http::HalfClose::IsAllowed;
    if (by == By::Loop) options.loop_handler = answer_in_loop(book);
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

void leave_somehow(Peer& peer) {
    switch (random_below(3)) {
    case 0: break;
    case 1: static_cast<void>(peer.socket().reset_on_close()); break;
    default:
        static_cast<void>(peer.socket().shutdown_write());
        while (!peer.has_ended()) peer.hear(1);
    }
}

}  // namespace

void http_conversations() { have_conversations(false, By::Fiber); }
void http_conversations_break() { have_conversations(true, By::Fiber); }
void http_loop_conversations() { have_conversations(false, By::Loop); }
void http_loop_conversations_break() { have_conversations(true, By::Loop); }

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
            leave_somehow(peer);
        });
    }
    crew.join();
    site.drain();
    require(begun == ended, "a handler was left behind");
}

// Requests that are kept for ever end when their clients close, half-close or reset.
void http_loop_clients_leave() {
    Promptness promptness;
    Runtime runtime({.workers = some_workers()});
    int clients = between(1, 3);
    std::vector<http::Reply> replies[kWorkersMax];
    int begun[kWorkersMax] = {};
    int ended[kWorkersMax] = {};
    http::ServerOptions options = patient_server();
    options.loop_handler = [&](Request&, http::LoopCall& call) -> http::LoopOutcome {
        unsigned worker = *worker_here();
        ++begun[worker];
        replies[worker].push_back(call.keep([&ended, worker](http::KeptEnd why) {
            require(why == http::KeptEnd::ClientGone, "the server has not closed");
            require(worker_here() == worker, "a client leaves on another worker");
            ++ended[worker];
        }));
        return http::Kept{};
    };
    auto refuse = [&](Request&, async::Context&) -> Result<Response> {
        return Response::plain(503);
    };
    Site site(runtime, refuse, std::move(options));
    Crew crew(runtime);
    for (int client = 0; client < clients; ++client) {
        crew.add_fiber([&] {
            Peer peer = Peer::connect(site.address());
            require(peer.say("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), "a request could not be sent");
            pause_up_to_us(2000);
            leave_somehow(peer);
        });
    }
    crew.join();
    site.drain();
    for (unsigned worker = 0; worker < kWorkersMax; ++worker)
        require(begun[worker] == ended[worker], "a kept request was left behind");
}

namespace {

// Drained at one exact step: whatever was handled is answered in full, and everything ends.
void drain_anywhere(By by) {
    Promptness promptness;
    Runtime runtime({.workers = some_workers()});
    constexpr int kEach = 3;
    int clients = between(1, 3);
    Book book(clients * kEach);
    http::ServerOptions options = patient_server();
    if (by == By::Loop) options.loop_handler = answer_in_loop(book);
    Site site(runtime, echo_into(book), std::move(options));
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

}  // namespace

void http_drain_anywhere() { drain_anywhere(By::Fiber); }
void http_loop_drain_anywhere() { drain_anywhere(By::Loop); }

}  // namespace weft::sim::scenarios
