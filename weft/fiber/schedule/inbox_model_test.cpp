// The inbox under every order of its posters and its owner: each item is taken exactly once, in the
// order in which its sender posted it, and an owner that sleeps is always told.
#include <gtest/gtest.h>

#include <array>

#include "weft/fiber/schedule/inbox.h"
#include "weft/testing/model.h"

namespace weft {
namespace {

constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kRelease = std::memory_order_release;
constexpr auto kSeqCst = std::memory_order_seq_cst;

struct Letter {
    Letter* next = nullptr;
    model::Plain<int> text{0};
    int sender = 0;
    int number = 0;
    int taken = 0;
};

// The inbox is the product's own; its rules are left out one by one, and each omission must be
// found, or this test could not fail.
struct PostsRelaxed : InboxOrder {
    static constexpr std::memory_order kPost = std::memory_order_relaxed;
};
// Publishes the item, but not before the poster tests whether the owner sleeps.
struct PostsByRelease : InboxOrder {
    static constexpr std::memory_order kPost = std::memory_order_release;
};
struct TakesRelaxed : InboxOrder {
    static constexpr std::memory_order kTake = std::memory_order_relaxed;
};
// Read, then cleared: loses what came between.
struct TakesByStore : InboxOrder {
    static constexpr bool kExchanges = false;
};
struct NewestFirst : InboxOrder {
    static constexpr bool kTurnsRound = false;
};

template <class Box>
void read(Box& box, std::array<int, 3>& last_of_sender) {
    for (Letter* letter = box.take_all(); letter;) {
        Letter* following = letter->next;
        model::require(letter->text.get() == 1, "what was written before the post is seen");
        letter->taken++;
        model::require(letter->taken == 1, "a letter is taken once");
        int& last = last_of_sender[static_cast<unsigned>(letter->sender)];
        model::require(letter->number == last + 1, "letters of one sender keep their order");
        last = letter->number;
        letter = following;
    }
}

// Two senders, two letters of the first and one of the second, against an owner that looks twice.
template <class Box>
void two_senders() {
    Box box;
    std::array<Letter, 3> letters;
    std::array<int, 3> last_of_sender{};
    unsigned found_empty = 0;
    auto send = [&](unsigned index, int sender, int number) {
        letters[index].text.set(1);
        letters[index].sender = sender;
        letters[index].number = number;
        if (box.post(letters[index])) found_empty++;
    };
    model::thread([&] {
        send(0, 1, 1);
        send(1, 1, 2);
    });
    model::thread([&] { send(2, 2, 1); });
    model::thread([&] { read(box, last_of_sender); });
    model::join_all();
    read(box, last_of_sender);
    for (Letter& letter : letters) model::require(letter.taken == 1, "no letter is lost");
    model::require(found_empty >= 1, "the first letter finds the inbox empty");
    model::require(box.empty(), "nothing is left");
}

// The owner sleeps as a worker does: it says so, looks once more, and then waits to be told. Only
// the letter that finds the inbox empty tells.
template <class Box>
void owner_sleeps() {
    Box box;
    std::array<Letter, 2> letters;
    Atomic<int> asleep{0};
    Atomic<int> told{0};
    for (unsigned i = 0; i < 2; ++i) {
        model::thread([&, i] {
            if (!box.post(letters[i])) return;
            if (asleep.load(kSeqCst) == 0) return;
            if (asleep.exchange(0, kSeqCst) == 0) return;
            told.store(1, kRelease);
            model::futex_wake(told, 1);
        });
    }
    model::thread([&] {
        unsigned taken = 0;
        while (taken < 2) {
            for (Letter* letter = box.take_all(); letter; letter = letter->next) taken++;
            if (taken == 2) return;
            asleep.store(1, kSeqCst);
            if (!box.empty()) {
                asleep.store(0, kSeqCst);
                continue;
            }
            // An exchange reads the newest value; a load might see the old one for ever.
            while (told.exchange(0, kAcquire) == 0) model::futex_wait(told, 0);
        }
    });
    model::join_all();
}

// Futile failures of the weak exchange are explored in the other scenario.
constexpr model::Options kSleepOptions{.preemption_bound = 3, .spurious_failures = 0};

TEST(InboxModel, RCT_4a_every_letter_is_taken_exactly_once_and_in_order_of_its_sender) {
    model::Result result = model::check(two_senders<Inbox<Letter>>);
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(InboxModel, RCT_4a_an_owner_that_sleeps_is_told) {
    model::Result result = model::check(kSleepOptions, owner_sleeps<Inbox<Letter>>);
    EXPECT_TRUE(result.ok()) << result.trace();
}

TEST(InboxModel, every_weakening_is_found) {
    EXPECT_TRUE(model::check(two_senders<Inbox<Letter, PostsRelaxed>>).failed());
    EXPECT_TRUE(model::check(two_senders<Inbox<Letter, TakesRelaxed>>).failed());
    EXPECT_TRUE(model::check(two_senders<Inbox<Letter, TakesByStore>>).failed());
    EXPECT_TRUE(model::check(two_senders<Inbox<Letter, NewestFirst>>).failed());
    EXPECT_TRUE(model::check(owner_sleeps<Inbox<Letter, PostsByRelease>>).failed());
}

}  // namespace
}  // namespace weft
