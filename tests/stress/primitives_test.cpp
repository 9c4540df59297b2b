// All primitives at once, by fibers of two runtimes and plain threads, with waits that time out or
// are cancelled at random: nothing is lost, nothing comes twice, and everybody gets on.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <random>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/fiber/cancel.h"
#include "weft/fiber/runtime.h"
#include "weft/sync/channel.h"
#include "weft/sync/condition.h"
#include "weft/sync/mutex.h"
#include "weft/sync/select.h"
#include "weft/sync/semaphore.h"
#include "weft/sync/shared_mutex.h"
#include "weft/testing/scale.h"

namespace weft::stress {
namespace {

using std::chrono::microseconds;

// Relaxed, everywhere: sums, read when everybody has been joined.
constexpr auto kRelaxed = std::memory_order_relaxed;

class Dice {
public:
    Dice(std::uint64_t seed, std::size_t player) : engine_(seed * 1'000'003 + player) {}
    std::uint32_t below(std::uint32_t bound) {
        return static_cast<std::uint32_t>(engine_() % bound);
    }

private:
    std::mt19937_64 engine_;
};

constexpr std::size_t kFibers = 40;
constexpr std::size_t kThreads = 4;
constexpr std::size_t kPlayers = kFibers + kThreads;

class Primitives : public ::testing::Test {
protected:
    // Every player once, a number each; returns when all have ended.
    template <class Play>
    void play(Play play) {
        std::vector<Future<void>> fibers;
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < kFibers; ++i)
            fibers.push_back((i % 2 ? first_ : second_).spawn([&play, i] { play(i); }));
        for (std::size_t i = kFibers; i < kPlayers; ++i)
            threads.emplace_back([&play, i] { play(i); });
        for (std::thread& thread : threads) thread.join();
        for (Future<void>& fiber : fibers) EXPECT_TRUE(fiber.join());
    }
    static std::size_t rounds() {
        return weft::testing::repeats(weft::testing::is_long() ? 2'000 : 20);
    }
    // Of operations of each player in a round.
    static constexpr std::uint32_t kOperations = 150;

    Runtime first_{RuntimeOptions{.workers = 2}};
    Runtime second_{RuntimeOptions{.workers = 2}};
};

// One attempt to send, in one of the ways there are. A value that was not taken is still there.
bool send_somehow(Channel<std::unique_ptr<std::uint64_t>>& channel,
                  std::unique_ptr<std::uint64_t>& value, Dice& dice) {
    switch (dice.below(4)) {
    case 0: return channel.send(std::move(value)).has_value();
    case 1: return channel.send_for(std::move(value), microseconds(dice.below(300))).has_value();
    case 2: return channel.try_send(std::move(value)).has_value();
    default: {
        CancelSource source =
            CancelSource::with_deadline(Deadline::after(microseconds(dice.below(300))));
        CancelScope scope(source.token());
        return channel.send(std::move(value)).has_value();
    }
    }
}

TEST_F(Primitives, SYN_1_a_channel_loses_nothing_and_gives_nothing_twice) {
    for (std::size_t round = 0; round < rounds(); ++round) {
        Dice shape(round, kPlayers);
        Channel<std::unique_ptr<std::uint64_t>> channel(shape.below(8));
        Atomic<std::uint64_t> sent{0};
        Atomic<std::uint64_t> received{0};
        Atomic<std::size_t> senders{kPlayers / 2};
        play([&](std::size_t player) {
            Dice dice(round, player);
            if (player % 2 == 0) {
                for (std::uint64_t i = 1; i <= kOperations; ++i) {
                    auto value = std::make_unique<std::uint64_t>(player * 1'000 + i);
                    std::uint64_t number = *value;
                    while (!send_somehow(channel, value, dice)) ASSERT_TRUE(value);
                    sent.fetch_add(number, kRelaxed);
                }
                if (senders.fetch_sub(1, std::memory_order_acq_rel) == 1) channel.close();
                return;
            }
            for (;;) {
                Result<std::unique_ptr<std::uint64_t>> value =
                    dice.below(2) ? channel.receive()
                                  : channel.receive_for(microseconds(dice.below(300)));
                if (value) {
                    received.fetch_add(**value, kRelaxed);
                } else if (value.error().kind() == ErrorKind::Closed) {
                    return;
                }
            }
        });
        ASSERT_EQ(sent.load(kRelaxed), received.load(kRelaxed)) << "round " << round;
    }
}

TEST_F(Primitives, SYN_3_locks_exclude_and_permits_are_never_too_many) {
    for (std::size_t round = 0; round < rounds(); ++round) {
        Mutex mutex;
        SharedMutex shared;
        Semaphore semaphore(3);
        std::uint64_t guarded = 0;  // by the mutex
        std::uint64_t watched = 0;  // by the shared one
        Atomic<std::uint64_t> wanted{0};
        Atomic<std::uint64_t> written{0};
        Atomic<int> inside{0};
        play([&](std::size_t player) {
            Dice dice(round, player);
            for (std::uint32_t i = 0; i < kOperations; ++i) {
                switch (dice.below(5)) {
                case 0: {
                    std::lock_guard lock(mutex);
                    ++guarded;
                    wanted.fetch_add(1, kRelaxed);
                    break;
                }
                case 1:
                    if (mutex.lock_cancellable(Deadline::after(microseconds(dice.below(200))))) {
                        ++guarded;
                        wanted.fetch_add(1, kRelaxed);
                        mutex.unlock();
                    }
                    break;
                case 2: {
                    std::unique_lock lock(shared);
                    ++watched;
                    written.fetch_add(1, kRelaxed);
                    break;
                }
                case 3: {
                    std::shared_lock lock(shared);
                    std::uint64_t seen = watched;
                    if (dice.below(4) == 0 && current()) yield();
                    EXPECT_EQ(seen, watched);
                    break;
                }
                default:
                    if (!semaphore.acquire_for(microseconds(dice.below(500)))) break;
                    EXPECT_LT(inside.fetch_add(1, kRelaxed), 3);
                    if (dice.below(4) == 0 && current()) yield();
                    inside.fetch_sub(1, kRelaxed);
                    semaphore.release();
                }
            }
        });
        ASSERT_EQ(guarded, wanted.load(kRelaxed)) << "round " << round;
        ASSERT_EQ(watched, written.load(kRelaxed)) << "round " << round;
        ASSERT_EQ(semaphore.available(), 3U);
    }
}

// Two conditions of one mutex, a bounded buffer in small.
TEST_F(Primitives, SYN_3_conditions_wake_whom_they_should) {
    for (std::size_t round = 0; round < rounds(); ++round) {
        Mutex mutex;
        Condition filled;
        Condition emptied;
        std::size_t items = 0;
        std::size_t taken = 0;
        constexpr std::size_t kItems = kPlayers / 2 * kOperations;
        play([&](std::size_t player) {
            for (std::uint32_t i = 0; i < kOperations; ++i) {
                std::unique_lock lock(mutex);
                if (player % 2 == 0) {
                    while (items == 4) EXPECT_TRUE(emptied.wait(lock));
                    ++items;
                    filled.notify_one();
                } else {
                    while (items == 0) EXPECT_TRUE(filled.wait(lock));
                    --items;
                    ++taken;
                    emptied.notify_one();
                }
            }
        });
        ASSERT_EQ(taken, kItems);
        ASSERT_EQ(items, 0U);
    }
}

TEST_F(Primitives, SYN_2e_a_select_takes_one_of_several_and_only_that) {
    for (std::size_t round = 0; round < rounds(); ++round) {
        Dice shape(round, kPlayers);
        Channel<std::uint64_t> left(shape.below(3));
        Channel<std::uint64_t> right(shape.below(3));
        Atomic<std::uint64_t> sent{0};
        Atomic<std::uint64_t> received{0};
        Atomic<std::size_t> senders{kPlayers / 2};
        play([&](std::size_t player) {
            Dice dice(round, player);
            if (player % 2 == 0) {
                for (std::uint64_t i = 1; i <= kOperations; ++i) {
                    std::uint64_t value = player * 1'000 + i;
                    bool done = false;
                    auto note = [&](Result<void> outcome) { done = outcome.has_value(); };
                    while (!done) {
                        EXPECT_TRUE(select(on_send(left, value, note), on_send(right, value, note),
                                           on_timeout(microseconds(dice.below(500)), [] {})));
                    }
                    sent.fetch_add(value, kRelaxed);
                }
                if (senders.fetch_sub(1, std::memory_order_acq_rel) == 1) {
                    left.close();
                    right.close();
                }
                return;
            }
            bool is_over = false;
            auto take = [&](Result<std::uint64_t> value) {
                if (value) {
                    received.fetch_add(*value, kRelaxed);
                } else {
                    is_over = true;
                }
            };
            // One of the two is closed: the other may still have something.
            while (!is_over) EXPECT_TRUE(select(on_receive(left, take), on_receive(right, take)));
            for (Channel<std::uint64_t>* channel : {&left, &right}) {
                while (Result<std::uint64_t> value = channel->receive())
                    received.fetch_add(*value, kRelaxed);
            }
        });
        ASSERT_EQ(sent.load(kRelaxed), received.load(kRelaxed)) << "round " << round;
    }
}

}  // namespace
}  // namespace weft::stress
