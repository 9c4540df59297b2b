// What the memory model of the checker allows and forbids: the litmus tests of the literature.
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>

#include "weft/base/atomic.h"
#include "weft/testing/model.h"

namespace weft {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kRelease = std::memory_order_release;
constexpr auto kAcqRel = std::memory_order_acq_rel;
constexpr auto kSeqCst = std::memory_order_seq_cst;

// Every outcome that a body, which returns it as text, can have.
template <class Body>
std::set<std::string> outcomes(Body body) {
    std::set<std::string> found;
    model::Result result = model::check([&] { found.insert(body()); });
    EXPECT_TRUE(result.ok()) << result.trace();
    return found;
}

std::string text(int a, int b) { return std::to_string(a) + std::to_string(b); }

// Two threads each write their own flag and read the other's.
std::set<std::string> store_buffering(std::memory_order store, std::memory_order load) {
    return outcomes([=] {
        Atomic<int> x{0};
        Atomic<int> y{0};
        int a = -1;
        int b = -1;
        model::thread([&] {
            x.store(1, store);
            a = y.load(load);
        });
        model::thread([&] {
            y.store(1, store);
            b = x.load(load);
        });
        model::join_all();
        return text(a, b);
    });
}

TEST(StoreBuffering, both_threads_may_miss_each_other_unless_all_is_seq_cst) {
    std::set<std::string> everything = {"00", "01", "10", "11"};
    EXPECT_EQ(store_buffering(kRelaxed, kRelaxed), everything);
    EXPECT_EQ(store_buffering(kRelease, kAcquire), everything);
    EXPECT_EQ(store_buffering(kSeqCst, kAcquire), everything);
    EXPECT_EQ(store_buffering(kRelease, kSeqCst), everything);
    EXPECT_EQ(store_buffering(kSeqCst, kSeqCst), (std::set<std::string>{"01", "10", "11"}));
}

TEST(StoreBuffering, read_modify_writes_as_weak_as_acq_rel_may_miss_each_other) {
    auto exchanging = [](std::memory_order order, std::memory_order load) {
        return outcomes([=] {
            Atomic<int> x{0};
            Atomic<int> y{0};
            int a = -1;
            int b = -1;
            model::thread([&] {
                x.exchange(1, order);
                a = y.load(load);
            });
            model::thread([&] {
                y.exchange(1, order);
                b = x.load(load);
            });
            model::join_all();
            return text(a, b);
        });
    };
    EXPECT_TRUE(exchanging(kAcqRel, kAcquire).contains("00"));
    EXPECT_FALSE(exchanging(kSeqCst, kSeqCst).contains("00"));
}

std::set<std::string> message_passing(std::memory_order store, std::memory_order load) {
    return outcomes([=] {
        Atomic<int> payload{0};
        Atomic<int> flag{0};
        int seen_flag = -1;
        int seen_payload = -1;
        model::thread([&] {
            payload.store(1, kRelaxed);
            flag.store(1, store);
        });
        model::thread([&] {
            seen_flag = flag.load(load);
            seen_payload = payload.load(kRelaxed);
        });
        model::join_all();
        return text(seen_flag, seen_payload);
    });
}

TEST(MessagePassing, the_payload_may_be_missed_without_release_or_without_acquire) {
    EXPECT_TRUE(message_passing(kRelaxed, kRelaxed).contains("10"));
    EXPECT_TRUE(message_passing(kRelease, kRelaxed).contains("10"));
    EXPECT_TRUE(message_passing(kRelaxed, kAcquire).contains("10"));
    EXPECT_EQ(message_passing(kRelease, kAcquire), (std::set<std::string>{"00", "01", "11"}));
}

TEST(MessagePassing, a_relaxed_read_modify_write_continues_the_release_sequence) {
    auto relay = [](bool by_update) {
        return outcomes([=] {
            Atomic<int> payload{0};
            Atomic<int> flag{0};
            int seen_flag = -1;
            int seen_payload = -1;
            model::thread([&] {
                payload.store(1, kRelaxed);
                flag.store(1, kRelease);
            });
            model::thread([&] {
                if (by_update) {
                    flag.fetch_add(1, kRelaxed);
                } else {
                    flag.store(2, kRelaxed);
                }
            });
            model::thread([&] {
                seen_flag = flag.load(kAcquire);
                seen_payload = payload.load(kRelaxed);
            });
            model::join_all();
            return text(seen_flag, seen_payload);
        });
    };
    EXPECT_FALSE(relay(true).contains("20"));
    EXPECT_TRUE(relay(false).contains("20"));
}

// Two writers, two readers: may the readers disagree about the order of the writes?
std::set<std::string> independent_reads(std::memory_order store, std::memory_order load) {
    return outcomes([=] {
        Atomic<int> x{0};
        Atomic<int> y{0};
        std::array<int, 4> read{};
        model::thread([&] { x.store(1, store); });
        model::thread([&] { y.store(1, store); });
        model::thread([&] {
            read[0] = x.load(load);
            read[1] = y.load(load);
        });
        model::thread([&] {
            read[2] = y.load(load);
            read[3] = x.load(load);
        });
        model::join_all();
        return text(read[0], read[1]) + text(read[2], read[3]);
    });
}

TEST(IndependentReads, readers_may_disagree_unless_all_is_seq_cst) {
    EXPECT_TRUE(independent_reads(kRelease, kAcquire).contains("1010"));
    EXPECT_FALSE(independent_reads(kSeqCst, kSeqCst).contains("1010"));
}

TEST(Coherence, no_thread_sees_one_atomic_go_back) {
    std::set<std::string> found = outcomes([] {
        Atomic<int> x{0};
        int a = -1;
        int b = -1;
        model::thread([&] {
            x.store(1, kRelaxed);
            x.store(2, kRelaxed);
        });
        model::thread([&] {
            a = x.load(kRelaxed);
            b = x.load(kRelaxed);
        });
        model::join_all();
        return text(a, b);
    });
    EXPECT_EQ(found, (std::set<std::string>{"00", "01", "02", "11", "12", "22"}));
}

TEST(WeakCompareExchange, it_may_fail_on_the_expected_value) {
    auto body = [] {
        Atomic<int> x{0};
        int expected = 0;
        bool done = x.compare_exchange_weak(expected, 1, kRelaxed, kRelaxed);
        model::require(done, "not interrupted, so it succeeds");
    };
    EXPECT_TRUE(model::check(body).failed());
    EXPECT_TRUE(model::check(model::Options{.spurious_failures = 0}, body).ok());
}

TEST(CompareExchange, a_failure_may_read_an_old_value) {
    std::set<std::string> found = outcomes([] {
        Atomic<int> x{0};
        int expected = 2;
        bool done = false;
        model::thread([&] {
            x.store(1, kRelaxed);
            x.store(2, kRelaxed);
        });
        model::thread([&] { done = x.compare_exchange_strong(expected, 3, kRelaxed, kRelaxed); });
        model::join_all();
        return text(done, expected);
    });
    EXPECT_EQ(found, (std::set<std::string>{"00", "01", "12"}));
}

}  // namespace
}  // namespace weft
