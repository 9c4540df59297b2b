#include "weft/fiber/schedule/inbox.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "weft/base/env.h"
#include "weft/testing/scale.h"

namespace weft {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

struct Letter {
    Letter* next = nullptr;
    unsigned sender = 0;
    unsigned number = 0;
};

TEST(Inbox, RCT_4b_letters_come_out_in_the_order_in_which_they_came) {
    Inbox<Letter> inbox;
    Letter letters[3];
    EXPECT_TRUE(inbox.empty());
    EXPECT_EQ(inbox.take_all(), nullptr);
    EXPECT_TRUE(inbox.post(letters[0]));  // found it empty: has to tell the owner
    EXPECT_FALSE(inbox.post(letters[1]));
    EXPECT_FALSE(inbox.post(letters[2]));
    EXPECT_FALSE(inbox.empty());
    Letter* taken = inbox.take_all();
    for (Letter& letter : letters) {
        ASSERT_EQ(taken, &letter);
        taken = taken->next;
    }
    EXPECT_EQ(taken, nullptr);
    EXPECT_TRUE(inbox.empty());
    EXPECT_TRUE(inbox.post(letters[0]));
}

TEST(Inbox, RCT_4a_letters_of_many_senders_are_taken_once_and_in_order) {
    constexpr unsigned senders = 3;
    const auto each = static_cast<unsigned>(testing::repeats(100'000));
    Inbox<Letter> inbox;
    Atomic<unsigned> told{0};
    std::vector<std::unique_ptr<Letter[]>> letters;
    std::vector<std::thread> threads;
    for (unsigned sender = 0; sender < senders; ++sender)
        letters.push_back(std::make_unique<Letter[]>(each));
    for (unsigned sender = 0; sender < senders; ++sender) {
        threads.emplace_back([&, sender] {
            for (unsigned i = 0; i < each; ++i) {
                letters[sender][i].sender = sender;
                letters[sender][i].number = i;
                if (inbox.post(letters[sender][i])) told.fetch_add(1, kRelaxed);
            }
        });
    }
    unsigned next_of[senders] = {};
    unsigned taken = 0;
    unsigned batches = 0;
    while (taken < senders * each) {
        Letter* letter = inbox.take_all();
        if (letter) batches++;
        if (!letter) env::spin_pause(~0U);
        for (; letter; letter = letter->next, ++taken)
            ASSERT_EQ(letter->number, next_of[letter->sender]++);
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(told.load(kRelaxed), batches);  // each batch began with one that found it empty
    EXPECT_TRUE(inbox.empty());
}

}  // namespace
}  // namespace weft
