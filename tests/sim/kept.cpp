// Kept connections of a client: their servers close them while others take them.
#include <memory>

#include "tests/sim/scenarios.h"
#include "tests/sim/stage.h"

namespace weft::sim::scenarios {
namespace {

// Answers each request by its target, so many times; then it closes, at once or a little later.
void answer_and_close(Peer& peer, int answers) {
    for (; answers > 0; --answers) {
        std::string head = peer.hear_until(kHeadEnd);
        if (head.empty()) return;
        // Every 100 ms the client looks for connections whose time is over.
        if (random_below(4) == 0) pause_for(100ms - up_to_us(300));
        if (!peer.say(response_with(target_of(head)))) return;
    }
    if (coin()) pause_up_to_us(100);
}

void share_a_client(bool may_break) {
    Promptness promptness;
    Runtime runtime({.workers = 2});
    net::Listener listener = some_listener();
    int users = between(2, 4);
    int left = users;
    Crew crew(runtime);
    // Those who serve wait until their connections end: by their time, or with the client.
    bool ends = coin();
    auto client = std::make_unique<http::Client>(http::ClientOptions{
        .timeouts = patient_client(),
        .limits = {.connections_per_origin = random_below(3) + 1,
                   .idle_time = ends ? kForEver : Nanoseconds(up_to_us(2000))}});
    crew.add_fiber([&] {
        serve_by_hand(listener, [](Peer& peer) { answer_and_close(peer, between(1, 3)); });
    });
    for (int user = 0; user < users; ++user) {
        crew.add_fiber([&, user] {
            for (int number = between(1, 4); number > 0; --number) {
                std::string target = "/" + std::to_string(user) + "." + std::to_string(number);
                Result<http::ClientResponse> response =
                    client->send({.url = url_of(listener.address(), target)});
                Result<std::string> text = response ? response->read_all() : response.error();
                // A closed connection's request is repeated on a new one, which answers it.
                require(text || may_break, "a request that may be repeated failed");
                require(!text || *text == target, "somebody else's response came");
                if (coin()) pause_up_to_us(100);
            }
            if (--left > 0) return;
            listener.close();
            if (ends) client.reset();
        });
    }
    crew.join();
    // By its server or its time, each ends.
    while (!ends && client->counters().idle > 0) pause_for(1s);
}

}  // namespace

void http_kept_connections() { share_a_client(false); }

void http_kept_connections_break() { share_a_client(true); }

}  // namespace weft::sim::scenarios
