#include "tests/sim/floor/channels.h"

#include <array>
#include <memory>

#include "tests/sim/floor/crew.h"
#include "tests/sim/floor/traffic.h"
#include "weft/fiber/cancel.h"
#include "weft/sync/channel.h"
#include "weft/sync/wait_group.h"

namespace weft::sim::scenarios {
namespace {

using namespace std::chrono_literals;

Result<void> send_somehow(Channel<Item>& channel, Item& item) {
    switch (random_below(5)) {
    case 0: return channel.send_for(std::move(item), up_to_us(20));
    case 1: return channel.try_send(std::move(item));
    case 2: {
        CancelSource source = CancelSource::detached(Deadline::after(up_to_us(20)));
        return channel.send(std::move(item), source.token());
    }
    default: return channel.send(std::move(item));
    }
}

Result<Item> receive_somehow(Channel<Item>& channel) {
    switch (random_below(5)) {
    case 0: return channel.receive_for(up_to_us(20));
    case 1: return channel.try_receive();
    case 2: {
        CancelSource source = CancelSource::detached(Deadline::after(up_to_us(20)));
        return channel.receive(source.token());
    }
    default: return channel.receive();
    }
}

// What a wait that was cut short may say; the others are bugs.
void require_patience(const Error& error) {
    require(error.kind() == ErrorKind::TimedOut || error.kind() == ErrorKind::Unavailable,
            "a channel gave an odd error");
}

// Sends its items; those that time out once are tried again or kept. Ends when it is closed.
void send_all(Channel<Item>& channel, Ledger& ledger, int sender, int items) {
    for (int number = 0; number < items; ++number) {
        Item item(sender, number);
        for (;;) {
            Result<void> sent = send_somehow(channel, item);
            if (sent) {
                ledger.sent(sender, number, item);
                break;
            }
            ledger.kept(sender, number, item);
            if (is_error(sent, ErrorKind::Closed)) return;
            require_patience(sent.error());
            if (random_below(4) == 0) break;
            // A try is no wait: let the others run.
            static_cast<void>(sleep_for(1us));
        }
    }
}

void receive_all(Channel<Item>& channel, Ledger& ledger, int senders) {
    Order order(senders);
    for (;;) {
        Result<Item> item = receive_somehow(channel);
        if (item) {
            ledger.received(*item);
            order.next(*item);
            continue;
        }
        if (is_error(item, ErrorKind::Closed)) return;
        require_patience(item.error());
        static_cast<void>(sleep_for(1us));
    }
}

}  // namespace

// Several senders and receivers with all kinds of patience, closed when all is sent.
void channel_traffic() {
    Runtime runtime({.workers = some_workers()});
    int senders = between(1, 3);
    int items = between(1, 5);
    Ledger ledger(senders, items);
    std::unique_ptr<Channel<Item>> channel = some_channel();
    WaitGroup sending(static_cast<std::uint64_t>(senders));
    Crew crew(runtime);
    for (int sender = 0; sender < senders; ++sender) {
        crew.add([&, sender] {
            send_all(*channel, ledger, sender, items);
            sending.done();
        });
    }
    for (int i = between(1, 3); i > 0; --i)
        crew.add([&] { receive_all(*channel, ledger, senders); });
    crew.add([&] {
        require(sending.wait().has_value(), "the closer was cancelled");
        channel->close();
    });
    crew.join();
    require(channel->is_empty(), "an item was left behind by receivers that saw the end");
    ledger.check();
}

// Closed in the middle: what is stored is still received, whatever was not taken stays.
void channel_close() {
    Runtime runtime({.workers = some_workers()});
    int senders = between(1, 3);
    int items = between(1, 4);
    Ledger ledger(senders, items);
    std::unique_ptr<Channel<Item>> channel = some_channel();
    Crew crew(runtime);
    for (int sender = 0; sender < senders; ++sender)
        crew.add([&, sender] { send_all(*channel, ledger, sender, items); });
    for (int i = between(0, 3); i > 0; --i)
        crew.add([&] { receive_all(*channel, ledger, senders); });
    for (int i = between(1, 2); i > 0; --i) {
        crew.add([&] {
            static_cast<void>(sleep_for(up_to_us(20)));
            channel->close();
            Item late(0, 0);
            require(is_error(channel->send(std::move(late)), ErrorKind::Closed),
                    "a closed channel took an item");
            require(!late.is_nothing(), "a closed channel took an item along");
        });
    }
    crew.join();
    Order order(senders);
    for (Result<Item> item : *channel) {
        ledger.received(*item);
        order.next(*item);
    }
    ledger.check();
}

// The same at one exact step: every state that a channel can be closed in.
void close_anywhere() {
    Runtime runtime({.workers = some_workers()});
    constexpr int kItems = 2;
    Ledger ledger(2, kItems);
    std::unique_ptr<Channel<Item>> channel = some_channel();
    Crew crew(runtime);
    crew.add_thread([&] {
        await_interrupt();
        channel->close();
    });
    for (int sender = 0; sender < 2; ++sender) {
        crew.add([&, sender] {
            for (int number = 0; number < kItems; ++number) {
                Item item(sender, number);
                if (!channel->send(std::move(item))) return ledger.kept(sender, number, item);
                ledger.sent(sender, number, item);
            }
        });
    }
    crew.add([&] {
        for (Result<Item> item : *channel) ledger.received(*item);
    });
    crew.join();
    for (Result<Item> item : *channel) ledger.received(*item);
    ledger.check();
}

// Stages with a channel between each two; the last one must see everything in order.
void channel_pipeline() {
    Runtime runtime({.workers = some_workers()});
    int count = between(1, 12);
    std::array<std::unique_ptr<Channel<Item>>, 3> channels;
    for (auto& channel : channels) channel = some_channel();
    Crew crew(runtime);
    crew.add([&] {
        for (int i = 0; i < count; ++i)
            require(channels[0]->send(Item(0, i)).has_value(), "a send failed");
        channels[0]->close();
    });
    for (std::size_t stage = 0; stage + 1 < channels.size(); ++stage) {
        crew.add([&, stage] {
            for (Result<Item> item : *channels[stage])
                require(channels[stage + 1]->send(std::move(*item)).has_value(), "a send failed");
            channels[stage + 1]->close();
        });
    }
    int next = 0;
    crew.add([&] {
        for (Result<Item> item : *channels.back()) {
            require(item->number() == next, "the pipeline lost or reordered an item");
            ++next;
        }
    });
    crew.join();
    require(next == count, "the pipeline ended early");
}

// One waits for the other all the time: the direct hand-over, and the sleep of idle workers.
void ping_pong() {
    Runtime runtime({.workers = some_workers()});
    Channel<int> there(random_below(2));
    Channel<int> back(random_below(2));
    int rounds = between(1, 10);
    Crew crew(runtime);
    crew.add([&] {
        for (int i = 0; i < rounds; ++i) {
            require(there.send(i).has_value(), "a send failed");
            require(back.receive().value_or(-1) == i, "another answer came back");
        }
        there.close();
    });
    crew.add([&] {
        for (Result<int> ball : there) require(back.send(*ball).has_value(), "an answer failed");
    });
}

}  // namespace weft::sim::scenarios
