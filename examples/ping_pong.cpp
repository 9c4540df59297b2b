// Two fibers play over channels; a third one waits for whatever comes first.
#include <cstdio>

#include "weft/fiber/runtime.h"
#include "weft/sync/channel.h"
#include "weft/sync/select.h"

using namespace weft;
using namespace std::chrono_literals;

namespace {

// Sends back what it gets, one higher, until one of its channels is closed.
void player(Channel<int>& in, Channel<int>& out) {
    static_cast<void>(in.for_each([&](int ball) { return out.send(ball + 1); }));
}

Result<int> match() {
    Channel<int> ping(0), pong(0);
    Channel<const char*> news(1);
    Future<void> other = spawn([&] { return player(ping, pong); });
    Future<void> reporter = spawn([&] {
        static_cast<void>(sleep_for(5ms));
        static_cast<void>(news.send("half-time"));
    });

    int hits = 0;
    WEFT_TRY(ping.send(0));
    bool playing = true;
    while (playing) {
        Result<std::size_t> chosen = select(on_receive(pong,
                                                       [&](Result<int> ball) {
                                                           hits = ball.value_or(hits);
                                                           // The other one is back at its channel
                                                           // or about to be: this send meets it
                                                           // there.
                                                           if (hits < 20'000)
                                                               playing =
                                                                   ping.send(hits).has_value();
                                                       }),
                                            on_receive(news,
                                                       [](Result<const char*> text) {
                                                           if (text)
                                                               std::printf("news: %s\n", *text);
                                                       }),
                                            on_timeout(10ms, [&] { playing = false; }));
        WEFT_TRY(chosen);
    }
    ping.close();
    pong.close();  // after a timeout the other one may still hold the ball
    WEFT_TRY(other.join());
    WEFT_TRY(reporter.join());
    return hits;
}

}  // namespace

int main() {
    Result<int> hits = run(match);
    if (!hits) return 1;
    std::printf("%d hits\n", *hits);
    return *hits > 0 ? 0 : 1;
}
