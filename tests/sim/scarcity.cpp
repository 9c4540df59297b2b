// Servers and clients where allocations of stacks, blocks and buffers fail: each request has one
// outcome, everybody ends, and who asks later is served.
#include <memory>
#include <string>
#include <vector>

#include "tests/sim/scenarios.h"
#include "tests/sim/stage.h"
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

}  // namespace

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
