#include "tests/sim/floor/selects.h"

#include <array>
#include <memory>

#include "tests/sim/floor/crew.h"
#include "tests/sim/floor/traffic.h"
#include "weft/fiber/cancel.h"
#include "weft/sync/channel.h"
#include "weft/sync/select.h"
#include "weft/sync/wait_group.h"

namespace weft::sim::scenarios {
namespace {

using namespace std::chrono_literals;
using Channels = std::array<std::unique_ptr<Channel<Item>>, 3>;

struct Traffic {
    int senders = between(1, 3);
    int items = between(1, 4);
    Ledger ledger{senders, items};
    Channels channels{some_channel(), some_channel(), some_channel()};
};

// One item into whichever of two channels takes it. False when both are closed.
bool send_once(Traffic& traffic, int sender, int number) {
    Item item(sender, number);
    Channel<Item>* first = traffic.channels[random_below(3)].get();
    Channel<Item>* second = traffic.channels[random_below(3)].get();
    while (first || second) {
        int handlers = 0;
        std::size_t ran = 0;
        auto on_sent = [&](std::size_t index, Channel<Item>*& channel) {
            return [&, index](Result<void> sent) {
                ++handlers;
                ran = index;
                if (!sent) channel = nullptr;
                if (sent) traffic.ledger.sent(sender, number, item);
            };
        };
        Result<std::size_t> chosen = select(on_send(first, std::move(item), on_sent(0, first)),
                                            on_send(second, std::move(item), on_sent(1, second)),
                                            on_timeout(up_to_us(30), [&] {
                                                ++handlers;
                                                ran = 2;
                                            }));
        require(chosen.has_value(), "a select without an ambient token failed");
        require(handlers == 1 && ran == *chosen, "not exactly the chosen handler ran");
        if (item.is_nothing()) return true;
        traffic.ledger.kept(sender, number, item);
        if (*chosen == 2 && coin()) return true;
    }
    return false;
}

// Receives from all three, switching off those that are closed.
void receive_all(Traffic& traffic) {
    std::array<Order, 3> orders{Order(traffic.senders), Order(traffic.senders),
                                Order(traffic.senders)};
    std::array<Channel<Item>*, 3> open{};
    for (std::size_t i = 0; i < open.size(); ++i) open[i] = traffic.channels[i].get();
    auto take = [&](std::size_t index) {
        return [&, index](Result<Item> item) {
            if (!item) {
                require(is_error(item, ErrorKind::Closed), "a select gave an odd error");
                open[index] = nullptr;
                return;
            }
            traffic.ledger.received(*item);
            orders[index].next(*item);
        };
    };
    while (open[0] || open[1] || open[2]) {
        bool patient = coin();
        bool idle = false;
        Result<std::size_t> chosen =
            patient ? select(on_receive(open[0], take(0)), on_receive(open[1], take(1)),
                             on_receive(open[2], take(2)))
                    : select(on_receive(open[2], take(2)), on_receive(open[0], take(0)),
                             on_receive(open[1], take(1)), otherwise([&] { idle = true; }));
        require(chosen.has_value(), "a select without an ambient token failed");
        if (idle) static_cast<void>(sleep_for(1us));
    }
}

}  // namespace

// Sends and receives by select over three channels, and by plain calls beside them.
void select_traffic() {
    Runtime runtime({.workers = some_workers()});
    Traffic traffic;
    WaitGroup sending(static_cast<std::uint64_t>(traffic.senders));
    Crew crew(runtime);
    for (int sender = 0; sender < traffic.senders; ++sender) {
        crew.add([&, sender] {
            for (int number = 0; number < traffic.items; ++number) {
                if (!send_once(traffic, sender, number)) break;
            }
            sending.done();
        });
    }
    for (int i = between(1, 2); i > 0; --i) crew.add([&] { receive_all(traffic); });
    crew.add([&] {
        Channel<Item>& channel = *traffic.channels[0];
        for (Result<Item> item : channel) traffic.ledger.received(*item);
    });
    crew.add([&] {
        if (coin()) {
            require(sending.wait().has_value(), "the closer was cancelled");
        } else {
            static_cast<void>(sleep_for(up_to_us(30)));
        }
        for (auto& channel : traffic.channels) channel->close();
    });
    crew.join();
    for (auto& channel : traffic.channels) {
        for (Result<Item> item : *channel) traffic.ledger.received(*item);
    }
    traffic.ledger.check();
}

// One who waits for all of them, without an end to its patience; each sender has its own channel.
void select_fan_in() {
    Runtime runtime({.workers = some_workers()});
    std::array<std::unique_ptr<Channel<Item>>, 3> channels{some_channel(), some_channel(),
                                                           some_channel()};
    int items = between(1, 3);
    Ledger ledger(3, items);
    Crew crew(runtime);
    for (int sender = 0; sender < 3; ++sender) {
        crew.add([&, sender] {
            for (int number = 0; number < items; ++number) {
                Item item(sender, number);
                if (coin()) static_cast<void>(sleep_for(up_to_us(10)));
                Channel<Item>& channel = *channels[static_cast<std::size_t>(sender)];
                require(channel.send(std::move(item)).has_value(), "a send failed");
                ledger.sent(sender, number, item);
            }
        });
    }
    crew.add([&] {
        Order order(3);
        for (int received = 0; received < 3 * items; ++received) {
            auto take = [&](Result<Item> item) {
                require(item.has_value(), "a receive failed");
                ledger.received(*item);
                order.next(*item);
            };
            require(select(on_receive(*channels[0], take), on_receive(*channels[1], take),
                           on_receive(*channels[2], take))
                        .has_value(),
                    "a select without an ambient token failed");
        }
    });
    crew.join();
    ledger.check();
}

// Timeouts, tokens and the ambient token end a select; never early, never for another reason.
void select_timeouts() {
    Runtime runtime({.workers = some_workers()});
    CancelSource ambient = CancelSource::detached();
    CancelSource given = CancelSource::detached();
    bool ambient_cancelled = false;
    bool given_cancelled = false;
    Channel<int> silent(0);
    Crew crew(runtime);
    for (int i = between(1, 4); i > 0; --i) {
        crew.add([&] {
            CancelScope scope(ambient.token());
            Deadline deadline = coin() ? Deadline::after(up_to_us(200)) : Deadline::never();
            int ran = -1;
            Result<std::size_t> chosen = select(
                on_receive(silent, [&](const Result<int>&) { ran = 0; }),
                on_timeout(deadline, [&] { ran = 1; }), on_cancel(given.token(), [&] { ran = 2; }));
            if (!chosen) {
                require(is_error(chosen, ErrorKind::Cancelled), "a select gave an odd error");
                require(ambient_cancelled && ran == -1, "a select was cancelled by nobody");
                return;
            }
            require(ran == static_cast<int>(*chosen), "another handler ran");
            require(*chosen != 0, "something came from a silent channel");
            if (*chosen == 1) require(deadline.expired(Clock::now()), "a timeout came early");
            if (*chosen == 2) require(given_cancelled, "a token was cancelled by nobody");
        });
    }
    crew.add([&] {
        static_cast<void>(sleep_for(up_to_us(200)));
        given_cancelled = true;
        given.cancel();
    });
    crew.add([&] {
        static_cast<void>(sleep_for(up_to_us(200)));
        ambient_cancelled = true;
        ambient.cancel();
    });
}

// Everybody selects over the same channels in another order, sending and receiving at once.
void select_shared_channels() {
    Runtime runtime({.workers = some_workers()});
    std::array<Channel<int>, 2> channels{Channel<int>(0), Channel<int>(0)};
    int players = between(2, 4);
    int sent = 0;
    int received = 0;
    int rounds = between(1, 3);
    Crew crew(runtime);
    for (int player = 0; player < players; ++player) {
        crew.add([&, player] {
            Channel<int>& first = channels[static_cast<std::size_t>(player % 2)];
            Channel<int>& second = channels[static_cast<std::size_t>(1 - player % 2)];
            for (int round = 0; round < rounds; ++round) {
                Result<std::size_t> chosen = select(
                    on_send(first, player, [&](Result<void> done) { sent += done ? 1 : 0; }),
                    on_receive(second,
                               [&](Result<int> item) {
                                   require(item.value_or(player) != player, "a select met itself");
                                   ++received;
                               }),
                    on_timeout(up_to_us(100), [] {}));
                require(chosen.has_value(), "a select failed");
            }
        });
    }
    crew.join();
    require(sent == received, "a meeting had one side only");
}

}  // namespace weft::sim::scenarios
