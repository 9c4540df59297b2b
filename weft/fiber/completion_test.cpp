// Completion records: posted from anywhere, run by their owner, once and in order.
#include <gtest/gtest.h>
#include <pthread.h>

#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include "weft/base/atomic.h"
#include "weft/fiber/fiber.h"
#include "weft/fiber/runtime.h"
#include "weft/fiber/schedule/worker.h"
#include "weft/testing/eventually.h"
#include "weft/testing/scale.h"

namespace weft {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kRelease = std::memory_order_release;

constexpr unsigned kSenders = 3;
constexpr unsigned kOwners = 3;

// What an owner has seen of each sender; only the owner writes.
struct Ledger {
    unsigned last_of_sender[kSenders] = {};
    unsigned out_of_order = 0;
    unsigned elsewhere = 0;
    Atomic<unsigned> seen{0};
};

struct Record : Completion {
    Ledger* ledger = nullptr;
    unsigned sender = 0;
    unsigned number = 0;
    unsigned owner = 0;
    unsigned runs = 0;

    static void note(Completion& completion) {
        auto& self = static_cast<Record&>(completion);
        self.runs++;
        Ledger& ledger = *self.ledger;
        if (this_worker()->index() != self.owner) ledger.elsewhere++;
        unsigned& last = ledger.last_of_sender[self.sender];
        if (self.number != last + 1) ledger.out_of_order++;
        last = self.number;
        ledger.seen.fetch_add(1, kRelease);
    }
};

// Each sender posts to every owner in turn, while the owners are kept busy or idle.
void storm(bool senders_are_fibers, bool owners_are_busy) {
    RuntimeOptions options;
    options.workers = kOwners - 1;
    options.pinned_workers = 1;
    Runtime runtime(options);
    ASSERT_TRUE(runtime.start());
    const auto each = static_cast<unsigned>(testing::repeats(5'000));
    std::vector<std::unique_ptr<Record[]>> records;
    Ledger ledgers[kOwners];
    for (unsigned sender = 0; sender < kSenders; ++sender)
        records.push_back(std::make_unique<Record[]>(each * kOwners));

    Atomic<bool> over{false};
    std::vector<Future<void>> noise;
    for (unsigned i = 0; owners_are_busy && i < 4; ++i) {
        noise.push_back(runtime.spawn([&] {
            while (!over.load(kRelaxed)) yield();
        }));
    }
    auto send = [&](unsigned sender) {
        for (unsigned i = 0; i < each * kOwners; ++i) {
            Record& record = records[sender][i];
            record.run = Record::note;
            record.owner = i % kOwners;
            record.ledger = &ledgers[record.owner];
            record.sender = sender;
            record.number = i / kOwners + 1;
            EXPECT_TRUE(runtime.post(record.owner, record));
            if (senders_are_fibers && i % 64 == 0) yield();
        }
    };
    std::vector<std::thread> threads;
    std::vector<Future<void>> fibers;
    for (unsigned sender = 0; sender < kSenders; ++sender) {
        if (senders_are_fibers) {
            fibers.push_back(runtime.spawn([&, sender] { send(sender); }));
        } else {
            threads.emplace_back(send, sender);
        }
    }
    for (std::thread& thread : threads) thread.join();
    for (Future<void>& fiber : fibers) EXPECT_TRUE(fiber.join());
    for (Ledger& ledger : ledgers) {
        EXPECT_TRUE(
            testing::eventually([&] { return ledger.seen.load(kAcquire) == each * kSenders; }));
        EXPECT_EQ(ledger.out_of_order, 0u);
        EXPECT_EQ(ledger.elsewhere, 0u);
    }
    over.store(true, kRelaxed);
    for (Future<void>& fiber : noise) EXPECT_TRUE(fiber.join());
    EXPECT_TRUE(runtime.shutdown());
    for (auto& list : records) {
        for (unsigned i = 0; i < each * kOwners; ++i) ASSERT_EQ(list[i].runs, 1u);
    }
}

TEST(Completion, RCT_4a_records_of_threads_run_on_their_owner_exactly_once) { storm(false, false); }
TEST(Completion, RCT_4a_records_of_fibers_run_on_their_owner_exactly_once) { storm(true, false); }
TEST(Completion, RCT_4b_records_of_one_sender_run_in_order_on_a_busy_owner) { storm(false, true); }
TEST(Completion, RCT_4b_records_of_one_fiber_run_in_order_on_a_busy_owner) { storm(true, true); }

TEST(Completion, RCT_4a_a_record_may_be_posted_again_when_it_runs) {
    struct Again : Completion {
        Runtime* runtime = nullptr;
        Atomic<int> left{1'000};
        static void go_on(Completion& completion) {
            auto& self = static_cast<Again&>(completion);
            if (self.left.fetch_sub(1, kRelaxed) == 1) return;
            EXPECT_TRUE(self.runtime->post(this_worker()->index(), self));
        }
    };
    RuntimeOptions options;
    options.workers = 2;
    Runtime runtime(options);
    ASSERT_TRUE(runtime.start());
    Again again;
    again.runtime = &runtime;
    again.run = Again::go_on;
    EXPECT_TRUE(runtime.post(1, again));
    EXPECT_TRUE(testing::eventually([&] { return again.left.load(kRelaxed) == 0; }));
}

TEST(Completion, RCT_4a_a_record_may_wake_a_fiber) {
    struct Waker : Completion {
        FiberId id;
        static void wake(Completion& completion) { unpark(static_cast<Waker&>(completion).id); }
    };
    RuntimeOptions options;
    options.workers = 2;
    Runtime runtime(options);
    for (unsigned owner = 0; owner < 2; ++owner) {
        Future<void> parked =
            runtime.spawn([] { return park(Deadline::after(std::chrono::seconds(20))); });
        Waker waker;
        waker.id = parked.id();
        waker.run = Waker::wake;
        EXPECT_TRUE(runtime.post(owner, waker));
        EXPECT_TRUE(parked.join());
    }
}

// Where the thread that runs has its own stack.
bool is_on_own_stack(const void* address) {
    pthread_attr_t attributes;
    void* bottom = nullptr;
    std::size_t size = 0;
    EXPECT_EQ(::pthread_getattr_np(::pthread_self(), &attributes), 0);
    EXPECT_EQ(::pthread_attr_getstack(&attributes, &bottom, &size), 0);
    ::pthread_attr_destroy(&attributes);
    const auto* byte = static_cast<const std::byte*>(address);
    return byte >= bottom && byte < static_cast<std::byte*>(bottom) + size;
}

struct StackRecord : Completion {
    bool on_own_stack = false;
    bool in_fiber = true;
    Atomic<bool> ran{false};
    static void look(Completion& completion) {
        auto& self = static_cast<StackRecord&>(completion);
        // Not the address of a local variable: the address sanitizer keeps those elsewhere.
        self.on_own_stack = is_on_own_stack(__builtin_frame_address(0));
        self.in_fiber = current() != nullptr;
        self.ran.store(true, kRelease);
    }
};

// `keep_busy(over)` is the body of two fibers that leave the worker no pause until `over`.
template <class Body>
void records_run_in_the_loop(Body keep_busy) {
    RuntimeOptions options;
    options.workers = 1;
    options.pinned_workers = 1;
    Runtime runtime(options);
    ASSERT_TRUE(runtime.start());
    Atomic<bool> over{false};
    std::vector<Future<void>> busy;
    for (int i = 0; i < 2; ++i) {
        busy.push_back(runtime.spawn([&] { keep_busy(over); }));
        busy.push_back(runtime.spawn_pinned(0, [&] { keep_busy(over); }));
    }
    for (unsigned i = 0; i < 200; ++i) {
        StackRecord record;
        record.run = StackRecord::look;
        ASSERT_TRUE(runtime.post(i % 2, record));
        ASSERT_TRUE(testing::eventually([&] { return record.ran.load(kAcquire); }));
        EXPECT_TRUE(record.on_own_stack);
        EXPECT_FALSE(record.in_fiber);
    }
    over.store(true, kRelaxed);
    for (Future<void>& fiber : busy) EXPECT_TRUE(fiber.join());
}

TEST(Completion, RCT_4a_a_record_runs_on_the_threads_own_stack_between_fibers_that_yield) {
    records_run_in_the_loop([](Atomic<bool>& over) {
        while (!over.load(kRelaxed)) yield();
    });
}

TEST(Completion, RCT_4a_a_record_runs_on_the_threads_own_stack_between_fibers_that_end) {
    records_run_in_the_loop([](Atomic<bool>& over) {
        while (!over.load(kRelaxed)) EXPECT_TRUE(spawn([] {}).join());
    });
}

TEST(Completion, RCT_4a_a_record_for_nobody_is_refused) {
    RuntimeOptions options;
    options.workers = 1;
    Runtime runtime(options);
    Completion completion;
    EXPECT_EQ(runtime.post(1, completion).error().kind(), ErrorKind::Misuse);
    EXPECT_TRUE(runtime.shutdown());
    EXPECT_EQ(runtime.post(0, completion).error().kind(), ErrorKind::Closed);
}

}  // namespace
}  // namespace weft
