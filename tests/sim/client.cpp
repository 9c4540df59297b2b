// Requests that end before their time: each has one outcome, and leaves nothing behind.
#include <memory>
#include <string>
#include <vector>

#include "tests/sim/scenarios.h"
#include "tests/sim/stage.h"
#include "weft/fiber/cancel.h"
#include "weft/http/request.h"

namespace weft::sim::scenarios {
namespace {

using http::Client;
using http::ClientRequest;
using http::Request;
using http::Response;

std::string text_of(std::size_t count) { return std::string(count, 'x'); }

// Reads what was sent, a little late at times, and gives it back, whole or in chunks.
Result<Response> give_back(Request& request, async::Context&) {
    if (coin()) pause_up_to_us(2000);
    std::string body = WEFT_TRY(request.body().read_all());
    if (coin()) return Response::text(std::move(body));
    return Response::stream("text/plain",
                            [body = std::move(body)](http::BodyWriter& writer) -> Result<void> {
                                std::size_t half = body.size() / 2;
                                WEFT_TRY(writer.write(std::string_view(body).substr(0, half)));
                                WEFT_TRY(writer.flush());
                                if (coin()) pause_up_to_us(500);
                                return writer.write(std::string_view(body).substr(half));
                            });
}

// A text, or one that is produced piece by piece.
http::Body some_body(std::size_t count) {
    if (coin()) return text_of(count);
    return http::Body::produced([count](http::BodyWriter& writer) -> Result<void> {
        for (std::size_t i = 0; i < count; ++i) {
            WEFT_TRY(writer.write("x"));
            if (random_below(4) == 0) WEFT_TRY(writer.flush());
        }
        return {};
    });
}

// Sends so many bytes and reads them back, or gives up in between.
Result<std::string> ask(Client& client, const net::Address& address, std::size_t count) {
    ClientRequest request{
        .method = "POST", .url = url_of(address), .headers = {}, .body = some_body(count)};
    request.expect_continue = random_below(4) == 0;
    http::ClientResponse response = WEFT_TRY(client.send(request));
    require(response.status == 200, "another status than 200");
    return response.read_all();
}

// Whatever came before, the next request has a connection, and nothing is left in the end.
void check_that_all_is_there(Runtime& runtime, std::unique_ptr<Client> client, Site& site) {
    std::string text = text_of(5);
    Future<std::string> next = runtime.spawn([&]() -> Result<std::string> {
        ClientRequest request{.method = "POST", .url = url_of(site.address()), .body = text};
        request.timeouts = patient_client();
        http::ClientResponse response = WEFT_TRY(client->send(request));
        return response.read_all();
    });
    require(next.join() == text, "a later request failed");
    client.reset();
    site.drain();
}

}  // namespace

void http_cancel_anywhere() {
    Promptness promptness;
    Runtime runtime({.workers = some_workers()});
    Site site(runtime, give_back);
    auto client = std::make_unique<Client>(http::ClientOptions{
        .timeouts = patient_client(),
        .limits = {.connections_per_origin = random_below(2) + 1, .idle_time = kForEver}});
    CancelSource source = CancelSource::detached();
    bool cancelled = false;
    Crew crew(runtime);
    crew.add_thread([&] {
        await_interrupt();
        promptness.begin_anew();
        cancelled = true;
        source.cancel();
    });
    for (int user = between(1, 3); user > 0; --user) {
        crew.add_fiber([&] {
            CancelScope scope(source.token());
            for (int i = between(1, 2); i > 0; --i) {
                std::size_t count = random_below(30);
                Result<std::string> text = ask(*client, site.address(), count);
                require(text || is_error(text, ErrorKind::Cancelled), "an odd error");
                require(text || cancelled, "cancelled by nobody");
                require(!text || *text == text_of(count), "another text came back");
            }
        });
    }
    crew.join();
    check_that_all_is_there(runtime, std::move(client), site);
}

void http_client_timeouts() {
    Runtime runtime({.workers = some_workers()});
    Site site(runtime, give_back);
    auto some_time = [] {
        constexpr std::array<Nanoseconds, 4> kTimes = {10us, 200us, 2ms, kForEver};
        return kTimes[random_below(kTimes.size())];
    };
    http::ClientTimeouts timeouts{.queue = some_time(),
                                  .connect = some_time(),
                                  .head = some_time(),
                                  .idle = some_time(),
                                  .total = some_time(),
                                  .expect = 100us};
    auto client = std::make_unique<Client>(http::ClientOptions{
        .timeouts = timeouts,
        .limits = {.connections_per_origin = random_below(2) + 1, .idle_time = kForEver}});
    Crew crew(runtime);
    for (int user = between(1, 3); user > 0; --user) {
        crew.add_fiber([&] {
            std::size_t count = random_below(30);
            Result<std::string> text = ask(*client, site.address(), count);
            require(text || is_error(text, ErrorKind::TimedOut), "an odd error");
            require(!text || *text == text_of(count), "another text came back");
        });
    }
    crew.join();
    check_that_all_is_there(runtime, std::move(client), site);
}

}  // namespace weft::sim::scenarios
