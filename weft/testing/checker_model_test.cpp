// Tests of the checker: it finds what is broken, accepts what is right, and shows the execution.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

#include "weft/base/assert.h"
#include "weft/base/atomic.h"
#include "weft/base/spin_lock.h"
#include "weft/testing/model.h"

namespace weft {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kRelease = std::memory_order_release;
constexpr auto kAcqRel = std::memory_order_acq_rel;
constexpr auto kSeqCst = std::memory_order_seq_cst;

using testing::HasSubstr;

model::Result count_to_three(bool atomically) {
    return model::check([=] {
        Atomic<int> count{0};
        for (int i = 0; i < 3; ++i) {
            model::thread([&] {
                if (atomically) {
                    count.fetch_add(1, kRelaxed);
                } else {
                    count.store(count.load(kSeqCst) + 1, kSeqCst);
                }
            });
        }
        model::join_all();
        model::require(count.load(kRelaxed) == 3, "no addition is lost");
    });
}

TEST(LostUpdate, a_load_and_a_store_lose_updates_and_fetch_add_does_not) {
    EXPECT_THAT(count_to_three(false).failure(), HasSubstr("no addition is lost"));
    EXPECT_TRUE(count_to_three(true).ok());
}

model::Result two_locks(bool same_order) {
    return model::check([=] {
        SpinLock a;
        SpinLock b;
        model::thread([&] {
            a.lock();
            b.lock();
            b.unlock();
            a.unlock();
        });
        model::thread([&] {
            (same_order ? a : b).lock();
            (same_order ? b : a).lock();
            a.unlock();
            b.unlock();
        });
        model::join_all();
    });
}

TEST(Deadlock, locks_taken_in_opposite_order_deadlock) {
    model::Result result = two_locks(false);
    EXPECT_THAT(result.failure(), HasSubstr("deadlock"));
    EXPECT_THAT(result.trace(), HasSubstr("T1 is at spin"));
    EXPECT_THAT(result.trace(), HasSubstr("T2 is at spin"));
    EXPECT_TRUE(two_locks(true).ok());
}

// A stack of nodes that are taken and put back. With a version beside the index it is right.
template <bool HasVersion>
class Stack {
public:
    Stack() {
        for (int i = 0; i < 3; ++i) push(i);
    }
    void push(int node) {
        std::uint64_t head = head_.load(kAcquire);
        do {
            next_[static_cast<std::size_t>(node)].store(node_of(head), kRelaxed);
        } while (!head_.compare_exchange_strong(head, made_of(node, head), kAcqRel, kAcquire));
    }
    int pop() {
        std::uint64_t head = head_.load(kAcquire);
        for (;;) {
            int node = node_of(head);
            if (node == kNone) return kNone;
            int next = next_[static_cast<std::size_t>(node)].load(kRelaxed);
            if (head_.compare_exchange_strong(head, made_of(next, head), kAcqRel, kAcquire)) {
                return node;
            }
        }
    }

    static constexpr int kNone = 7;

private:
    static int node_of(std::uint64_t head) { return static_cast<int>(head & 7); }
    static std::uint64_t made_of(int node, std::uint64_t before) {
        std::uint64_t version = HasVersion ? (before >> 3) + 1 : 0;
        return version << 3 | static_cast<std::uint64_t>(node);
    }

    Atomic<std::uint64_t> head_{kNone};
    std::array<Atomic<int>, 3> next_{Atomic<int>(kNone), Atomic<int>(kNone), Atomic<int>(kNone)};
};

template <bool HasVersion>
model::Result pop_and_put_back() {
    return model::check([] {
        Stack<HasVersion> stack;
        std::array<model::Plain<int>, 3> owned;
        auto use = [&](int node) {
            if (node != stack.kNone) owned[static_cast<std::size_t>(node)].set(1);
        };
        model::thread([&] { use(stack.pop()); });
        model::thread([&] {
            int first = stack.pop();
            int second = stack.pop();
            use(second);
            if (first != stack.kNone) stack.push(first);
        });
        model::join_all();
        int left = 0;
        for (int node = stack.pop(); node != stack.kNone; node = stack.pop()) left++;
        model::require(left == 1, "one of three is left");
    });
}

TEST(Aba, a_head_without_version_is_mistaken_for_its_predecessor) {
    EXPECT_TRUE(pop_and_put_back<false>().failed());
    model::Result result = pop_and_put_back<true>();
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(DataRace, plain_memory_written_without_order_is_a_race_in_every_execution) {
    model::Result result = model::check([] {
        model::Plain<int> value;
        model::thread([&] { value.set(1); });
        model::thread([&] { value.set(1); });
        model::join_all();
    });
    EXPECT_EQ(result.executions(), 1u);
    EXPECT_THAT(result.failure(), HasSubstr("data race"));
}

TEST(DataRace, a_read_beside_a_write_is_one_and_two_reads_are_none) {
    auto check = [](bool writes) {
        return model::check([=] {
            model::Plain<int> value(3);
            model::thread([&] { static_cast<void>(value.get()); });
            model::thread([&] { writes ? value.set(1) : static_cast<void>(value.get()); });
            model::join_all();
        });
    };
    EXPECT_THAT(check(true).failure(), HasSubstr("data race"));
    EXPECT_TRUE(check(false).ok());
}

TEST(DataRace, what_a_thread_does_after_its_release_is_not_published) {
    model::Result result = model::check([] {
        Atomic<int> flag{0};
        model::Plain<int> payload;
        model::thread([&] {
            flag.store(1, kRelease);
            payload.set(1);
        });
        model::thread([&] {
            if (flag.load(kAcquire) == 1) payload.set(2);
        });
        model::join_all();
    });
    EXPECT_THAT(result.failure(), HasSubstr("data race"));
}

TEST(DataRace, a_lock_orders_plain_memory) {
    model::Result result = model::check([] {
        SpinLock lock;
        model::Plain<int> value;
        for (int i = 0; i < 3; ++i) {
            model::thread([&] {
                lock.lock();
                value.set(value.get() + 1);
                lock.unlock();
            });
        }
        model::join_all();
        model::require(value.get() == 3, "all have counted");
    });
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(Lifetime, an_atomic_that_ends_while_another_thread_uses_it_is_found) {
    auto check = [](std::memory_order drop) {
        return model::check([=] {
            struct Shared {
                Atomic<int> references{2};
            };
            // Destroyed in place: the memory stays good, so that only the checker can complain.
            alignas(Shared) std::array<std::byte, sizeof(Shared)> memory;
            auto* shared = ::new (memory.data()) Shared;
            auto release = [&] {
                if (shared->references.fetch_sub(1, drop) == 1) shared->~Shared();
            };
            model::thread(release);
            model::thread(release);
            model::join_all();
        });
    };
    EXPECT_THAT(check(kRelaxed).failure(), HasSubstr("ends while another thread"));
    EXPECT_TRUE(check(kAcqRel).ok());
}

TEST(Lifetime, an_atomic_published_without_release_is_found) {
    auto check = [](std::memory_order publish) {
        return model::check([=] {
            Atomic<Atomic<int>*> published{nullptr};
            std::unique_ptr<Atomic<int>> made;
            model::thread([&] {
                made = std::make_unique<Atomic<int>>(1);
                published.store(made.get(), publish);
            });
            model::thread([&] {
                if (Atomic<int>* found = published.load(kAcquire)) found->load(kRelaxed);
            });
            model::join_all();
        });
    };
    EXPECT_THAT(check(kRelaxed).failure(), HasSubstr("construction does not happen before"));
    EXPECT_TRUE(check(kRelease).ok());
}

TEST(Futex, a_wake_between_the_check_and_the_sleep_is_not_lost) {
    auto check = [](bool changes_the_word) {
        return model::check([=] {
            Atomic<std::uint32_t> word{0};
            model::thread([&] {
                if (word.load(kAcquire) == 0) model::futex_wait(word, 0U);
            });
            model::thread([&] {
                if (changes_the_word) word.store(1, kRelease);
                model::futex_wake(word, 1);
            });
            model::join_all();
        });
    };
    EXPECT_TRUE(check(true).ok());
    model::Result lost = check(false);
    EXPECT_THAT(lost.failure(), HasSubstr("deadlock"));
    EXPECT_THAT(lost.trace(), HasSubstr("futex_wait sleeps"));
}

TEST(Sleeper, announcing_sleep_and_looking_again_needs_seq_cst) {
    auto check = [](std::memory_order store, std::memory_order load) {
        return model::check([=] {
            Atomic<std::uint32_t> idle{0};
            Atomic<int> work{0};
            model::thread([&] {
                idle.store(1, store);
                if (work.load(load) == 0) model::futex_wait(idle, 1U);
            });
            model::thread([&] {
                work.store(1, store);
                if (idle.load(load) == 1) {
                    idle.store(0, kRelease);
                    model::futex_wake(idle, 1);
                }
            });
            model::join_all();
        });
    };
    EXPECT_THAT(check(kRelease, kAcquire).failure(), HasSubstr("deadlock"));
    EXPECT_TRUE(check(kSeqCst, kSeqCst).ok());
}

TEST(Spin, a_loop_goes_on_when_what_it_reads_has_changed) {
    model::Result result = model::check([] {
        model::Plain<int> payload;
        Atomic<int> flag{0};
        model::thread([&] {
            payload.set(1);
            flag.store(1, kRelease);
        });
        model::thread([&] {
            while (flag.load(kAcquire) == 0) model::spin_hint();
            model::require(payload.get() == 1, "the payload has come");
        });
        model::join_all();
    });
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(Spin, waiting_for_something_that_never_comes_is_a_deadlock) {
    model::Result result = model::check([] {
        Atomic<int> flag{0};
        model::thread([&] {
            while (flag.load(kAcquire) == 0) model::spin_hint();
        });
        model::join_all();
    });
    EXPECT_THAT(result.failure(), HasSubstr("deadlock"));
}

TEST(Spin, a_loop_without_a_hint_is_a_livelock) {
    model::Result result = model::check(model::Options{.max_steps = 100}, [] {
        Atomic<int> flag{0};
        model::thread([&] {
            while (flag.load(kAcquire) == 0) {}
        });
        model::join_all();
    });
    EXPECT_THAT(result.failure(), HasSubstr("livelock"));
}

TEST(Check, a_broken_assertion_of_the_product_fails_the_execution) {
    model::Result result = model::check([] { WEFT_ASSERT(1 + 1 == 3, "arithmetic"); });
    EXPECT_THAT(result.failure(), HasSubstr("assertion failed: 1 + 1 == 3: arithmetic"));
}

TEST(Check, the_trace_tells_who_did_what_where) {
    model::Result result = model::check([] {
        Atomic<int> flag{0};
        model::name(flag, "flag");
        model::thread([&] { flag.store(5, kRelease); });
        model::join_all();
        model::require(flag.load(kAcquire) == 6, "it is six");
    });
    EXPECT_THAT(result.trace(), HasSubstr("required: it is six (checker_model_test.cpp:"));
    EXPECT_THAT(result.trace(), HasSubstr("T1  flag.store(5), release"));
    EXPECT_THAT(result.trace(), HasSubstr("T0  flag.load -> 5, acquire"));
}

TEST(Check, a_body_that_does_not_repeat_itself_is_refused) {
    int runs = 0;
    model::Result result = model::check([&] {
        Atomic<int> x{0};
        runs++;
        model::thread([&] { x.store(1, kRelaxed); });
        model::thread([&] { x.store(2, kRelaxed); });
        if (runs > 1) model::thread([&] { x.store(3, kRelaxed); });
        model::join_all();
    });
    EXPECT_THAT(result.failure(), HasSubstr("not deterministic"));
}

TEST(Check, a_body_that_does_not_wait_for_its_threads_is_refused) {
    model::Result result = model::check([] {
        static Atomic<int> outlives{0};
        model::thread([] { outlives.store(1, kRelaxed); });
    });
    EXPECT_THAT(result.failure(), HasSubstr("join_all"));
}

TEST(Check, too_many_threads_are_refused) {
    model::Result result = model::check([] {
        for (unsigned i = 0; i < model::kThreadsMax; ++i) model::thread([] {});
        model::join_all();
    });
    EXPECT_THAT(result.failure(), HasSubstr("more threads"));
}

TEST(Check, an_exploration_cut_short_is_not_ok) {
    auto body = [] {
        Atomic<int> x{0};
        for (int i = 0; i < 3; ++i) model::thread([&] { x.fetch_add(1, kRelaxed); });
        model::join_all();
    };
    model::Result result = model::check(model::Options{.max_executions = 2}, body);
    EXPECT_FALSE(result.ok());
    EXPECT_FALSE(result.failed());
    EXPECT_FALSE(result.is_complete());
    EXPECT_EQ(result.executions(), 2u);
}

TEST(Check, an_atomic_made_before_begins_every_execution_anew) {
    Atomic<int> before{7};
    model::Result result = model::check([&] {
        model::thread([&] { before.fetch_add(1, kRelaxed); });
        model::thread([&] { before.fetch_add(1, kRelaxed); });
        model::join_all();
        model::require(before.load(kRelaxed) == 9, "seven and two");
    });
    EXPECT_TRUE(result.ok()) << result.trace();
    EXPECT_EQ(result.executions(), 2u);
    EXPECT_EQ(before.load(kRelaxed), 7);
}

TEST(Check, outside_of_a_check_an_atomic_is_a_plain_value) {
    Atomic<int> x{1};
    EXPECT_EQ(x.fetch_add(2, kRelaxed), 1);
    EXPECT_EQ(x.exchange(5, kRelaxed), 3);
    int expected = 4;
    EXPECT_FALSE(x.compare_exchange_strong(expected, 6, kRelaxed, kRelaxed));
    EXPECT_EQ(expected, 5);
    EXPECT_TRUE(x.compare_exchange_weak(expected, 6, kRelaxed, kRelaxed));
    EXPECT_EQ(x.fetch_or(1, kRelaxed), 6);
    EXPECT_EQ(x.fetch_and(3, kRelaxed), 7);
    EXPECT_EQ(x.fetch_sub(1, kRelaxed), 3);
    x.store(9, kRelaxed);
    EXPECT_EQ(x.load(kRelaxed), 9);
}

}  // namespace
}  // namespace weft
