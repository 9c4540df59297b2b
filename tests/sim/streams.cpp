// Bodies in both directions, piece by piece, at the pace of the slower side.
#include <array>
#include <string>

#include "tests/sim/scenarios.h"
#include "tests/sim/stage.h"
#include "weft/http/request.h"

namespace weft::sim::scenarios {
namespace {

using http::Request;
using http::Response;

std::string piece_of(int number) {
    return std::string(static_cast<std::size_t>(1 + number * 11 % 30),
                       static_cast<char>('a' + number));
}
std::string whole_of(int pieces) {
    std::string whole;
    for (int number = 0; number < pieces; ++number) whole += piece_of(number);
    return whole;
}

http::Body::Producer producer_of(int pieces) {
    return [pieces](http::BodyWriter& writer) -> Result<void> {
        for (int number = 0; number < pieces; ++number) {
            WEFT_TRY(writer.write(piece_of(number)));
            if (coin()) WEFT_TRY(writer.flush());
            if (random_below(4) == 0) pause_up_to_us(300);
        }
        writer.trailers().set("pieces", std::to_string(pieces));
        return {};
    };
}

// A few bytes at a time, with pauses.
Result<std::string> read_slowly(http::BodyReader& body) {
    std::string text;
    std::array<std::byte, 7> space;
    for (;;) {
        std::size_t count = WEFT_TRY(body.read(ByteSpace(space).first(1 + random_below(7))));
        if (count == 0) return text;
        text += as_text(Bytes(space).first(count));
        if (random_below(8) == 0) pause_up_to_us(300);
    }
}

bool has_trailer(const http::Headers& trailers, int pieces) {
    return trailers.get("pieces") == std::to_string(pieces);
}

// Of "/up/down": takes so many pieces, or does not care, and gives so many.
Result<Response> exchange(Request& request, async::Context&) {
    int up = request.path()[1] - '0';
    int down = request.path()[3] - '0';
    if (request.path().ends_with("/early")) return Response::text(whole_of(down));
    std::string text = WEFT_TRY(read_slowly(request.body()));
    require(text == whole_of(up), "an upload was changed on its way");
    require(has_trailer(request.body().trailers(), up), "an upload lost its trailer");
    return Response::stream("text/plain", producer_of(down));
}

void send_and_receive(http::Client& client, const net::Address& address) {
    int up = between(0, 5);
    int down = between(0, 5);
    bool early = random_below(4) == 0;
    std::string target = "/" + std::to_string(up) + "/" + std::to_string(down);
    http::ClientRequest request{.method = "POST",
                                .url = url_of(address, early ? target + "/early" : target),
                                .body = http::Body::produced(producer_of(up))};
    Result<http::ClientResponse> response = client.send(request);
    require(response && response->status == 200, "a request failed");
    Result<std::string> text = read_slowly(response->body());
    require(text.has_value(), "a download failed");
    require(*text == whole_of(down), "a download was changed on its way");
    if (!early) require(has_trailer(response->body().trailers(), down), "its trailer was lost");
}

}  // namespace

void http_streams() {
    Promptness promptness;
    Runtime runtime({.workers = some_workers()});
    Site site(runtime, exchange);
    Crew crew(runtime);
    for (int user = between(1, 2); user > 0; --user) {
        crew.add_fiber([&] {
            http::Client client({.timeouts = patient_client(), .limits = {.idle_time = kForEver}});
            for (int i = between(1, 2); i > 0; --i) send_and_receive(client, site.address());
        });
    }
    crew.join();
    site.drain();
}

}  // namespace weft::sim::scenarios
