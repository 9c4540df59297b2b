// Many senders and receivers at once, fibers and threads, with everything that can end a wait.
// An item whose send succeeded must be received exactly once, any other item never.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "weft/fiber/cancel.h"
#include "weft/fiber/fiber.h"
#include "weft/sync/channel.h"
#include "weft/sync/internal/sync_test.h"
#include "weft/sync/select.h"
#include "weft/sync/wait_group.h"

namespace weft {
namespace {

using sync_test::kTooLong;
using sync_test::on_workers;
using namespace std::chrono_literals;

// How often each item was sent and received.
class Ledger {
public:
    explicit Ledger(std::size_t items)
        : count_(items),
          sent_(std::make_unique<Atomic<int>[]>(items)),
          received_(std::make_unique<Atomic<int>[]>(items)) {}

    void sent(std::size_t item) { sent_[item].fetch_add(1, std::memory_order_relaxed); }
    void received(std::size_t item) { received_[item].fetch_add(1, std::memory_order_relaxed); }

    void expect_balanced() const {
        std::size_t sent = 0;
        for (std::size_t i = 0; i < count_; ++i) {
            int in = sent_[i].load(std::memory_order_relaxed);
            ASSERT_EQ(in, received_[i].load(std::memory_order_relaxed)) << "item " << i;
            sent += static_cast<std::size_t>(in);
        }
        EXPECT_GT(sent, 0U);
    }

private:
    std::size_t count_;
    std::unique_ptr<Atomic<int>[]> sent_;
    std::unique_ptr<Atomic<int>[]> received_;
};

// A small generator of our own, so that a failure can be repeated with its seed.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15U + 1) {}
    std::uint64_t below(std::uint64_t limit) {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return (state_ >> 11) % limit;
    }

private:
    std::uint64_t state_;
};

struct Party {
    std::size_t senders = 4;
    std::size_t receivers = 4;
    std::size_t items = 2000;  // of each sender
};

// Half of the senders and receivers are fibers, half are threads.
template <class Send, class Receive>
void meet(Channel<std::size_t>& channel, const Party& party, Send send, Receive receive) {
    Runtime runtime(RuntimeOptions{.workers = 2});
    std::vector<std::thread> threads;
    std::vector<Future<void>> fibers;
    WaitGroup senders(party.senders), receivers(party.receivers);
    auto start = [&](std::size_t index, auto body) {
        if (index % 2 == 0) {
            fibers.push_back(runtime.spawn(body));
        } else {
            threads.emplace_back(body);
        }
    };
    for (std::size_t i = 0; i < party.receivers; ++i) {
        start(i, [&, i] {
            receive(i);
            receivers.done();
        });
    }
    for (std::size_t i = 0; i < party.senders; ++i) {
        start(i, [&, i] {
            for (std::size_t item = 0; item < party.items; ++item) send(i * party.items + item);
            senders.done();
        });
    }
    EXPECT_TRUE(senders.wait_for(kTooLong));
    channel.close();
    EXPECT_TRUE(receivers.wait_for(kTooLong));
    for (auto& thread : threads) thread.join();
    for (auto& fiber : fibers) EXPECT_TRUE(fiber.join());
}

class ChannelStress : public testing::TestWithParam<std::size_t> {
protected:
    std::unique_ptr<Channel<std::size_t>> make_channel() {
        return std::make_unique<Channel<std::size_t>>(GetParam());
    }
};
INSTANTIATE_TEST_SUITE_P(Capacities, ChannelStress, testing::Values(0, 1, 3, 64));

TEST_P(ChannelStress, SYN_1_every_item_arrives_once) {
    auto channel = make_channel();
    Party party;
    Ledger ledger(party.senders * party.items);
    meet(
        *channel, party,
        [&](std::size_t item) {
            ASSERT_TRUE(channel->send(item));
            ledger.sent(item);
        },
        [&](std::size_t) {
            for (Result<std::size_t> item : *channel) ledger.received(item.value());
        });
    ledger.expect_balanced();
}

TEST_P(ChannelStress, SYN_1_no_item_is_lost_or_doubled_when_waits_time_out) {
    auto channel = make_channel();
    Party party;
    Ledger ledger(party.senders * party.items);
    meet(
        *channel, party,
        [&](std::size_t item) {
            if (channel->send_for(item, std::chrono::nanoseconds(item % 2000))) ledger.sent(item);
        },
        [&](std::size_t index) {
            Random random(index);
            for (;;) {
                auto item = channel->receive_for(std::chrono::nanoseconds(random.below(2000)));
                if (item) {
                    ledger.received(*item);
                } else if (item.error().kind() == ErrorKind::Closed) {
                    return;
                }
            }
        });
    ledger.expect_balanced();
}

TEST_P(ChannelStress, SYN_1_no_item_is_lost_or_doubled_when_waits_are_cancelled) {
    auto channel = make_channel();
    Party party{.senders = 3, .receivers = 3, .items = 1000};
    Ledger ledger(party.senders * party.items);
    // A thread cancels these tokens again and again while others wait with them.
    struct Slot {
        SpinLock lock;
        CancelSource source = CancelSource::detached();
        CancelToken token() {
            SpinGuard guard(lock);
            return source.token();
        }
        void cancel() {
            CancelSource old = CancelSource::detached();
            {
                SpinGuard guard(lock);
                std::swap(old, source);
            }
            old.cancel();
        }
    };
    Slot slots[4];
    Atomic<bool> over{false};
    std::thread canceller([&] {
        for (std::size_t i = 0; !over.load(std::memory_order_acquire); ++i) {
            slots[i % 4].cancel();
            env::spin_pause(static_cast<unsigned>(i % 20));
        }
    });
    meet(
        *channel, party,
        [&](std::size_t item) {
            if (channel->send(item, slots[item % 4].token())) ledger.sent(item);
        },
        [&](std::size_t index) {
            for (;;) {
                auto item = channel->receive(slots[index % 4].token());
                if (item) {
                    ledger.received(*item);
                } else if (item.error().kind() == ErrorKind::Closed) {
                    return;
                }
            }
        });
    over.store(true, std::memory_order_release);
    canceller.join();
    ledger.expect_balanced();
}

TEST_P(ChannelStress, SYN_1_no_item_is_lost_or_doubled_when_it_is_closed_in_the_middle) {
    for (int round = 0; round < 50; ++round) {
        auto channel = make_channel();
        Party party{.senders = 3, .receivers = 2, .items = 30};
        Ledger ledger(party.senders * party.items);
        meet(
            *channel, party,
            [&](std::size_t item) {
                if (channel->send(item)) ledger.sent(item);
                if (item == 40) channel->close();
            },
            [&](std::size_t) {
                for (Result<std::size_t> item : *channel) ledger.received(item.value());
            });
        ledger.expect_balanced();
    }
}

TEST_P(ChannelStress, SYN_2_no_item_is_lost_or_doubled_by_select) {
    auto first = make_channel();
    auto second = make_channel();
    Party party;
    Ledger ledger(party.senders * party.items);
    auto send = [&](std::size_t item) {
        auto sent = [&](Result<void> outcome) {
            if (outcome) ledger.sent(item);
        };
        ASSERT_TRUE(select(on_send(*first, item, sent), on_send(*second, item, sent),
                           on_timeout(std::chrono::nanoseconds(1000 + item % 5000), [] {})));
    };
    auto receive = [&](std::size_t index) {
        Channel<std::size_t>* a = first.get();
        Channel<std::size_t>* b = second.get();
        Random random(index);
        auto received = [&](Channel<std::size_t>*& from) {
            return [&](Result<std::size_t> item) {
                if (item) {
                    ledger.received(*item);
                } else {
                    from = nullptr;
                }
            };
        };
        while (a || b) {
            ASSERT_TRUE(select(on_receive(a, received(a)), on_receive(b, received(b)),
                               on_timeout(std::chrono::nanoseconds(random.below(5000)), [] {})));
        }
    };
    // meet() closes the first channel, so the second one is closed by the first to notice.
    meet(*first, party, send, [&](std::size_t index) {
        std::thread closer([&] {
            while (!first->is_closed()) env::spin_pause(100);
            second->close();
        });
        receive(index);
        closer.join();
    });
    ledger.expect_balanced();
}

TEST(ChannelPipeline, SYN_1_two_thousand_fibers_pass_items_along) {
    constexpr int stages = 1999;
    constexpr int items = 5;
    on_workers(2, [&] {
        std::vector<std::unique_ptr<Channel<int>>> channels;
        for (int i = 0; i <= stages; ++i) channels.push_back(std::make_unique<Channel<int>>(i % 2));
        std::vector<Future<void>> fibers;
        for (int i = 0; i < stages; ++i) {
            fibers.push_back(spawn([in = channels[i].get(), out = channels[i + 1].get()] {
                for (Result<int> item : *in) EXPECT_TRUE(out->send(item.value() + 1));
                out->close();
            }));
        }
        auto sender = spawn([&] {
            for (int i = 0; i < items; ++i) EXPECT_TRUE(channels.front()->send(i * 10));
            channels.front()->close();
        });
        int next = 0;
        for (Result<int> item : *channels.back()) EXPECT_EQ(item, stages + 10 * next++);
        EXPECT_EQ(next, items);
        EXPECT_TRUE(sender.join());
        for (auto& fiber : fibers) EXPECT_TRUE(fiber.join());
    });
}

}  // namespace
}  // namespace weft
